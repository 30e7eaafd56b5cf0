#!/usr/bin/env python3
"""Literal samples of the ops in src/ops/spatial, by ONNX Runtime on the CPU (inputs are multiples of 1/8 and sums of
products exact in f32), and of conv_grad_w by NumPy.

Run from the root with NumPy 2.4.6, ONNX 1.23.2 and ONNX Runtime 1.32.0; it rewrites what lies between "golden:begin" and
"golden:end" in each op's file.
"""
import itertools

import numpy as np
import onnx
import onnx.helper
import onnxruntime

from sample_writer import case, write_all

rng = np.random.default_rng(17)


def grid(*shape, low=-2, high=2):
    """Multiples of 1/8: exact in every float type."""
    return rng.integers(low * 8, high * 8 + 1, shape) / 8


def attrs(**fields):
    def text(v):
        return "{" + ", ".join(map(str, v)) + "}" if isinstance(v, (tuple, list)) else str(v)
    return "Attrs{" + ", ".join(f".{k} = {text(v)}" for k, v in fields.items()) + "}"


def run_onnx(op, *arrays, **attributes):
    names = [f"x{i}" for i in range(len(arrays))]
    arrays = [np.asarray(a, np.float32) if np.asarray(a).dtype.kind == "f" else np.asarray(a) for a in arrays]
    info = onnx.helper.make_tensor_value_info
    types = [onnx.helper.np_dtype_to_tensor_dtype(a.dtype) for a in arrays]
    used = [n if a.size else "" for n, a in zip(names, arrays)]
    graph = onnx.helper.make_graph([onnx.helper.make_node(op, used, ["y"], **attributes)], "case",
                                   [info(n, t, a.shape) for n, t, a in zip(used, types, arrays) if n],
                                   [info("y", types[0], None)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {n: a for n, a in zip(used, arrays) if n})[0]


def grad_w(x, g, taps, stride, dilation, pad, groups):
    """Product by product, over places of g."""
    batch, channels = x.shape[:2]
    inner, outer = channels // groups, g.shape[1] // groups
    dw = np.zeros((g.shape[1], inner, *taps))
    for place in itertools.product(*map(range, g.shape[2:])):
        for tap in itertools.product(*map(range, taps)):
            at = [n * s + k * d - p for n, s, k, d, p in zip(place, stride, tap, dilation, pad)]
            if all(0 <= a < size for a, size in zip(at, x.shape[2:])):
                for o in range(g.shape[1]):
                    first = o // outer * inner
                    seen = x[(slice(None), slice(first, first + inner), *at)]
                    dw[(o, slice(None), *tap)] += g[(slice(None), o, *place)] @ seen
    return dw


def convolutions():
    def conv(x, w, *bias, **options):
        pads = [*options.get("pads_begin", []), *options.get("pads_end", [])]
        names = {"strides": "strides", "dilations": "dilations", "groups": "group"}
        onnx_options = {names[k]: v for k, v in options.items() if k in names} | ({"pads": pads} if pads else {})
        case("conv", [x, w, *bias], attrs(**options), [run_onnx("Conv", x, w, *bias, **onnx_options)])

    conv(grid(2, 4, 7), grid(6, 2, 3), grid(6), strides=[2], pads_begin=[1], pads_end=[1], groups=2)
    conv(grid(2, 2, 6, 5), grid(3, 2, 3, 2), strides=[1, 2], dilations=[2, 1], pads_begin=[2, 0], pads_end=[0, 1])
    conv(grid(1, 2, 3, 4, 3), grid(2, 1, 2, 2, 2), pads_begin=[0, 1, 0], pads_end=[0, 1, 0], groups=2)
    x, w = grid(1, 2, 5, 6), grid(2, 2, 2, 4)
    for mode in ("same_upper", "same_lower"):
        case("conv", [x, w], attrs(strides=[2, 3], auto_pad=f"AutoPad::{mode}"),
             [run_onnx("Conv", x, w, strides=[2, 3], auto_pad=mode.upper())])

    x, w, b = grid(2, 4, 3), grid(4, 2, 3), grid(4)
    case("conv_transpose", [x, w, b], attrs(strides=[2], pads_begin=[1], pads_end=[1], groups=2, output_padding=[1]),
         [run_onnx("ConvTranspose", x, w, b, strides=[2], pads=[1, 1], group=2, output_padding=[1])])
    x, w = grid(1, 2, 4, 3), grid(2, 3, 3, 2)
    case("conv_transpose", [x, w], attrs(strides=[1, 2], dilations=[2, 1], pads_begin=[1, 0], pads_end=[0, 1]),
         [run_onnx("ConvTranspose", x, w, strides=[1, 2], pads=[1, 0, 0, 1], dilations=[2, 1])])
    x, w = grid(1, 2, 2, 3, 2), grid(2, 1, 2, 2, 3)
    case("conv_transpose", [x, w], attrs(strides=[2, 1, 2]), [run_onnx("ConvTranspose", x, w, strides=[2, 1, 2])])
    x, w = grid(1, 2, 3, 4), grid(2, 2, 3, 2)
    case("conv_transpose", [x, w], attrs(strides=[2, 3], auto_pad="AutoPad::same_lower", sizes=[6, 11]),
         [run_onnx("ConvTranspose", x, w, strides=[2, 3], output_shape=[6, 11])])

    for x, g, taps, stride, dilation, before, groups in (
            (grid(2, 4, 9), grid(2, 6, 5), [3], [2], [1], [1], 2),
            (grid(2, 2, 6, 5), grid(2, 3, 4, 4), [3, 2], [1, 1], [2, 1], [1, 0], 1)):
        case("conv_grad_w", [x, g], attrs(strides=stride, dilations=dilation, pads_begin=before, groups=groups, sizes=taps),
             [grad_w(x, g, taps, stride, dilation, before, groups)])



def pools():
    names = {"kernel": "kernel_shape", "strides": "strides", "dilations": "dilations"}
    for op, onnx_name in (("max_pool", "MaxPool"), ("average_pool", "AveragePool")):
        for x, options in ((grid(1, 2, 6, 4), dict(kernel=[3, 2], strides=[2, 1], pads_begin=[1, 0], pads_end=[1, 1])),
                           (grid(1, 3, 10), dict(kernel=[3], strides=[2], dilations=[2], pads_begin=[2], ceil_mode="true")),
                           (grid(1, 2, 3, 4, 4), dict(kernel=[2, 2, 3]))):
            pads = [*options.get("pads_begin", [0] * len(options["kernel"])), *options.get("pads_end", [0] * len(options["kernel"]))]
            onnx_options = {names[k]: v for k, v in options.items() if k in names} | {"pads": pads}
            if "ceil_mode" in options:
                onnx_options["ceil_mode"] = 1
            # Equal largest elements have no finite differences.
            case(op, [x], attrs(**options), [run_onnx(onnx_name, x, **onnx_options)], grad=op != "max_pool")
            if op == "average_pool":
                case(op, [x], attrs(**options, count_include_pad="true"),
                     [run_onnx(onnx_name, x, **onnx_options, count_include_pad=1)])


def resizes():
    none = np.zeros(0, np.float32)
    modes = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")
    skipped = (("linear", "pytorch_half_pixel"), ("cubic", "pytorch_half_pixel"), ("linear", "half_pixel_symmetric"))
    for mode in ("nearest", "linear", "cubic"):
        for i, coordinates in enumerate(modes):
            if (mode, coordinates) in skipped:
                continue
            # Sizes whose places do not lie half way between elements, where f32 and f64 would round apart.
            x, to = grid(2, 4), [5, 3]
            more = {"cubic_a": -0.5, "exclude_outside": "true"} if mode == "cubic" and i % 2 else {}
            onnx_more = {"cubic_coeff_a": -0.5, "exclude_outside": 1} if more else {}
            rounding = ("prefer_floor", "prefer_ceil", "floor", "ceil")[i % 4]
            if mode == "nearest":
                more, onnx_more = {"rounding": f"ResizeRounding::{rounding}"}, {"nearest_mode": rounding.replace("pre", "round_pre")}
            y = run_onnx("Resize", x, none, none, np.array(to), mode=mode, coordinate_transformation_mode=coordinates, **onnx_more)
            case("resize", [x], attrs(sizes=to, mode=f"ResizeMode::{mode}",
                                      coordinates=f"ResizeCoordinates::{coordinates}", **more), [y])
    x = grid(2, 5)
    for mode in ("linear", "cubic"):
        y = run_onnx("Resize", x, none, np.array([1, 1.5], np.float32), mode=mode)
        case("resize", [x], attrs(axes=[1], scales=[1.5], mode=f"ResizeMode::{mode}"), [y])


convolutions()
pools()
resizes()
write_all(f"NumPy {np.__version__}, ONNX Runtime {onnxruntime.__version__}, tools/golden/spatial_samples.py")
