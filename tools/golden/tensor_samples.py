#!/usr/bin/env python3
"""Literal samples of ops in src/ops/{shape,index,reduce,linalg,nn,activation,attention,random}, by NumPy, SciPy and ONNX's
reference evaluator.

Run from the root with NumPy 2.4.6, SciPy 1.17.1 and ONNX 1.23.2; it rewrites what lies between "golden:begin" and
"golden:end" in each op's file.
"""
import math

import ml_dtypes
import numpy as np
import onnx
import onnx.helper
import onnx.reference
import scipy
from scipy import special

from sample_writer import case, in_, write_all

rng = np.random.default_rng(13)
nan, inf = np.nan, np.inf
index = np.int64


def grid(*shape, low=-2, high=2):
    """Multiples of 1/8: exact in every float type."""
    return rng.integers(low * 8, high * 8 + 1, shape) / 8


def count(*shape):
    return np.arange(math.prod(shape), dtype=float).reshape(shape)


def onnx_op(op, *arrays, **attributes):
    names = [f"x{i}" for i in range(len(arrays))]
    node = onnx.helper.make_node(op, names, ["y"], **attributes)
    tensor = onnx.helper.make_tensor_value_info
    model = onnx.helper.make_model(onnx.helper.make_graph(
        [node], "case", [tensor(n, onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in zip(names, arrays)],
        [tensor("y", onnx.helper.np_dtype_to_tensor_dtype(arrays[0].dtype), None)]))
    return onnx.reference.ReferenceEvaluator(model).run(None, dict(zip(names, arrays)))[0]


def sizes(values):
    return "{" + ", ".join(map(str, values)) + "}"


def attrs(**fields):
    return "Attrs{" + ", ".join(f".{k} = {v}" for k, v in fields.items()) + "}"


# --- shape

def pads():
    x = grid(3, 6)
    before, after = (1, 2), (2, 0)
    pairs = list(zip(before, after))
    for mode in ("edge", "reflect", "wrap"):
        case("pad", [x], attrs(before=sizes(before), after=sizes(after), mode=f"PadMode::{mode}"), [np.pad(x, pairs, mode)])
        deep = attrs(before="{9}", after="{7}", mode=f"PadMode::{mode}")
        case("pad", [x[0, :4]], deep, [np.pad(x[0, :4], (9, 7), mode)])
    case("pad", [x], attrs(before=sizes(before), after=sizes(after), value=0.5),
         [np.pad(x, pairs, constant_values=0.5)])
    case("pad", [x], attrs(before="{-1, 1}", after="{0, -2}", value=-1),
         [np.pad(x[1:, :-2], ((0, 0), (1, 0)), constant_values=-1)])


def moves():
    x, y = count(2, 3, 3), grid(3, 5)
    for a, times in ((x, (1, 2, 2)), (y, (3, 2))):
        case("tile", [a], attrs(repeats=sizes(times)), [np.tile(a, times)])
    case("repeat", [x], attrs(times=2, axis=1), [np.repeat(x, 2, 1)])
    case("repeat", [y], attrs(times=3), [np.repeat(y, 3, -1)])
    case("roll", [x], attrs(shifts="{1, -4}", axes="{0, 2}"), [np.roll(x, (1, -4), (0, 2))])
    case("roll", [count(17)], attrs(shifts="{22}", axes="{-1}"), [np.roll(count(17), 22)])
    case("reverse", [x], attrs(axes="{1, -1}"), [np.flip(x, (1, -1))])
    case("reverse", [count(2, 8)], "Attrs{}", [np.flip(count(2, 8))])
    z = count(4, 5, 4)
    case("diagonal", [z], "Attrs{}", [np.diagonal(z)])
    case("diagonal", [z], attrs(offset=-1, first=2, second=0), [np.diagonal(z, -1, 2, 0)])
    for upper, offset, a in (("true", 1, z), ("false", -1, z), ("true", -2, y), ("false", 3, y)):
        case("triangle", [a], attrs(upper=upper, offset=offset), [(np.triu if upper == "true" else np.tril)(a, offset)])
    case("eye", [], attrs(rows=4, columns=5, offset=1), [np.eye(4, 5, 1)])
    case("eye", [], attrs(rows=5, columns=4, offset=-2, to="kI32"), [np.eye(5, 4, -2)])
    case("fill", [], attrs(shape="{2, 3, 3}", value=2.5), [np.full((2, 3, 3), 2.5)])
    case("fill", [], attrs(shape="{16}", value=-1, to="kI8"), [np.full(16, -1)])
    vectors = [grid(3), grid(4), grid(2)]
    for xy in ("false", "true"):
        case("meshgrid", vectors, attrs(xy=xy), np.meshgrid(*vectors, indexing="xy" if xy == "true" else "ij"))
    for start, limit, delta, t in ((1, 9, 3, np.int64), (5, -6, -2, np.int32), (0.5, 3, 0.25, np.float32)):
        args = [np.array(v, t) for v in (start, limit, delta)]
        case("range", args, "NoAttrs{}", [np.arange(start, limit, delta)])


# --- index

def indices():
    x, at = grid(4, 5), rng.integers(-4, 4, (3, 5))
    case("gather_elements", [x, at], "Attrs{}", [onnx_op("GatherElements", np.float32(x), at, axis=0)])
    z, at = grid(2, 5, 3), rng.integers(0, 5, (2, 4, 2)).astype(np.int32)
    case("gather_elements", [z, at], attrs(axis=1), [np.take_along_axis(z[:, :, :2], at, 1)])
    at = rng.integers(-5, 5, (1, 4, 3))
    case("take_along", [z, at], attrs(axis=1), [np.take_along_axis(z, np.repeat(at, 2, 0), 1)])
    x, at = grid(3, 7), rng.integers(0, 7, (3, 6))
    case("take_along", [x, at], "Attrs{}", [np.take_along_axis(x, at, -1)])
    x, at, updates = np.float32(grid(4, 5)), np.int64([[0, 1, 2, 3, -1], [0, 3, 2, 0, 1]]), np.float32(grid(2, 5))
    for mode in ("none", "add", "mul", "min", "max"):
        y = onnx_op("ScatterElements", x, at, updates, axis=0, reduction=mode)
        case("scatter_elements", [x, at, updates], attrs(axis=0, mode=f"Scatter::{mode}"), [y], False)
    x, at, updates = grid(2, 5, 2), index([1, -1, 1]), grid(2, 3, 2)
    y = x.copy()
    np.add.at(y, (slice(None), at), updates)
    case("scatter_add", [x, at, updates], attrs(axis=1), [y])
    x, at, updates = grid(6, 3), index([[0, 5], [2, 0]]), grid(2, 2, 3)
    y = x.copy()
    np.add.at(y, at, updates)
    case("scatter_add", [x, at, updates], "Attrs{}", [y])
    x, which = grid(5, 6), np.array([1, 0, 1, 1, 0], bool)
    case("compress", [x, which], attrs(axis=0), [np.compress(which, x, 0)])
    which = np.resize([True, False, True], 30)
    case("compress", [x, which], "Attrs{}", [np.compress(which, x)])
    row, v = np.sort(grid(9)), np.concatenate([grid(14), [nan, inf]])
    for right in ("false", "true"):
        side = "right" if right == "true" else "left"
        case("searchsorted", [row, v], attrs(right=right), [np.searchsorted(row, v, side)])
        ints = np.int32([1, 1, 2, 5, 5, 5, 9])
        case("searchsorted", [ints, np.arange(16, dtype=np.int32) - 3], attrs(right=right),
             [np.searchsorted(ints, np.arange(16) - 3, side)])
    x = np.array([3, 1, 3, nan, 1, 2, nan, 3])
    y, at, back, n = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    case("unique", [x], "Attrs{}", [y, at, back, n])
    order = np.argsort(at)
    case("unique", [x], attrs(sorted="false"), [y[order], at[order], np.argsort(order)[back], n[order]])
    x = np.int32([[1, 0, 1, 1], [2, 2, 2, 2], [0, 5, 0, 3]])
    y, at, back, n = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=1)
    case("unique", [x], attrs(axis=1), [y, at, back.ravel(), n])


