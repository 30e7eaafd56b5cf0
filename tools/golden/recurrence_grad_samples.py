#!/usr/bin/env python3
"""Literal samples of recurrence_grad in src/ops/recurrent, by NumPy in f64: networks written step by step, and complex steps
through them.

Run from the root with NumPy 2.4.6; it rewrites what lies between "golden:begin" and "golden:end" in the op's file.
"""
import numpy as np

from sample_writer import case, write_all

rng = np.random.default_rng(31)
GATES = {"lstm": 4, "gru": 3, "gru_reset_before": 3, "rnn_tanh": 1, "rnn_relu": 1}
STEPS, BATCH, INPUTS, HIDDEN = 2, 1, 1, 2


def grid(*shape):
    """Multiples of 1/8: exact in every float type."""
    return rng.integers(-8, 9, shape) / 8


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(cell, onnx, of_x, of_r, h, c, reset_product):
    """One row: of_x and of_r are gates of w's and r's products; reset_product(r * h) gives those of the new gate."""
    gates = np.split(of_x, GATES[cell]), np.split(of_r, GATES[cell])
    if cell == "lstm":
        i, f, g, o = (gates[0][k] + gates[1][k] for k in ((0, 2, 3, 1) if onnx else (0, 1, 2, 3)))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    if cell.startswith("gru"):
        r, z = (sigmoid(gates[0][k] + gates[1][k]) for k in ((1, 0) if onnx else (0, 1)))
        new = r * gates[1][2] if cell == "gru" else reset_product(r * h)
        n = np.tanh(gates[0][2] + new)
        return n + z * (h - n), c
    total = of_x + of_r
    return np.tanh(total) if cell == "rnn_tanh" else total * (total.real > 0), c


def network(cell, onnx, order, lengths, x, w, r, bias, h0, c0, of_w, of_r):
    """One direction; of_w and of_r [steps, batch, rows] are added to the products. Gives y, h, c and what r has seen."""
    rows = GATES[cell] * HIDDEN
    y, h, c = np.zeros((STEPS, BATCH, HIDDEN), of_w.dtype), h0.astype(of_w.dtype), c0.astype(of_w.dtype)
    seen = np.zeros((STEPS, BATCH, HIDDEN * (2 if cell == "gru_reset_before" else 1)), of_w.dtype)
    for b in range(BATCH):
        for t in [t for t in order if t < lengths[b]]:
            seen[t, b, :HIDDEN] = h[b]
            products = r @ h[b] + bias[rows:] + of_r[t, b]

            def reset_product(reset_h, t=t, b=b):
                seen[t, b, HIDDEN:] = reset_h
                return r[2 * HIDDEN:] @ reset_h + bias[rows + 2 * HIDDEN:] + of_r[t, b, 2 * HIDDEN:]

            h[b], c[b] = step(cell, onnx, w @ x[t, b] + bias[:rows] + of_w[t, b], products, h[b], c[b], reset_product)
            y[t, b] = h[b]
    return y, h, c, seen


def gradients(run, inputs, seeds):
    out = []
    for i, x in enumerate(inputs):
        gradient = np.zeros(x.shape)
        for at in np.ndindex(x.shape):
            moved = [z.astype(complex) for z in inputs]
            moved[i][at] += 1e-30j
            gradient[at] = sum(np.sum(seed * y) for seed, y in zip(seeds, run(*moved))).imag / 1e-30
        out.append(gradient)
    return out


def cases():
    for cell, direction, onnx, full in (
            ("lstm", "reverse", True, True), ("gru", "forward", True, True),
            ("gru_reset_before", "reverse", False, False), ("rnn_tanh", "reverse", False, True),
            ("rnn_relu", "bidirectional", False, False)):
        n, rows = (2 if direction == "bidirectional" else 1), GATES[cell] * HIDDEN
        x, w, r = grid(STEPS, BATCH, INPUTS), grid(n, rows, INPUTS), grid(n, rows, HIDDEN)
        bias = grid(n, 2 * rows) if full else np.zeros((n, 2 * rows))
        lengths = np.array([1 if cell == "rnn_tanh" else STEPS], np.int32)
        h0, c0 = (grid(n, BATCH, HIDDEN) if full else np.zeros((n, BATCH, HIDDEN)) for _ in range(2))
        d_y, d_h, d_c = grid(STEPS, n, BATCH, HIDDEN), grid(n, BATCH, HIDDEN), grid(n, BATCH, HIDDEN)
        results = []
        for d in range(n):
            order = range(STEPS)[::-1] if d == 1 or direction == "reverse" else range(STEPS)
            zero = np.zeros((STEPS, BATCH, rows))

            def run(of_w, of_r, h, c, d=d, order=order):
                return network(cell, onnx, order, lengths, x, w[d], r[d], bias[d], h, c, of_w, of_r)

            y, _, _, seen = run(zero, zero, h0[d], c0[d])
            results.append((y, *gradients(run, [zero, zero, h0[d], c0[d]], [d_y[:, d], d_h[d], d_c[d]]), seen))
        y, of_w, of_r, d_h0, d_c0, seen = (np.stack([v[k] for v in results], 0 if k in (3, 4) else 1) for k in range(6))
        lstm = cell == "lstm"
        inputs = [x, w, r, bias if full else None, lengths if full else None, h0 if full else None,
                  c0 if full and lstm else None, y, d_y, d_h] + ([d_c] if lstm else [])
        fields = f"Attrs{{.direction = Direction::{direction}, .cell = RecurrenceCell::{cell}"
        outputs = [of_w, of_r, seen, d_h0, d_c0 if lstm else np.zeros((n, BATCH, 0))]
        case("recurrence_grad", inputs, fields + (", .onnx_gates = true}" if onnx else "}"), outputs, grad=cell != "rnn_relu")


cases()
write_all(f"NumPy {np.__version__}, tools/golden/recurrence_grad_samples.py")
