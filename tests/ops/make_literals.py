"""Prints the literal values that samples of ops carry, computed by other programs: NumPy 2.4.6, ONNX 1.23.2's
reference evaluator, CPython 3.11's math. Run it by hand and compare: python3 tests/ops/make_literals.py"""

import math

import numpy as np
import onnx
import onnx.helper
import onnx.reference


def show(name, *arrays):
    for array in arrays:
        array = np.asarray(array)
        values = ", ".join(repr(float(v)).removesuffix(".0") for v in array.ravel())
        print(f"{name}: {{{', '.join(map(str, array.shape))}}} {{{values}}}")


def inputs(seed, shape, low=-4, high=4):
    """Multiples of 1/32, so that every float type holds them."""
    return np.random.default_rng(seed).integers(low * 32, high * 32, shape) / 32


def run_onnx(op, *arrays, **attributes):
    names = [f"x{i}" for i in range(len(arrays))]
    node = onnx.helper.make_node(op, names, ["y"], **attributes)
    model = onnx.helper.make_model(onnx.helper.make_graph(
        [node], "case",
        [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
         for n, a in zip(names, arrays)],
        [onnx.helper.make_tensor_value_info("y", onnx.helper.np_dtype_to_tensor_dtype(arrays[0].dtype), None)]))
    return onnx.reference.ReferenceEvaluator(model).run(None, dict(zip(names, arrays)))[0]


def composites():
    x = inputs(1, (2, 9))
    y = inputs(2, (3, 2, 3))
    show("x", x)
    show("y", y)
    for case in (x, y):
        show("relu", np.maximum(case, 0))
        show("clamp", np.clip(case, -0.75, 1.25))
        show("clamp high", np.clip(case, None, 0.5))
    steps = np.arange(-8, 8) / 2
    show("silu", steps / (1 + np.exp(-steps)))
    show("gelu none", [v * math.erfc(-v / math.sqrt(2)) / 2 for v in steps])
    show("gelu tanh", [v / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) for v in steps])
    show("mean", steps.reshape(2, 8).mean(axis=1, keepdims=True), steps.reshape(2, 2, 4).mean(axis=(0, -1)))
    c = inputs(5, (3, 1, 6, 1))
    show("squeeze", c, np.squeeze(c, axis=1), np.squeeze(c))
    show("unsqueeze", c[:, 0, :, 0], np.expand_dims(c[:, 0, :, 0], (1, -1)))


def primitives():
    nan, inf = float("nan"), float("inf")
    row = np.arange(6)
    show("slice", row[-1:-100:-2], row[4:], row[:-4], row[7:1:-3])
    update = np.arange(5)
    update[3:-5:-2] = [8, 9]
    show("slice_update", update)
    show("sign", np.sign([-3, -0.0, 2, nan, -inf]))
    show("minimum", np.minimum([1, nan, 2, -inf], [2, 3, nan, 0]))
    show("maximum", np.maximum([1, nan, 2, -inf], [2, 3, nan, 0]))
    show("clip", np.clip([-3, -0.5, 0.25, 2, nan, -inf, inf, 1], -0.75, 1.25))
    show("astype", np.float32([2049, 2051, 65520, 1e-8, 0.1]).astype(np.float16))
    show("transpose", np.transpose(np.array([1, 0, 1, 0, 0, 1]).reshape(1, 2, 3), (2, 0, 1)))
    show("broadcast_to", np.broadcast_to([[0], [1]], (2, 3)))
    show("concatenate", np.concatenate([[[1], [2]], [[3, 4], [5, 6]]], axis=1))
    show("split", *np.split(np.arange(1, 7).reshape(2, 3), [1], axis=1))
    show("sum", np.sum([[1, 2, 3], [4, 5, 6.5]], axis=0))
    show("max", np.max([[1, 5, 3], [nan, 2, 4]], axis=1))
    show("min", np.min([[1, 5, 3], [nan, 2, 4]], axis=1))
    show("argmax", np.argmax([[1, 3, 3], [0, nan, nan], [-1, -1, -2]], axis=1))
    show("take", np.take(np.arange(1, 7).reshape(2, 3), [2, -3], axis=1))
    show("nonzero", np.array(np.nonzero([[1, 0, 1], [0, 0, 1]])))
    # Ascending and stable with NaN last, as the values to be reversed or taken as they are.
    top = np.array([2, 5, nan, 5, -1, 2])
    show("top_k", np.argsort(-np.nan_to_num(top, nan=inf), kind="stable")[:4], np.argsort(top, kind="stable")[:3])
    x, at, updates = np.float32([1, 2, 3, 4]), np.int64([[1], [1], [3]]), np.float32([5, 7, 0.5])
    for mode in ("none", "add", "mul", "min", "max"):
        show("scatter_nd " + mode, run_onnx("ScatterND", x, at, updates, reduction=mode))
    show("gather_nd", run_onnx("GatherND", np.int32([[0, 1], [2, 3]]), np.int64([[0, 0], [1, 1]])))
    for exclusive in (0, 1):
        for reverse in (0, 1):
            show(f"cumsum {exclusive} {reverse}",
                 run_onnx("CumSum", np.int32([1, 2, 3, 4, 5]), np.int64(0), exclusive=exclusive, reverse=reverse))
    show("exp", [math.exp(v) for v in (0, 1, -1)])
    show("log", [math.log(v) for v in (1, 10)])
    show("sqrt", [math.sqrt(v) for v in (2, 0, 6.25)])
    show("sin", [math.sin(v) for v in (0, 1, -0.5)])
    show("cos", [math.cos(v) for v in (0, 1, -0.5)])
    show("tanh", [math.tanh(v) for v in (0, 1, -0.5)])
    show("sigmoid", [1 / (1 + math.exp(-v)) for v in (0, 1, -2)])
    show("erf", [math.erf(v) for v in (0, 1, -0.5)])
    show("pow", [2**10, 2**-1, 9**0.5, (-2) ** 3])
    show("mod", [7 % 3, -7 % 3, 7 % -3, -7 % -3], [7.5 % 2, -7.5 % 2, 7.5 % -2, -7.5 % -2, -1 % inf])


def random():
    """Known answer of philox4x32-10 for a zero key and counter (Random123 kat_vectors), then the ops' formulas."""
    words = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    show("uniform f32", [(w >> 8) / 2**24 for w in words])
    normal = []
    for w0, w1 in zip(words[::2], words[1::2]):
        radius = math.sqrt(-2 * math.log(((w0 >> 8) + 1) / 2**24))
        angle = 2 * math.pi * (w1 >> 8) / 2**24
        normal += [radius * math.cos(angle), radius * math.sin(angle)]
    show("normal", normal)


composites()
primitives()
random()