# --- reduce

def reductions():
    x = np.array([[1, 3, 3], [0, nan, nan], [-1, -2, -2]])
    case("argmin", [x], "Attrs{}", [np.argmin(x, 1)])
    case("argmin", [x], attrs(last="true"), [x.shape[1] - 1 - np.argmin(x[:, ::-1], 1)])
    b, c = rng.integers(0, 2, (2, 3, 4)).astype(bool), rng.integers(0, 4, (4, 5)) > 0
    for op, f in (("any", np.any), ("all", np.all)):
        case(op, [b], attrs(axes="{0, 2}"), [f(b, (0, 2))])
        case(op, [c], attrs(axes="{1}", keep="true"), [f(c, 1, keepdims=True)])
        case(op, [b], "Attrs{}", [f(b)])
        case(op, [np.zeros((2, 0), bool)], attrs(axes="{1}"), [f(np.zeros((2, 0), bool), 1)])
        for extra in (rng.integers(0, 3, (17, 2)) > 0, rng.integers(0, 3, (18, 3)) == 0):
            case(op, [extra], attrs(axes="{1}"), [f(extra, 1)])
    for x, axes in ((4 * grid(2, 4, 3), (0, 2)), (4 * grid(3, 6), (1,))):
        case("logsumexp", [x], attrs(axes=sizes(axes)), [special.logsumexp(x, axes)])
    for x in (4 * grid(17, 2), 4 * grid(2, 16)):
        axis = int(np.argmin(x.shape))
        case("logsumexp", [x], attrs(axes=sizes([axis])), [special.logsumexp(x, axis)])
    x = np.array([[-inf, -inf], [inf, 1], [nan, 1], [-inf, 1], [300, 299]])
    case("logsumexp", [x], attrs(axes="{1}"), [special.logsumexp(x, 1)], False)
    for p in (2, 3, 1, inf, -inf, 0, 0.5):
        shown = "INFINITY" if p == inf else "-INFINITY" if p == -inf else p
        x = grid(*((16, 2) if p in (2, 3) else (2, 3))) + 1 / 16
        y = np.sum(np.abs(x) ** 0.5, 1) ** 2 if p == 0.5 else np.linalg.norm(x, p, 1)
        case("norm", [x], attrs(p=shown, axes="{1}"), [y], np.isfinite(p))
    for op, f in (("var", np.var), ("std", np.std)):
        for ddof in (0, 1):
            x = grid(17, 3) + rng.integers(0, 9, (17, 3)) / 64
            case(op, [x], attrs(axes="{1}", correction=ddof), [f(x, 1, ddof=ddof)])
            x = grid(2, 3, 4)
            case(op, [x], attrs(axes="{0, -1}", keep="true", correction=ddof), [f(x, (0, 2), ddof=ddof, keepdims=True)])
    x = np.float64([2, -1, 0.5, 3, 4])
    case("cumprod", [x], attrs(axis=0), [np.cumprod(x)])
    case("cumprod", [x], attrs(axis=0, exclusive="true"), [[1, 2, -2, -1, -3]])
    case("cumprod", [x], attrs(axis=0, reverse="true"), [np.cumprod(x[::-1])[::-1]])
    case("cumprod", [np.int8([100, 2, 3])], attrs(axis=0), [np.cumprod(np.int8([100, 2, 3]), dtype=np.int8)])
    x = np.array([[1, 3, 2, 3, 0], [2, nan, 1, nan, 5]])
    case("cummax", [x], "Attrs{}", [np.maximum.accumulate(x, 1), [[0, 1, 1, 3, 3], [0, 1, 1, 3, 3]]], False)
    case("cummin", [x], "Attrs{}", [np.minimum.accumulate(x, 1), [[0, 0, 0, 0, 4], [0, 1, 1, 3, 3]]], False)
    for x, axis in ((grid(3, 9), -1), (np.array([2, 5, nan, 5, -1, 2] * 3), 0), (np.int32(8 * grid(4, 2, 3)), 0)):
        for descending in ("false", "true"):
            key = np.where(np.isnan(x), inf, x)
            order = np.argsort(-key if descending == "true" else key, axis, kind="stable")
            a = attrs(axis=axis, descending=descending)
            case("sort", [x], a, [np.take_along_axis(x, order, axis), order], False)
            case("argsort", [x], a, [order])


