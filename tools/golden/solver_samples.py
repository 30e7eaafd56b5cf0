#!/usr/bin/env python3
"""Literal samples of cholesky, triangular_solve, solve and det in src/ops/linalg, by NumPy and SciPy in f64.

Run from the root with NumPy 2.4.6 and SciPy 1.17.1; it rewrites what lies between "golden:begin" and "golden:end" in
each op's file.
"""
import numpy as np
import scipy
from scipy.linalg import solve_triangular

from sample_writer import case, write_all

rng = np.random.default_rng(53)


def grid(*shape):
    """Multiples of 1/8 in [-2, 2]."""
    return rng.integers(-16, 17, shape) / 8


def word(flag):
    return "true" if flag else "false"


def choleskys():
    for upper in (False, True):
        m = grid(2, 4, 4)
        x = m @ np.swapaxes(m, 1, 2) + 0.5 * np.eye(4)
        y = np.linalg.cholesky(x, upper=upper)
        # What is not to be read.
        other = np.tril(np.ones((4, 4)), -1) if upper else np.triu(np.ones((4, 4)), 1)
        case("cholesky", [np.where(other, 9, x)], f"Attrs{{.upper = {word(upper)}}}", [y])


def triangular_solves():
    for upper, transpose, unit in ((False, False, False), (True, False, False), (False, True, False), (True, True, True),
                                   (False, False, True)):
        a, b = grid(2, 4, 4), grid(2, 4, 3)
        for m in a:
            np.fill_diagonal(m, rng.integers(4, 17, 4) / 8)
        x = [solve_triangular(m, v, lower=not upper, trans=int(transpose), unit_diagonal=unit) for m, v in zip(a, b)]
        attrs = f"Attrs{{.upper = {word(upper)}, .transpose = {word(transpose)}, .unit_diagonal = {word(unit)}}}"
        case("triangular_solve", [a, b], attrs, [np.array(x)])


def solves():
    a, b = grid(3, 4, 4), grid(3, 4, 2)
    a[0, 0, 0] = 0  # the first pivot is elsewhere
    case("solve", [a, b], "NoAttrs{}", [np.linalg.solve(a, b)])
    a, b = grid(5, 5), grid(2, 5, 1)
    case("solve", [a, b], "NoAttrs{}", [np.linalg.solve(a, b)])


def dets():
    x = grid(5, 4, 4)
    x[1, 0, 0] = 0
    x[2, 3] = x[2, 1] * 2
    case("det", [x], "NoAttrs{}", [np.linalg.det(x)], grad=False)
    x = grid(6, 6)
    case("det", [x], "NoAttrs{}", [np.linalg.det(x)])


choleskys()
triangular_solves()
solves()
dets()
write_all(f"NumPy {np.__version__}, SciPy {scipy.__version__}, tools/golden/solver_samples.py")
