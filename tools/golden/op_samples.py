#!/usr/bin/env python3
"""Literal samples of the ops in src/ops/{linalg,nn,attention}, computed with NumPy in f64.

Run from the root with NumPy 2.2.6; it rewrites what lies between "golden:begin" and "golden:end" in
each op's file. Formulas are written plainly from the papers and from llama.cpp's definitions, not
after the ops' own formulas: loops and complex numbers instead of masks and slices.
"""
import math
import re
import textwrap

import numpy as np

rng = np.random.default_rng(7)
FILES = {
    "matmul": "src/ops/linalg/matmul.h",
    "linear": "src/ops/linalg/linear.h",
    "multi_linear": "src/ops/linalg/multi_linear.h",
    "gated_mlp_up": "src/ops/linalg/gated_mlp_up.h",
    "grouped_matmul": "src/ops/linalg/grouped_matmul.cpp",
    "softmax": "src/ops/nn/softmax.h",
    "log_softmax": "src/ops/nn/log_softmax.h",
    "rms_norm": "src/ops/nn/rms_norm.h",
    "layer_norm": "src/ops/nn/layer_norm.h",
    "add_rms_norm": "src/ops/nn/add_rms_norm.h",
    "rope": "src/ops/nn/rope.cpp",
    "attention": "src/ops/attention/attention_formula.cpp",
    "paged_attention": "src/ops/attention/paged_attention.h",
    "kv_append": "src/ops/attention/kv_append.h",
}
cases = {name: [] for name in FILES}


# --- writing C++

def number(v):
    v = float(v)
    if math.isnan(v):
        return "NAN"
    if math.isinf(v):
        return "INFINITY" if v > 0 else "-INFINITY"
    return f"{v:.9g}"


def braces(values):
    return "{" + ", ".join(number(v) for v in np.ravel(values)) + "}"


def in_(x, dtype=None):
    if x is None:
        return "In::absent()"
    x = np.asarray(x)
    dtype = dtype or {"i": "kI32", "b": "kBool"}.get(x.dtype.kind, "kF32")
    return f"In{{.shape = {braces(x.shape)}, .dtype = {dtype}, .values = {braces(x)}}}"


def case(op, inputs, attrs, outputs, grad=True):
    """`grad`: finite differences exist at these inputs."""
    ins = ", ".join(i if isinstance(i, str) else in_(i) for i in inputs)
    outs = ", ".join(f"Expect{{{braces(y.shape)}, {braces(y)}}}" for y in outputs)
    cases[op].append(f"s.expect(numpy, {{{ins}}}, {attrs}, {{{outs}}}){'' if grad else '.grad = false'};")