# --- linalg

def products():
    a, b = grid(2, 3, 4, 2), grid(2, 3, 2, 3)
    case("dot_general", [a, b], attrs(contract_a="{1, 3}", contract_b="{3, 2}", batch_a="{0}", batch_b="{0}"),
         [np.einsum("bijk,bcki->bjc", a, b)])
    a, b = grid(4, 3), grid(3, 5)
    case("dot_general", [a, b], attrs(contract_a="{1}", contract_b="{0}"), [a @ b])
    for equation, shapes in (("ij,jk->ik", ((4, 3), (3, 5))), ("...ij,...jk->...ki", ((2, 1, 3, 2), (3, 2, 4))),
                             ("bii,cb->bic", ((2, 2, 2), (2, 2))), ("ij,kj", ((2, 3), (3, 3))), ("ab,bc,cd->ad", ((2, 2), (2, 3), (3, 2)))):
        operands = [grid(*s) for s in shapes]
        case("einsum", operands, f'Attrs{{"{equation}"}}', [np.einsum(equation, *operands)])


# --- gated units

def gates():
    f = {"sigmoid": special.expit, "silu": lambda x: x * special.expit(x),
         "gelu": lambda x: x * special.ndtr(x), "relu": lambda x: np.maximum(x, 0), "none": lambda x: x,
         "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))}
    for name, g in f.items():
        x = grid(*((4, 8) if name in ("sigmoid", "gelu") else (2, 6))) + 1 / 16
        n = x.shape[1] // 2
        case("glu", [x], attrs(gate=f"Gate::{name}"), [x[:, :n] * g(x[:, n:])])
        x = grid(2, 3)
        case("glu", [x], attrs(gate=f"Gate::{name}", axis=0, gate_first="true"), [x[1:] * g(x[:1])], name != "relu")
    for alpha, limit in ((1.702, 7), (1, 1.5)):
        gate, up = 6 * grid(3, 6), np.array([-11, -8, 0.5, 8, 11, 1])
        g, u = np.minimum(gate, limit), np.clip(up, -limit, limit)
        case("clamped_swiglu", [gate, up], attrs(alpha=alpha, limit=limit), [g * special.expit(alpha * g) * (u + 1)], False)


# --- attention

def masks():
    def positions(queries, keys):
        return np.arange(queries)[:, None] + keys - queries, np.arange(keys)[None]

    for heads, queries, keys, most in ((4, 3, 5, 8), (6, 2, 3, 8), (3, 4, 3, 4)):
        # As in the authors' code: slopes of the power of 2 below, then every second one of the double.
        def power(n):
            return [2 ** (-most * (i + 1) / n) for i in range(n)]
        n = 2 ** math.floor(math.log2(heads))
        slopes = power(n) + power(2 * n)[0::2][: heads - n]
        p, k = positions(queries, keys)
        case("alibi", [], attrs(heads=heads, queries=queries, keys=keys, max_bias=most),
             [-np.array(slopes)[:, None, None] * np.abs(p - k)])
    for queries, keys, causal, window, prefix in ((4, 6, 1, 0, 0), (4, 6, 1, 2, 1), (5, 5, 0, 2, 0), (6, 4, 1, 3, 2)):
        p, k = positions(queries, keys)
        seen = ((k <= p) | (not causal)) & ((window == 0) | (np.abs(p - k) < window)) | (k < prefix)
        case("attention_mask", [], attrs(queries=queries, keys=keys, causal="true" if causal else "false", window=window,
                                         prefix=prefix), [np.broadcast_to(seen, (queries, keys))])


# --- norms and rotations

def norms():
    def normal(x, axes, eps):
        return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)

    def of_channels(v, x):
        return v.reshape((-1,) + (1,) * (x.ndim - 2))

    for x, groups, eps in ((grid(2, 4, 3), 2, 0.125), (grid(2, 6, 2), 3, 1e-5)):
        w, b = grid(x.shape[1]), grid(x.shape[1])
        parts = [np.concatenate([normal(g, None, eps) for g in np.split(row, groups)]) for row in x]
        case("group_norm", [x, w, b], attrs(groups=groups, eps=eps), [np.array(parts) * of_channels(w, x) + of_channels(b, x)])
        case("instance_norm", [x, w], attrs(eps=eps), [normal(x, 2, eps) * of_channels(w, x)])
        case("layer_norm_2d", [x, w, b], attrs(eps=eps), [normal(x, 1, eps) * of_channels(w, x) + of_channels(b, x)])
    for x, eps in ((grid(2, 3, 2, 3), 0.125), (grid(6, 4), 1e-5)):
        w, b, m, v = [grid(x.shape[1]) for _ in range(4)]
        v = np.abs(v) + 0.25
        y = (x - of_channels(m, x)) / np.sqrt(of_channels(v, x) + eps) * of_channels(w, x) + of_channels(b, x)
        case("batch_norm", [x, w, b, m, v], attrs(eps=eps), [y])
        axes = (0,) + tuple(range(2, x.ndim))
        y = normal(x, axes, eps) * of_channels(w, x) + of_channels(b, x)
        case("batch_norm_training", [x, w, b, m, v], attrs(eps=eps, momentum=0.75),
             [y, 0.75 * m + 0.25 * x.mean(axes), 0.75 * v + 0.25 * x.var(axes)])
    for eps, x in ((2, grid(4, 5)), (3, grid(5, 4))):
        x[0] /= 4  # shorter than eps
        case("l2_norm", [x], attrs(eps=eps), [x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), eps)])


