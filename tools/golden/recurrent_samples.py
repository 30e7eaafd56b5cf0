#!/usr/bin/env python3
"""Literal samples of lstm, gru and rnn in src/ops/recurrent, by ONNX Runtime on the CPU.

Run from the root with NumPy 2.4.6, ONNX 1.23.2 and ONNX Runtime 1.32.0; it rewrites what lies between "golden:begin" and
"golden:end" in each op's file.
"""
import numpy as np
import onnx
import onnx.helper
import onnxruntime

from sample_writer import case, write_all

rng = np.random.default_rng(19)
# Where ONNX's gates stand in the orders that Lamella also takes.
REORDERED = {"lstm": ("LstmGates::ifgo", [0, 2, 3, 1]), "gru": ("GruGates::rzn", [1, 0, 2])}
NATIVE = {"lstm": "LstmGates::iofg", "gru": "GruGates::zrn"}


def grid(*shape, high=1):
    """Multiples of 1/8: exact in every float type."""
    return (rng.integers(-8 * high, 8 * high + 1, shape) / 8).astype(np.float32)


def run_onnx(op, inputs, n_outputs, **attributes):
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    given = {n: x for n, x in zip(names, inputs) if n}
    outputs = [f"y{i}" for i in range(n_outputs)]
    info = onnx.helper.make_tensor_value_info
    kind = onnx.helper.np_dtype_to_tensor_dtype
    graph = onnx.helper.make_graph([onnx.helper.make_node(op, names, outputs, **attributes)], "case",
                                   [info(n, kind(x.dtype), x.shape) for n, x in given.items()],
                                   [info(n, kind(np.dtype("float32")), None) for n in outputs])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, given)


def reordered(x, order):
    """The gates of axis 1 in another order; a bias has two sets of them."""
    n = len(order) * (2 if x.ndim == 2 else 1)
    parts = np.split(x, n, axis=1)
    places = order + [len(order) + i for i in order] if x.ndim == 2 else order
    return np.concatenate([parts[i] for i in places], axis=1)


def cases(op, onnx_op, gates, states, directions=("forward", "reverse", "bidirectional"), **options):
    steps, batch, inputs, hidden = 3, 2, 2, 2
    for i, direction in enumerate(directions):
        n = 2 if direction == "bidirectional" else 1
        w, r, b = grid(n, gates * hidden, inputs), grid(n, gates * hidden, hidden), grid(n, 2 * gates * hidden)
        x = grid(steps, batch, inputs, high=2)
        lengths = np.array([2, 3], np.int32) if i > 0 else None
        start = [grid(n, batch, hidden) for _ in range(states)] if i != 1 else [None] * states
        y = run_onnx(onnx_op, [x, w, r, b, lengths, *start], 1 + states, hidden_size=hidden, direction=direction, **options)
        fields = [f".direction = Direction::{direction}"]
        if op in NATIVE:
            name, order = REORDERED[op]
            fields.append(f".gates = {NATIVE[op] if i == 1 else name}")
            if i != 1:
                w, r, b = (reordered(v, order) for v in (w, r, b))
        if op == "gru":
            fields.append(f".linear_before_reset = {'true' if options.get('linear_before_reset') else 'false'}")
        if options.get("activations"):
            fields.append(".activation = RnnActivation::relu")
        case(op, [x, w, r, b, lengths, *start], "Attrs{" + ", ".join(fields) + "}", y)


cases("lstm", "LSTM", 4, 2)
cases("gru", "GRU", 3, 1, linear_before_reset=1)
cases("gru", "GRU", 3, 1, directions=("forward", "reverse"))
cases("rnn", "RNN", 1, 1)
write_all(f"ONNX Runtime {onnxruntime.__version__}, tools/golden/recurrent_samples.py")
