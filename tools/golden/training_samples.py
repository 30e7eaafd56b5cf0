#!/usr/bin/env python3
"""Literal samples of losses, adaptive norms, axial rope and fake quantisation, by NumPy in f64, written plainly: row by row.

Run from the root with NumPy 2.4.6; it rewrites what lies between "golden:begin" and "golden:end" in each op's file.
"""
import numpy as np

from sample_writer import case, write_all

rng = np.random.default_rng(41)


def grid(*shape, low=-2, high=2):
    """Multiples of 1/8: exact in every float type."""
    return rng.integers(low * 8, high * 8 + 1, shape) / 8


def loss_of_row(x, weights):
    log_p = x - np.log(np.sum(np.exp(x)))
    return -sum(w * p for w, p in zip(weights, log_p) if w != 0)


def attrs_of(reduction, **more):
    fields = [f".{name} = {value}" for name, value in more.items()]
    fields.insert(1 if "axis" in more else 0, f".reduction = LossReduction::{reduction}")
    return f"Attrs{{{', '.join(fields)}}}"


def losses():
    op = "softmax_cross_entropy"
    for reduction in ("none", "mean", "sum"):
        x, labels = grid(7, 4, low=-4, high=4), rng.integers(0, 4, 7)
        labels[[1, 5]] = 2
        rows = []
        for row, label in zip(x, labels):
            weights = 0.8 * np.eye(4)[label] + 0.2 / 4
            rows.append(None if label == 2 else loss_of_row(row, weights))
        counted = [r for r in rows if r is not None]
        loss = {"none": np.array([r or 0 for r in rows]), "sum": np.array(sum(counted)), "mean": np.array(np.mean(counted))}
        case(op, [x, labels], attrs_of(reduction, ignore_index=2, smoothing=0.2), [loss[reduction]])
    x, labels = grid(2, 5, 3, low=-4, high=4), rng.integers(0, 5, (2, 3)).astype(np.int32)
    loss = np.array([[loss_of_row(x[b, :, i], np.eye(5)[labels[b, i]]) for i in range(3)] for b in range(2)])
    case(op, [x, labels], attrs_of("none", axis=1), [loss])
    x, weights = grid(4, 5, low=-4, high=4), grid(4, 5, low=0, high=1)
    weights[2, 1:3] = 0
    for smoothing, reduction in ((0, "none"), (0.1, "mean")):
        loss = np.array([loss_of_row(r, (1 - smoothing) * w + smoothing / 5) for r, w in zip(x, weights)])
        case(op, [x, weights], attrs_of(reduction, smoothing=smoothing), [loss if reduction == "none" else loss.mean()])
    # The label's exponential outweighs the others by far: the loss is their tiny sum.
    x = np.array([[40.0, 0, 1, -2], [3, 60, 2, 1], [0, 0, 0, 100]])
    tiny = [np.log1p(sum(np.exp(v - r.max()) for v in r if v != r.max())) for r in x]
    case(op, [x, x.argmax(1)], attrs_of("sum"), [np.array(sum(tiny))])


def modulated():
    x, scale, shift, eps = grid(2, 3, 4), grid(2, 4), grid(2, 4), 0.125
    y = np.empty_like(x)
    for b in range(2):
        for t in range(3):
            row = x[b, t] - x[b, t].mean()
            y[b, t] = row / np.sqrt((row**2).mean() + eps) * (1 + scale[b]) + shift[b]
    case("ada_layer_norm", [x, scale, shift], "Attrs{.eps = 0.125}", [y])
    x, scale, shift = grid(4, 5), grid(4, 5), grid(4, 5)
    y = [(r - r.mean()) / np.sqrt(r.var() + 1e-5) * (1 + s) + t for r, s, t in zip(x, scale, shift)]
    case("ada_layer_norm", [x, scale, shift], "Attrs{}", [np.array(y)])
    for shape in ((2, 3, 4), (4, 2, 1, 3)):
        x, y, gate = grid(*shape), grid(*shape), grid(shape[0], shape[-1])
        case("gated_residual", [x, y, gate], "NoAttrs{}",
             [np.array([x[b] + gate[b] * y[b] for b in range(shape[0])])])


def turned(x, position, base, halves):
    """Pairs as complex numbers."""
    n = len(x)
    z = x[:n // 2] + 1j * x[n // 2:] if halves else x[::2] + 1j * x[1::2]
    z = z * np.exp(1j * position * base ** (-2 * np.arange(n // 2) / n))
    return np.concatenate([z.real, z.imag]) if halves else np.stack([z.real, z.imag], -1).ravel()


def ropes():
    for halves, base in ((False, 10000), (True, 100)):
        x, at = grid(3, 2, 8), np.array([[0, 3, 17], [1, 1000, 5]], np.int32)
        y = np.empty_like(x)
        for t in range(3):
            for h in range(2):
                y[t, h] = np.concatenate([turned(x[t, h, :4], at[0, t], base, halves), turned(x[t, h, 4:], at[1, t], base, halves)])
        pairing = "halves" if halves else "neighbours"
        case("axial_rope", [x, at], f"Attrs{{.pairing = RopePairing::{pairing}, .base = {base}}}", [y])


losses()
modulated()
ropes()
write_all(f"NumPy {np.__version__}, tools/golden/training_samples.py")