def turned(x, angle, pairing):
    """Pairs as complex numbers; angle [tokens, pairs]."""
    y, n = x.copy(), angle.shape[1]
    for i in range(n):
        u, v = (2 * i, 2 * i + 1) if pairing == "neighbours" else (i, i + n)
        z = (x[:, :, u] + 1j * x[:, :, v]) * np.exp(1j * angle[:, i])[:, None]
        y[:, :, u], y[:, :, v] = z.real, z.imag
    return y


def rotations():
    for pairing in ("neighbours", "halves"):
        x, angle = grid(3, 2, 7), grid(3, 3)
        case("rope_table", [x, np.cos(angle), np.sin(angle)], attrs(pairing=f"RopePairing::{pairing}"),
             [turned(x, angle, pairing)])
    at = np.int32([[0, 5, 31], [2, 3, 4], [7, 1, 100]])
    x = grid(3, 1, 12)
    # As ggml_mrope_cache_init of llama.cpp picks them: time, height, width.
    which = [0, 1, 1, 2, 0, 1]  # sections 1, 2, 1 of the 6 pairs
    angle = np.array([[at[which[i], t] * 10000 ** (-2 * i / 12) for i in range(6)] for t in range(3)])
    case("rope_sections", [x, at], attrs(sections="{1, 2, 1}"), [turned(x, angle, "halves")])
    which = [0, 1, 2, 0, 2]  # interleaved 2, 1, 2: after the third pair height has run out
    angle = np.array([[at[which[i], t] * 500 ** (-2 * i / 10) / 4 for i in range(5)] for t in range(3)])
    case("rope_sections", [x, at], attrs(sections="{2, 1, 2}", interleaved="true", n_rot=10,
                                         pairing="RopePairing::neighbours", base=500, scaling="RopeScaling::linear",
                                         factor=4), [turned(x, angle, "neighbours")])