def write_all():
    for op, path in FILES.items():
        text = open(path, encoding="utf-8").read()
        found = re.search(r"( *)// golden:begin\n.*?// golden:end", text, flags=re.S)
        indent = found.group(1)
        source = f'const std::string numpy = "NumPy {np.__version__}, tools/golden/op_samples.py";'
        rows = [textwrap.fill(c, 100, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
                for c in [source] + cases[op]]
        block = "\n".join([indent + "// golden:begin", indent + "// clang-format off"] + rows +
                          [indent + "// clang-format on", indent + "// golden:end"])
        new = text[: found.start()] + block + text[found.end():]
        open(path, "w", encoding="utf-8").write(new)


# --- inputs

def grid(*shape):
    """Multiples of 1/8 in [-2, 2]: exact in every float type."""
    return rng.integers(-16, 17, shape) / 8


def to_bf16(x):
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(np.float64)


# --- linalg

def silu(x):
    return x / (1 + np.exp(-x))


def gelu(x):
    return x * np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))(x)


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def linalg():
    x, w = grid(2, 3, 4), grid(3, 4)
    case("matmul", [x, w], "Attrs{}", [np.einsum("bmk,nk->bmn", x, w)])
    x, w = grid(2, 1, 2, 3), grid(3, 3, 2)
    case("matmul", [x, w], "Attrs{.transpose_w = false}", [np.einsum("abmk,bkn->abmn", np.repeat(x, 3, 1), w)])
    x, w = [np.float32(rng.normal(size=s)).astype(float) for s in ((4, 3), (2, 4, 3))]
    y = np.einsum("mk,bnk->bmn", to_bf16(x), to_bf16(w))
    case("matmul", [x, w], "Attrs{.compute = Compute::bf16}", [y], grad=False)

    x, w, b, r = grid(2, 3, 4), grid(3, 4), grid(3), grid(2, 3, 3)
    z = np.einsum("bmk,nk->bmn", x, w) + b
    case("linear", [x, w, b, r], "Attrs{.activation = Activation::silu}", [silu(z) + r])
    case("linear", [x, w, b], "Attrs{.activation = Activation::gelu}", [gelu(z)])
    x, w, r = grid(2, 3, 2), grid(2, 2, 3), grid(2, 3, 3)
    z = np.einsum("bmk,bkn->bmn", x, w)
    attrs = "Attrs{.activation = Activation::%s, .transpose_w = false}"
    case("linear", [x, w, None, r], attrs % "gelu_tanh", [gelu_tanh(z) + r])
    case("linear", [x, w], attrs % "relu", [np.maximum(z, 0)], grad=False)

    x, ws, bs = grid(2, 3, 4), [grid(3, 4), grid(2, 4), grid(1, 4)], [grid(3), grid(2), grid(1)]
    ys = [np.einsum("bmk,nk->bmn", x, w) for w in ws]
    case("multi_linear", [x] + ws + bs, "Attrs{.has_biases = true}", [y + b for y, b in zip(ys, bs)])
    case("multi_linear", [x] + [w.T for w in ws], "Attrs{.transpose_w = false}", ys)

    x, gate, up = grid(2, 3, 4), grid(3, 4), grid(3, 4)
    g, u = np.einsum("bmk,nk->bmn", x, gate), np.einsum("bmk,nk->bmn", x, up)
    case("gated_mlp_up", [x, gate, up], "Attrs{}", [silu(g) * u])
    attrs = "Attrs{.activation = Activation::gelu_tanh, .transpose_w = false}"
    case("gated_mlp_up", [x, gate.T, up.T], attrs, [gelu_tanh(g) * u])


# --- nn

