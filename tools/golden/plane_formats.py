#!/usr/bin/env python3
"""Bytes and values of the block formats of several planes, by MLX and ONNX Runtime.

Run from the root with mlx[cpu] 0.32.4, onnxruntime 1.32.0, onnx 1.23.2 and NumPy; it writes tests/golden/quant/planes.json:
per format `planes` (bytes in hex), `values` (f32 in hex, what the library decodes them to), and where the library encoded
f32 values, `source`.
"""
import json

import mlx.core as mx
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

mx.set_default_device(mx.cpu)
rng = np.random.default_rng(29)
formats = {}


def hex_of(a):
    return np.ascontiguousarray(a).view(np.uint8).tobytes().hex()


def add(name, rows, planes, values, source=None):
    entry = {"rows": rows, "planes": [hex_of(p) for p in planes], "values": hex_of(values.astype(np.float32))}
    if source is not None:
        entry["source"] = hex_of(source)
    formats[name] = entry


def bytes_of(a):
    return np.array(a.view(mx.uint8)) if a.size else np.zeros(0, np.uint8)


def mlx_affine():
    x = rng.standard_normal((1, 128)).astype(np.float32)
    x[0, 32:64] = np.abs(x[0, 32:64]) + 1
    for bits in (1, 2, 3, 4, 5, 6, 8):
        for group in (32, 64, 128):
            for name, dtype in (("f16", mx.float16), ("bf16", mx.bfloat16), ("f32", mx.float32)):
                q, s, b = mx.quantize(mx.array(x).astype(dtype), group_size=group, bits=bits)
                y = mx.dequantize(q, s.astype(mx.float32), b.astype(mx.float32), group_size=group, bits=bits)
                add(f"mlx_affine{bits}_g{group}_{name}", 1, [bytes_of(q), bytes_of(s), bytes_of(b)], np.array(y),
                    x if name == "f32" else None)


def mlx_floats():
    x = rng.standard_normal((4, 64)).astype(np.float32)
    x[1] = 0
    x[2] *= 1e-3
    x[3] = np.abs(x[3]) * 1000
    for mode in ("mxfp4", "mxfp8", "nvfp4"):
        q, s = mx.quantize(mx.array(x), mode=mode)
        y = mx.dequantize(q, s, mode=mode, dtype=mx.float32)
        add(f"mlx_{mode}", 4, [bytes_of(q), bytes_of(s)], np.array(y), x)
        group, n_bytes = {"mxfp4": (32, 16), "mxfp8": (32, 32), "nvfp4": (16, 8)}[mode]
        scales = np.array([0, 1, 2, 7, 8, 9, 100, 120, 126, 127, 128, 129, 200, 253, 254, 255], np.uint8)[:, None]
        words = rng.integers(0, 256, (16, n_bytes), np.uint8)
        y = mx.dequantize(mx.array(words.view(np.uint32)), mx.array(scales), mode=mode, dtype=mx.float32)
        add(f"mlx_{mode}#any", 16, [words, scales], np.array(y))


def run(graph, feeds):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)],
                              ir_version=10)
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)[0]


def onnx_int4():
    """MatMulNBits of the unit matrix."""
    n, k = 2, 256
    for block in (16, 32, 64, 128):
        codes = rng.integers(0, 256, (n, k // block, block // 2), np.uint8)
        scales = rng.standard_normal((n, k // block)).astype(np.float32)
        zeros = rng.integers(0, 256, (n, k // block // 2), np.uint8)
        for name, z in (("int4", None), ("int4z", zeros)):
            initial = [helper.make_tensor("b", TensorProto.UINT8, codes.shape, codes.tobytes(), True),
                       helper.make_tensor("s", TensorProto.FLOAT, [scales.size], scales.tobytes(), True)]
            if z is not None:
                initial.append(helper.make_tensor("z", TensorProto.UINT8, [z.size], z.tobytes(), True))
            node = helper.make_node("MatMulNBits", ["a"] + [t.name for t in initial], ["y"], domain="com.microsoft", K=k, N=n,
                                    bits=4, block_size=block)
            graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("a", TensorProto.FLOAT, [k, k])],
                                      [helper.make_tensor_value_info("y", TensorProto.FLOAT, [k, n])], initial)
            y = run(graph, {"a": np.eye(k, dtype=np.float32)}).T
            add(f"{name}_b{block}_f32", n, [codes, scales] + ([] if z is None else [z]), y)


def onnx_int8():
    """DequantizeLinear in blocks of the last axis."""
    n, k = 2, 256
    for block in (16, 32, 64, 128, 256):
        codes = rng.integers(-128, 128, (n, k)).astype(np.int8)
        scales = rng.standard_normal((n, k // block)).astype(np.float32)
        zeros = rng.integers(-128, 128, (n, k // block)).astype(np.int8)
        for name, z in (("int8", None), ("int8z", zeros)):
            feeds = {"x": codes, "s": scales}
            if z is not None:
                feeds["z"] = z
            inputs = [helper.make_tensor_value_info(i, TensorProto.FLOAT if i == "s" else TensorProto.INT8, a.shape)
                      for i, a in feeds.items()]
            node = helper.make_node("DequantizeLinear", list(feeds), ["y"], axis=1, block_size=block)
            graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [n, k])])
            add(f"{name}_b{block}_f32", n, [codes, scales] + ([] if z is None else [z]), run(graph, feeds))


mlx_affine()
mlx_floats()
onnx_int4()
onnx_int8()
made_with = f"MLX {mx.__version__}, ONNX Runtime {onnxruntime.__version__}, onnx {onnx.__version__}, tools/golden/plane_formats.py"
with open("tests/golden/quant/planes.json", "w") as out:
    json.dump({"made_with": made_with, "formats": formats}, out, indent=0)
    out.write("\n")
