#!/usr/bin/env python3
"""Literal samples of causal_conv1d, gated_delta_net, selective_scan, mamba2 and gradients in src/ops/recurrent, by NumPy in
f64, token by token and head by head as the papers write them.

Run from the root with NumPy 2.4.6; it rewrites what lies between "golden:begin" and "golden:end" in each op's file.
"""
import numpy as np

from sample_writer import case, write_all

rng = np.random.default_rng(23)


def grid(*shape, low=-1, high=1):
    """Multiples of 1/8: exact in every float type."""
    return rng.integers(int(low * 8), int(high * 8) + 1, shape) / 8


STARTS, SLOTS = np.array([0, 2, 2, 5], np.int32), np.array([2, 1, 0], np.int32)


def sequences():
    for s, slot in enumerate(SLOTS):
        yield slot, range(STARTS[s], STARTS[s + 1])


def causal_conv1d():
    for bias in (None, grid(2)):
        state, x, w = grid(3, 2, 2), grid(5, 2), grid(2, 3)
        following, y = state.copy(), np.zeros((5, 2))
        for slot, tokens in sequences():
            for c in range(2):
                seen = list(state[slot, c])
                for t in tokens:
                    seen.append(x[t, c])
                    y[t, c] = np.dot(seen[-3:], w[c]) + (0 if bias is None else bias[c])
                following[slot, c] = seen[-2:]
        case("causal_conv1d", [state, x, w, STARTS, SLOTS] + ([] if bias is None else [bias]), "NoAttrs{}", [following, y])


def gated_delta_net():
    for head_map, per_channel in (("modulo", False), ("blocks", True)):
        hk, hv, dk, dv = 2, 4, 2, 2
        state, q, k, v = grid(3, hv, dk, dv), grid(5, hk, dk), grid(5, hk, dk), grid(5, hv, dv)
        g, beta = grid(5, hv, *([dk] if per_channel else []), high=0), grid(5, hv, low=0)
        following, y = state.copy(), np.zeros((5, hv, dv))
        for slot, tokens in sequences():
            for h in range(hv):
                kh = h // (hv // hk) if head_map == "blocks" else h % hk
                S = state[slot, h].copy()
                for t in tokens:
                    S = np.diag(np.exp(g[t, h])) @ S if per_channel else np.exp(g[t, h]) * S
                    d = (v[t, h] - S.T @ k[t, kh]) * beta[t, h]
                    S = S + np.outer(k[t, kh], d)
                    y[t, h] = S.T @ q[t, kh] * (0.25 if per_channel else 1 / np.sqrt(dk))
                following[slot, h] = S
        attrs = f"Attrs{{.head_map = HeadMap::{head_map}}}" if not per_channel else "Attrs{.scale = 0.25}"
        case("gated_delta_net", [state, q, k, v, g, beta, STARTS, SLOTS], attrs, [following, y])


def state_spaces():
    for with_d in (True, False):
        channels, n = 2, 3
        state, x, dt, a = grid(3, channels, n), grid(5, channels), grid(5, channels, low=0), grid(channels, n, low=-2, high=0)
        b, c, d = grid(5, n), grid(5, n), grid(channels)
        following, y = state.copy(), np.zeros((5, channels))
        for slot, tokens in sequences():
            for ch in range(channels):
                h = state[slot, ch].copy()
                for t in tokens:
                    h = np.exp(dt[t, ch] * a[ch]) * h + dt[t, ch] * x[t, ch] * b[t]
                    y[t, ch] = c[t] @ h + (d[ch] * x[t, ch] if with_d else 0)
                following[slot, ch] = h
        case("selective_scan", [state, x, dt, a, b, c, STARTS, SLOTS] + ([d] if with_d else []), "NoAttrs{}", [following, y])
    for with_d in (True, False):
        heads, groups, p, n = 2, 2 if with_d else 1, 2, 2
        state, x, dt, a = grid(3, heads, p, n), grid(5, heads, p), grid(5, heads, low=0), grid(heads, low=-2, high=0)
        b, c, d = grid(5, groups, n), grid(5, groups, n), grid(heads)
        following, y = state.copy(), np.zeros((5, heads, p))
        for slot, tokens in sequences():
            for head in range(heads):
                group = head // (heads // groups)
                h = state[slot, head].copy()
                for t in tokens:
                    h = np.exp(dt[t, head] * a[head]) * h + dt[t, head] * np.outer(x[t, head], b[t, group])
                    y[t, head] = h @ c[t, group] + (d[head] * x[t, head] if with_d else 0)
                following[slot, head] = h
        case("mamba2", [state, x, dt, a, b, c, STARTS, SLOTS] + ([d] if with_d else []), "NoAttrs{}", [following, y])