def rows_of_softmax(x, axis):
    with np.errstate(all="ignore"):
        e = np.exp(x - np.max(x, axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)


def softmaxes():
    x, y = 4 * grid(2, 4, 3), 3 * grid(4, 5)
    y[0, 2], y[1], y[2, 4], y[3, 0] = -np.inf, -np.inf, np.inf, np.nan
    for op, f in (("softmax", lambda p: p), ("log_softmax", np.log)):
        with np.errstate(all="ignore"):
            case(op, [x], "Attrs{.axis = 1}", [f(rows_of_softmax(x, 1))])
            case(op, [y], "Attrs{}", [f(rows_of_softmax(y, -1))], grad=False)


def rms(x, w, eps):
    return np.array([row / math.sqrt(np.dot(row, row) / len(row) + eps) * w for row in x.reshape(-1, x.shape[-1])]
                    ).reshape(x.shape)


def layer(x, w, b, eps):
    rows = [(row - row.mean()) / math.sqrt(row.var() + eps) * w + b for row in x.reshape(-1, x.shape[-1])]
    return np.array(rows).reshape(x.shape)


def norms():
    x, r, w, b = grid(2, 3, 4), grid(2, 3, 4), grid(4), grid(4)
    case("rms_norm", [x, w], "Attrs{.eps = 0.125}", [rms(x, w, 0.125)])
    case("rms_norm", [r], "Attrs{}", [rms(r, 1, 1e-5)])
    case("layer_norm", [x, w, b], "Attrs{.eps = 0.125}", [layer(x, w, b, 0.125)])
    case("layer_norm", [r, None, b], "Attrs{}", [layer(r, 1, b, 1e-5)])
    case("add_rms_norm", [x, r, w], "Attrs{.eps = 0.125}", [x + r, rms(x + r, w, 0.125)])
    case("add_rms_norm", [x, r], "Attrs{}", [x + r, rms(x + r, 1, 1e-5)])


def rotate(x, positions, n, pairing, freq, magnitude=1.0):
    """Pairs as complex numbers."""
    y = x.copy()
    for t, p in enumerate(positions):
        for i in range(n // 2):
            u, v = (2 * i, 2 * i + 1) if pairing == "neighbours" else (i, i + n // 2)
            for h in range(x.shape[1]):
                z = complex(x[t, h, u], x[t, h, v]) * magnitude * np.exp(1j * p * freq[i])
                y[t, h, u], y[t, h, v] = z.real, z.imag
    return y


def yarn(n, base, factor, context, beta_fast, beta_slow):
    """rope_yarn and ggml_rope_yarn_corr_dims of llama.cpp."""
    def corr_dim(beta):
        return n * math.log(context / (beta * 2 * math.pi)) / (2 * math.log(base))
    low, high = max(0, math.floor(corr_dim(beta_fast))), min(n - 1, math.ceil(corr_dim(beta_slow)))
    freq = []
    for i0 in range(0, n, 2):
        extrapolated = base ** (-i0 / n)
        ramp = 1 - min(1, max(0, (i0 / 2 - low) / max(0.001, high - low)))
        freq.append(extrapolated / factor * (1 - ramp) + extrapolated * ramp)
    return freq, 1 + 0.1 * math.log(factor)


def llama3(n, base, factor, context, low, high):
    """As in the llama 3.1 release: by wavelength."""
    out = []
    for i in range(n // 2):
        f = base ** (-2 * i / n)
        wavelength = 2 * math.pi / f
        smooth = (context / wavelength - low) / (high - low)
        out.append(f if wavelength < context / high else f / factor if wavelength > context / low
                   else (1 - smooth) * f / factor + smooth * f)
    return out


def ropes():
    def plain(n, base):
        return np.array([base ** (-2 * i / n) for i in range(n // 2)])
    x, at = grid(3, 2, 6), np.array([0, 1, 4099], np.int32)
    case("rope", [x, at], "Attrs{.n_rot = 4}", [rotate(x, at, 4, "neighbours", plain(4, 10000))])
    factors = np.array([1, 2.5, 8])
    y = rotate(x, at, 6, "halves", plain(6, 500) / 4 / factors, 0.75)
    attrs = "Attrs{.pairing = RopePairing::halves, .base = 500, .scaling = RopeScaling::linear, .factor = 4, .attn_factor = 0.75}"
    case("rope", [x, at, factors], attrs, [y])
    x, at = grid(2, 1, 16), np.array([3, 1000], np.int32)
    freq, magnitude = yarn(16, 10000, 4, 256, 32, 1)
    for pairing in ("neighbours", "halves"):
        attrs = f"Attrs{{.pairing = RopePairing::{pairing}, .scaling = RopeScaling::yarn, .factor = 4, .original_context = 256}}"
        case("rope", [x, at], attrs, [rotate(x, at, 16, pairing, freq, magnitude)])
    attrs = "Attrs{.base = 5000, .scaling = RopeScaling::llama3, .factor = 8, .original_context = 512}"
    case("rope", [x, at], attrs, [rotate(x, at, 16, "neighbours", llama3(16, 5000, 8, 512, 1, 4))])


# --- attention

def attend(q, keys, values, p, scale, causal=True, window=0, soft_cap=0.0, bias=None, sink=None):
    """One query at position p."""
    scores = {}
    for j, k in enumerate(keys):
        if (causal and j > p) or (window and abs(p - j) >= window):
            continue
        s = float(np.dot(q, k)) * scale
        s = soft_cap * math.tanh(s / soft_cap) if soft_cap else s
        s = s if bias is None else s + bias[j]
        if s != -math.inf:
            scores[j] = s
    total = sum(math.exp(s) for s in scores.values()) + (0 if sink is None else math.exp(sink))
    y = np.zeros(values.shape[1])
    for j, s in scores.items():
        y += math.exp(s) / total * values[j]
    return y


def dense(q, k, v, bias=None, sinks=None, scale=None, **rest):
    b, h, sq, d = q.shape
    group, sk = h // k.shape[1], k.shape[2]
    bias = None if bias is None else np.broadcast_to(bias, (b, h, sq, sk))
    y = np.zeros((b, h, sq, v.shape[3]))
    for n in range(b):
        for i in range(h):
            for t in range(sq):
                y[n, i, t] = attend(q[n, i, t], k[n, i // group], v[n, i // group], sk - sq + t,
                                    1 / math.sqrt(d) if scale is None else scale,
                                    bias=None if bias is None else bias[n, i, t],
                                    sink=None if sinks is None else sinks[i], **rest)
    return y


def dense_cases():
    q, k, v = grid(2, 2, 3, 4), grid(2, 1, 4, 4), grid(2, 1, 4, 3)
    case("attention", [q, k, v], "Attrs{}", [dense(q, k, v, causal=False)])
    case("attention", [q, k, v], "Attrs{.causal = true, .window = 2}", [dense(q, k, v, window=2)])
    bias, sinks = grid(2, 1, 3, 4), grid(2)
    bias[0, 0, 1], bias[1, 0, 2, 3] = -np.inf, -np.inf
    case("attention", [q, k, v, bias, sinks], "Attrs{.scale = 0.75, .causal = false, .soft_cap = 1.5}",
         [dense(q, k, v, bias, sinks, 0.75, causal=False, soft_cap=1.5)], grad=False)
    mask = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 1, 0]], bool)
    case("attention", [q, k, v, mask], "Attrs{}", [dense(q, k, v, np.where(mask, 0, -np.inf), causal=False)])
    q, k, v = q[:, :, :3], k[:, :, :2], v[:, :, :2]
    case("attention", [q, k, v], "Attrs{.causal = true}", [dense(q, k, v)])


def ragged():
    """Three sequences with 1, 0 and 3 new tokens, in pages of 2."""
    q_start, kv_len = np.array([0, 1, 1, 4], np.int32), np.array([5, 2, 3], np.int32)
    table = np.array([[4, 0, 2], [1, 9, 9], [5, 3, -1]], np.int32)
    q, k, v = grid(4, 4, 3), grid(6, 2, 2, 3), grid(6, 2, 2, 2)
    sinks = grid(4)

    def run(scale=1 / math.sqrt(3), sinks=None, **rest):
        y = np.zeros((4, 4, 2))
        for s in range(3):
            pages = table[s][: -(-kv_len[s] // 2)]
            keys, values = [c[pages].reshape(-1, 2, c.shape[3])[: kv_len[s]] for c in (k, v)]
            n_new = q_start[s + 1] - q_start[s]
            for i in range(n_new):
                for h in range(4):
                    y[q_start[s] + i, h] = attend(q[q_start[s] + i, h], keys[:, h // 2], values[:, h // 2],
                                                  kv_len[s] - n_new + i, scale,
                                                  sink=None if sinks is None else sinks[h], **rest)
        return y

    rest = [in_(k, "kF16"), in_(v, "kF16"), q_start, table, kv_len]
    case("paged_attention", [q] + rest, "Attrs{.window = 2, .soft_cap = 2}", [run(window=2, soft_cap=2)])
    case("paged_attention", [q] + rest + [sinks], "Attrs{.scale = 0.75}", [run(0.75, sinks)])
    case("paged_attention", [q] + rest, "Attrs{.causal = false}", [run(causal=False)])

    cache, new = np.float16(rng.normal(size=(6, 2, 1, 2))), np.float32(rng.normal(size=(4, 1, 2)))
    after = cache.copy()
    for s in range(3):
        for i in range(q_start[s], q_start[s + 1]):
            j = kv_len[s] - q_start[s + 1] + i
            after[table[s][j // 2], j % 2] = np.float16(new[i])
    case("kv_append", [in_(cache, "kF16"), new, q_start, table, kv_len], "NoAttrs{}", [after], False)


def experts():
    x, w, chosen = grid(3, 4), grid(3, 5, 4), np.array([[2, 0], [1, 1], [0, 2]])
    y = [[w[e] @ x[t] for e in row] for t, row in enumerate(chosen)]
    case("grouped_matmul", [x, w, chosen], "Attrs{}", [np.array(y)])
    x, w, chosen = grid(2, 3, 4), grid(3, 4, 2), np.array([[0, 2, 2], [2, 1, 0]])
    y = [[x[t, s] @ w[e] for s, e in enumerate(row)] for t, row in enumerate(chosen)]
    case("grouped_matmul", [x, w, chosen], "Attrs{.transpose_w = false}", [np.array(y)])


if __name__ == "__main__":
    linalg()
    softmaxes()
    norms()
    ropes()
    dense_cases()
    ragged()
    experts()
    write_all()
