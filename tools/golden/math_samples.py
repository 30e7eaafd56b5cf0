#!/usr/bin/env python3
"""Literal samples of the ops in src/ops/{math,activation}, by NumPy and SciPy in f64.

Run from the root with NumPy 2.4.6 and SciPy 1.17.1; it rewrites what lies between "golden:begin" and "golden:end" in
each op's file.
"""
import numpy as np
import scipy
from scipy import special

from sample_writer import case, write_all

rng = np.random.default_rng(11)
nan, inf = np.nan, np.inf


def grid(*shape, low=-4, high=4, step=16):
    """Multiples of 1/step: exact in every float type."""
    return rng.integers(low * step, high * step + 1, shape) / step


def unary(op, f, x, special_values=(), attrs="NoAttrs{}", grad=True):
    x = np.asarray(x, float)
    with np.errstate(all="ignore"):
        case(op, [x], attrs, [f(x)], grad)
        if special_values:
            extra = np.array(special_values, float)
            case(op, [extra], attrs, [f(extra)], False)


def functions():
    anywhere = grid(2, 4)
    unary("exp2", np.exp2, anywhere, (0, inf, -inf, nan))
    unary("expm1", np.expm1, anywhere, (0, 2.0**-20, inf, -inf, nan))
    for op, f in (("log2", np.log2), ("log10", np.log10)):
        unary(op, f, grid(2, 4, low=1, high=9), (0, 1, 8, 1000, -1, inf, nan))
    unary("log1p", np.log1p, grid(2, 4, low=0, high=5), (0, -1, -2, 2.0**-20, inf, nan))
    unary("tan", np.tan, grid(2, 4, low=-1, high=1), (0, 100, inf, nan))
    unary("asin", np.arcsin, grid(8, low=-1, high=1, step=128), (1, -1, 1.5, nan))
    unary("acos", np.arccos, grid(8, low=-1, high=1, step=128), (1, -1, -1.5, nan))
    unary("atan", np.arctan, anywhere, (inf, -inf, nan))
    unary("sinh", np.sinh, anywhere, (inf, -inf, nan))
    unary("cosh", np.cosh, anywhere, (inf, -inf, nan))
    unary("asinh", np.arcsinh, anywhere, (2.0**-20, 2.0**100, inf, -inf, nan))
    unary("acosh", np.arccosh, grid(8, low=1, high=6) + 0.25, (1, 0.5, 2.0**100, inf, nan))
    unary("atanh", np.arctanh, grid(8, low=-1, high=1, step=128) * 0.875, (1, -1, 2, nan))
    unary("trunc", np.trunc, [-2.5, -0.5, 0.5, 1.75, -3], (inf, -inf, nan))
    unary("erfinv", special.erfinv, [-0.9375, -0.5, -0.015625, 0, 0.0009765625, 0.25, 0.75, 0.984375],
          (1, -1, 1.5, nan, 1 - 2.0**-24, -(1 - 2.0**-24)))
    unary("lgamma", special.gammaln, [0.125, 0.5, 1.5, 1.875, 2.5, 10, -0.5, -2.25], (0, 1, 2, -1, 1000, inf, nan))
    unary("digamma", special.digamma, [0.125, 0.5, 1, 1.5, 3, 20, -0.5, -2.25], (1000, inf, -inf, nan, -3))
    unary("trigamma", lambda x: special.polygamma(1, x), [0.125, 0.5, 1, 1.5, 3, 20, 1000], (inf, nan))
    n, x = np.arange(6.0).reshape(6, 1), np.array([0.125, 0.5, 1, 3, 20, 100])
    case("polygamma", [n, x], "NoAttrs{}", [special.polygamma(n.astype(int), x)], False)
    n, x = np.array([1, 2, 3, 2, 1, 3.25, 1.75, 8]), np.array([-0.5, -0.5, -2.25, -2.25, inf, 2, 2, 7.5])
    case("polygamma", [n, x], "NoAttrs{}", [special.polygamma(np.rint(n).astype(int), x)], False)
    n, x = np.array([21, -1, nan, 1, 2, 3]), np.array([2, 2, 2, nan, -inf, 0])
    case("polygamma", [n, x], "NoAttrs{}", [[nan, nan, nan, nan, nan, inf]], False)
    flags = [1, -1, 0, inf, -inf, nan]
    case("is_nan", [np.array(flags)], "NoAttrs{}", [np.isnan(flags)])
    case("is_inf", [np.array(flags)], "NoAttrs{}", [np.isinf(flags)])
    for shape in ((3, 6), (18,)):
        x = np.resize(flags + [2.5, -0.25], 18).reshape(shape)
        case("is_finite", [x], "NoAttrs{}", [np.isfinite(x)])