def delta_rule(state, q, k, v, g, beta, head_map, scale):
    """The outputs of gated_delta_net, complex where an input is."""
    inputs = (state, q, k, v, g, beta)
    following, y = state.astype(np.result_type(*inputs)), np.zeros(v.shape, np.result_type(*inputs))
    hk, hv = q.shape[1], v.shape[1]
    for slot, tokens in sequences():
        for h in range(hv):
            kh = h // (hv // hk) if head_map == "blocks" else h % hk
            S = following[slot, h].copy()
            for t in tokens:
                S = np.diag(np.exp(g[t, h])) @ S if g.ndim == 3 else np.exp(g[t, h]) * S
                S = S + np.outer(k[t, kh], (v[t, h] - S.T @ k[t, kh]) * beta[t, h])
                y[t, h] = S.T @ q[t, kh] * scale
            following[slot, h] = S
    return following, y


def gated_delta_net_grad():
    """By complex steps: the imaginary part of f(x + i h) / h has no rounding error for a tiny h. One value head a key head,
    so that the parts of value heads are the gradients of the key heads."""
    for head_map, per_channel in (("modulo", False), ("blocks", True)):
        heads, dk, dv = 2, 2, 2
        state, q, k, v = grid(3, heads, dk, dv), grid(5, heads, dk), grid(5, heads, dk), grid(5, heads, dv)
        g, beta = grid(5, heads, *([dk] if per_channel else []), high=0), grid(5, heads, low=0)
        d_next, d_y, scale = grid(3, heads, dk, dv), grid(5, heads, dv), 0.25 if per_channel else 1 / np.sqrt(dk)
        inputs, gradients = [state, q, k, v, g, beta], []
        for i, x in enumerate(inputs):
            gradient = np.zeros(x.shape)
            for at in np.ndindex(x.shape):
                moved = [z.astype(complex) for z in inputs]
                moved[i][at] += 1e-30j
                following, y = delta_rule(*moved, head_map, scale)
                gradient[at] = (np.sum(d_next * following) + np.sum(d_y * y)).imag / 1e-30
            gradients.append(gradient)
        attrs = f"Attrs{{.head_map = HeadMap::{head_map}}}" if not per_channel else "Attrs{.scale = 0.25}"
        case("gated_delta_net_grad", [*inputs, STARTS, SLOTS, d_next, d_y], attrs, gradients)


def gradients_of(outputs, inputs, seeds):
    """By complex steps, of the sum of seeds times outputs."""
    gradients = []
    for i, x in enumerate(inputs):
        gradient = np.zeros(x.shape)
        for at in np.ndindex(x.shape):
            moved = [z.astype(complex) for z in inputs]
            moved[i][at] += 1e-30j
            gradient[at] = sum(np.sum(seed * y) for seed, y in zip(seeds, outputs(*moved))).imag / 1e-30
        gradients.append(gradient)
    return gradients


def state_space_grads():
    """b, c and a of a token and a head each, so that parts are gradients."""

    def scan(state, x, dt, a, b, c):
        following, y = state.copy(), np.zeros(x.shape, complex)
        for slot, tokens in sequences():
            for t in tokens:
                following[slot] = np.exp(dt[t][:, None] * a) * following[slot] + np.outer(dt[t] * x[t], b[t])
                y[t] = following[slot] @ c[t]
        return following, y

    for channels, n in ((2, 3), (3, 2)):
        inputs = [grid(3, channels, n), grid(5, channels), grid(5, channels, low=0), grid(channels, n, low=-2, high=0),
                  grid(5, n), grid(5, n)]
        seeds = [grid(3, channels, n), grid(5, channels)]
        case("selective_scan_grad", [*inputs, STARTS, SLOTS, *seeds], "NoAttrs{}", gradients_of(scan, inputs, seeds))

    def mamba(state, x, dt, a, b, c):
        following, y = state.copy(), np.zeros(x.shape, complex)
        for slot, tokens in sequences():
            for t in tokens:
                for head in range(x.shape[1]):
                    h = np.exp(dt[t, head] * a[t, head]) * following[slot, head]
                    h = h + dt[t, head] * np.outer(x[t, head], b[t, head])
                    following[slot, head] = h
                    y[t, head] = h @ c[t, head]
        return following, y

    for heads, groups, p, n in ((2, 2, 2, 2), (2, 1, 2, 3)):
        a, b, c = grid(heads, low=-2, high=0), grid(5, groups, n), grid(5, groups, n)
        state, x, dt = grid(3, heads, p, n), grid(5, heads, p), grid(5, heads, low=0)
        seeds, of_heads = [grid(3, heads, p, n), grid(5, heads, p)], heads // groups
        whole = [state, x, dt, np.tile(a, (5, 1)), np.repeat(b, of_heads, axis=1), np.repeat(c, of_heads, axis=1)]
        case("mamba2_grad", [state, x, dt, a, b, c, STARTS, SLOTS, *seeds], "NoAttrs{}", gradients_of(mamba, whole, seeds))


causal_conv1d()
gated_delta_net()
state_spaces()
gated_delta_net_grad()
state_space_grads()
write_all(f"NumPy {np.__version__}, tools/golden/ragged_samples.py")
