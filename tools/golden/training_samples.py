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


Q_MAX = {8: 127, 4: 7, 2: 1}


def channels(x, axis):
    """x as rows that share a scale, and the way back."""
    if axis is None:
        return x.reshape(1, -1), lambda rows: np.reshape(rows, x.shape)
    moved = np.moveaxis(x, axis, 0)
    return moved.reshape(len(moved), -1), lambda rows: np.moveaxis(np.reshape(rows, moved.shape), 0, axis)


def quant_attrs(**fields):
    """In the order of the struct."""
    words = {"mode": "ScaleMode::", "gradient": "StraightThrough::"}
    order = ("bits", "per_channel", "axis", "mode", "momentum", "gradient")
    return "Attrs{" + ", ".join(f".{k} = {words.get(k, '')}{fields[k]}" for k in order if k in fields) + "}"


def fake_quantized():
    for bits, axis, mode, shape in ((8, None, "batch", (3, 7)), (4, 0, "batch", (3, 7)), (2, 1, "batch", (2, 3, 4)), (4, None, "ema", (3, 7)),
                                    (8, 0, "ema", (3, 7)), (4, 1, "fixed", (3, 6)), (2, None, "learnt", (20,)), (8, None, "fixed", (3, 7))):
        x, q_max, momentum = grid(*shape), Q_MAX[bits], 0.75
        rows, back = channels(x, axis)
        old = grid(len(rows), low=0, high=1) / 4 + 0.125
        if mode == "ema":
            old[-1] = 0.375 if axis is None else 0
        if mode == "fixed" and bits == 8:  # most x lie beyond the last step
            old[:] = 1 / 256
        y, used = [], []
        for row, before in zip(rows, old):
            now = np.abs(row).max() / q_max
            s = {"batch": now, "ema": momentum * before + (1 - momentum) * now if before else now}.get(mode, before)
            s = float(np.float32(s))
            used.append(s)
            y.append([min(max(round(v / s), -q_max), q_max) * s for v in row])
        one = (lambda v: np.array(v[0])) if axis is None else np.array
        fields = {"bits": bits, "mode": mode, "momentum": momentum}
        if axis is not None:
            fields |= {"per_channel": "true", "axis": axis}
        case("fake_quantize", [x] if mode == "batch" else [x, one(old)], quant_attrs(**fields), [back(y), one(used)], grad=False)


def slope_of(kind, u, q_max):
    return {"identity": 1, "clipped": float(abs(round(u)) <= q_max), "tanh": 1 - np.tanh(u) ** 2,
            "hard_tanh": max(0, 1 - abs(u) / q_max)}[kind]


def fake_quantize_grads():
    for kind, bits, axis, shape in (("identity", 4, None, (3, 7)), ("clipped", 4, 1, (2, 3, 4)), ("tanh", 2, 0, (4, 5)),
                                    ("hard_tanh", 8, None, (20,)), ("clipped", 2, None, (4, 4))):
        g, x, q_max = grid(*shape), grid(*shape), Q_MAX[bits]
        rows, back = channels(x, axis)
        of_g, _ = channels(g, axis)
        # Few digits, so that a quotient which is a half is one exactly.
        scale = np.round((grid(len(rows), low=0, high=1) + 0.625) / q_max * 1024) / 1024
        dx, dscale = [], []
        for row, grads, s in zip(rows, of_g, scale):
            dx.append([d * slope_of(kind, v / s, q_max) for d, v in zip(grads, row)])
            by_scale = [d * (round(v / s) - v / s if abs(v / s) < q_max else q_max * np.sign(v)) for d, v in zip(grads, row)]
            dscale.append(sum(by_scale) / np.sqrt(len(row) * q_max))
        one = (lambda v: np.array(v[0])) if axis is None else np.array
        fields = {"bits": bits, "gradient": kind} | ({} if axis is None else {"per_channel": "true", "axis": axis})
        case("fake_quantize_grad", [g, x, one(scale)], quant_attrs(**fields), [back(dx), one(dscale)], grad=False)


losses()
modulated()
ropes()
fake_quantized()
fake_quantize_grads()
write_all(f"NumPy {np.__version__}, tools/golden/training_samples.py")