def binary():
    a, b = np.array([7.5, -7.5, 7.5, -7.5, -1]), np.array([2, 2, -2, -2, inf])
    case("fmod", [a, b], "NoAttrs{}", [np.fmod(a, b)], False)
    a, b = np.int32([7, -7, 7, -7, 5, -6]), np.int32([3, 3, -3, -3, 0, -1])
    with np.errstate(all="ignore"):
        case("fmod", [a, b], "NoAttrs{}", [np.fmod(a, b)])
    y, x = np.array([0, 0, -0.5, 1, 3, -3, inf]), np.array([1, -1, -2, 0, -4, -4, -inf])
    case("atan2", [y, x], "NoAttrs{}", [np.arctan2(y, x)], False)
    p, q = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    case("logical_xor", [p, q], "NoAttrs{}", [p ^ q])
    a, b = np.int8([12, -1, -128, 77]), np.int8([10, 85, 127, -2])
    for op, f in (("bit_and", np.bitwise_and), ("bit_or", np.bitwise_or), ("bit_xor", np.bitwise_xor)):
        case(op, [a, b], "NoAttrs{}", [f(a, b)])
    case("bit_not", [a], "NoAttrs{}", [np.bitwise_not(a)])
    case("bit_not", [np.uint8([0, 1, 255])], "NoAttrs{}", [np.bitwise_not(np.uint8([0, 1, 255]))])
    a, b = np.int32([1, -3, 2**31 - 1, 5, 7]), np.int32([31, 2, 1, 0, 32])
    case("shift_left", [a, b], "NoAttrs{}", [np.left_shift(a, b)])
    case("shift_right", [a, b], "NoAttrs{}", [np.right_shift(a, b)])
    a, b = np.uint8([255, 128, 3]), np.uint8([1, 7, 9])
    case("shift_right", [a, b], "NoAttrs{}", [np.right_shift(a, b)])
    a, b = grid(3, 1, 6), grid(4, 1)
    case("log_add_exp", [a, b], "NoAttrs{}", [np.logaddexp(a, b)])
    a, b = np.resize([inf, -inf, -inf, 1, 2, 700, -3], 18), np.resize([inf, -inf, 0, 1, nan, 690], 18)
    case("log_add_exp", [a, b], "NoAttrs{}", [np.logaddexp(a, b)], False)


def activations():
    def act(op, f, attrs=("NoAttrs{}", "NoAttrs{}"), args=((), ())):
        for shape, a, extra in zip(((2, 9), (3, 2, 3)), attrs, args):
            unary(op, lambda x: f(x, *extra), grid(*shape, step=32) + 1 / 64, attrs=a)

    softplus = lambda x: np.logaddexp(0, x)
    act("relu6", lambda x: np.clip(x, 0, 6))
    unary("relu6", lambda x: np.clip(x, 0, 6), [5.5, 6.5, 7, -1], (inf, -inf, nan))
    act("leaky_relu", lambda x, a: np.where(x < 0, x * a, x), ("Attrs{}", "Attrs{.alpha = 0.25}"), ((0.01,), (0.25,)))
    elu = lambda x, a: np.where(x > 0, x, a * np.expm1(x))
    act("elu", elu, ("Attrs{}", "Attrs{.alpha = 0.5}"), ((1,), (0.5,)))
    act("selu", lambda x, a, g: g * elu(x, a), ("Attrs{}", "Attrs{.alpha = 0.5, .gamma = 2}"),
        ((1.6732632423543772848170429916717, 1.0507009873554804934193349852946), (0.5, 2)))
    act("celu", lambda x, a: np.maximum(x, 0) + np.minimum(0, a * np.expm1(x / a)), ("Attrs{}", "Attrs{.alpha = 0.5}"),
        ((1,), (0.5,)))
    act("softplus", softplus)
    unary("softplus", softplus, [-30, 30], (inf, -inf, nan))
    act("softsign", lambda x: x / (1 + np.abs(x)))
    act("mish", lambda x: x * np.tanh(softplus(x)))
    act("hard_sigmoid", lambda x, a, b: np.clip(a * x + b, 0, 1), ("Attrs{}", "Attrs{.alpha = 0.25, .beta = 0.375}"),
        ((0.2, 0.5), (0.25, 0.375)))
    act("hard_swish", lambda x: x * np.clip(x + 3, 0, 6) / 6)
    act("log_sigmoid", special.log_expit)
    act("quick_gelu", lambda x, a: x * special.expit(a * x), ("Attrs{}", "Attrs{.alpha = 1}"), ((1.702,), (1,)))
    act("relu_squared", lambda x: np.maximum(x, 0) ** 2)
    act("reciprocal", np.reciprocal)
    near = np.array([-1.125, -0.5625, 0.5625, 1.125, nan])  # beside the thresholds
    for attrs, a in (("Attrs{}", 1), ("Attrs{.alpha = -0.5}", -0.5)):
        for x in (grid(2, 9) + 1 / 32, near):
            unary("thresholded_relu", lambda x: np.where(x > a, x, 0), x, attrs=attrs, grad=x is not near)
    for attrs, l, b in (("Attrs{}", 0.5, 0), ("Attrs{.lambda = 1, .bias = 0.25}", 1, 0.25)):
        for x in (grid(2, 9) + 1 / 32, near):
            unary("shrink", lambda x: np.where(x < -l, x + b, np.where(x > l, x - b, 0)), x, attrs=attrs,
                  grad=x is not near)
    for shape, slope in (((2, 9), ()), ((2, 3, 3), (3, 1))):
        x, s = grid(*shape) + 1 / 32, grid(*slope, low=0, high=1)
        case("prelu", [x, s], "NoAttrs{}", [np.where(x < 0, x * s, x)])


if __name__ == "__main__":
    functions()
    binary()
    activations()
    write_all(f"NumPy {np.__version__}, SciPy {scipy.__version__}, tools/golden/math_samples.py")