# --- random, from Philox4x32-10 as published (Salmon et al. 2011)

def words(key, n):
    out = []
    for block in range(-(-n // 4)):
        c, k = [block, 0, key[1] & 0xFFFFFFFF, key[1] >> 32], [key[0] & 0xFFFFFFFF, key[0] >> 32]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        out += c
    return np.array(out[:n], np.uint64)


def randoms():
    assert words((0, 0), 4).tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]  # Random123's known answer
    for key, n in (((1, 2), 17), ((7, 9), 18)):
        k, w = index(key), words(key, n)
        u = w / 2**32
        p = (rng.integers(0, 9, n) / 8)
        case("bernoulli", [k, p], "NoAttrs{}", [(w >> np.uint64(8)) / 2**24 < p])
        case("random_int", [k], attrs(shape=sizes([n]), low=-3, high=9), [np.floor(u * 12) - 3])
        low, high = special.erf(np.array([-1, 2]) / math.sqrt(2))
        z = math.sqrt(2) * special.erfinv(low + (high - low) * (u + 0.5 / 2**32))
        case("truncated_normal", [k], attrs(shape=sizes([n]), low=-1, high=2, mean=0.5, deviation=3), [3 * z + 0.5])
        case("permutation", [k], attrs(length=n), [np.argsort(w, kind="stable")])
        logits = 2 * grid(n, 3)
        gumbel = -np.log(-np.log((words(key, 3 * n) + 0.5) / 2**32)).reshape(n, 3)
        case("categorical", [k, logits], "NoAttrs{}", [np.argmax(logits + gumbel, 1)])


def casts():
    x = np.array([0.1, -0.3, 447, 449, 1000, -1e6, inf, -inf, nan, 464, 480, 1e-4, 57000, 61440, 65519, 65520])
    for name, t, most in (("kF8E4M3", ml_dtypes.float8_e4m3fn, 448), ("kF8E5M2", ml_dtypes.float8_e5m2, 57344),
                          ("kF16", np.float16, 65504)):
        y = np.clip(np.float32(x), -most, most).astype(t).astype(float)
        case("saturating_cast", [x], f"Attrs{{{name}}}", [y], False)


if __name__ == "__main__":
    pads()
    moves()
    indices()
    reductions()
    products()
    gates()
    masks()
    norms()
    rotations()
    randoms()
    casts()
    write_all(f"NumPy {np.__version__}, SciPy {scipy.__version__}, ONNX {onnx.__version__}, "
              "tools/golden/tensor_samples.py")
