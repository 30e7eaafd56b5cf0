"""Values of the example graphs, from their definitions in NumPy.

    python3 -m venv ../golden && ../golden/bin/pip install numpy==2.4.6
    ../golden/bin/python tests/golden/examples/make_examples.py

Nothing here calls Lamella. Weights and inputs come from the formula of examples/example.h, so only outputs are kept:
OUTPUT@SIZES in f64, for each of an example's sizes. ERROR@OUTPUT is the greatest difference that the same code makes in
f32 throughout, over the sizes, each divided by the greatest value: how far plain rounding goes in this very network.
"""

import itertools
import math
import os

import numpy as np

assert np.__version__ == "2.4.6", np.__version__
HERE = os.path.dirname(os.path.abspath(__file__))


# --- numbers by formula

def numbers(name, shape, low=-1.0, high=1.0):
    seed = 0xcbf29ce484222325
    for byte in name.encode():
        seed = (seed ^ byte) * 0x100000001b3 % 2**64
    x = np.arange(1, math.prod(shape) + 1, dtype=np.uint64) * np.uint64(0x9e3779b97f4a7c15) + np.uint64(seed)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    x ^= x >> np.uint64(31)
    u = (x >> np.uint64(40)).astype(np.float64) / 2**23 - 1
    return ((high + low) / 2 + (high - low) / 2 * u).astype(np.float32).reshape(shape)


def weight(name, shape):
    if name.endswith((".bias", ".mean")):
        return numbers(name, shape, -0.1, 0.1)
    recurrent = name.endswith((".w", ".r"))
    if not recurrent and not (name.endswith(".weight") and len(shape) > 1):
        return numbers(name, shape, 0.75, 1.25)
    reach = math.sqrt(6 / math.prod(shape[2 if recurrent else 1:]))
    return numbers(name, shape, -reach, reach)


# --- layers, in the type of x

class Net:
    """Layers by name, all of whose arithmetic is in one type."""

    def __init__(self, dtype):
        self.dtype = dtype

    def input(self, name, shape, low=-1.0, high=1.0):
        return numbers(name, shape, low, high).astype(self.dtype)

    def weight(self, name, *shape):
        return weight(name, shape).astype(self.dtype)

    def constant(self, values):
        return np.asarray(values, np.float64).astype(np.float32).astype(self.dtype)

    def linear(self, x, name, out):
        w, b = self.weight(name + ".weight", out, x.shape[-1]), self.weight(name + ".bias", out)
        return np.einsum("...i,oi->...o", x, w) + b

    def conv(self, x, name, out, taps, pads=None, dilation=1, groups=1):
        """Cross-correlation of stride 1, tap by tap; `pads` are those of both ends."""
        pads = pads or [0] * len(taps)
        w = self.weight(name + ".weight", out, x.shape[1] // groups, *taps)
        b = self.weight(name + ".bias", out)
        x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in pads])
        sizes = [n - (k - 1) * dilation for n, k in zip(x.shape[2:], taps)]
        y = np.zeros((x.shape[0], out, *sizes), x.dtype)
        wide, narrow = x.shape[1] // groups, out // groups
        for tap in itertools.product(*map(range, taps)):
            window = x[(slice(None), slice(None)) + tuple(slice(t * dilation, t * dilation + n) for t, n in zip(tap, sizes))]
            for g in range(groups):
                rows = slice(g * narrow, (g + 1) * narrow)
                y[:, rows] += np.einsum("bc...,oc->bo...", window[:, g * wide:(g + 1) * wide],
                                        w[(rows, slice(None)) + tap])
        return y + b.reshape(-1, *[1] * len(taps))

    def conv_transpose(self, x, name, out, taps, stride, pads, groups=1, output_padding=0):
        """Each place adds its taps, `stride` apart; pads are cut off."""
        w = self.weight(name + ".weight", x.shape[1], out // groups, taps)
        b = self.weight(name + ".bias", out)
        n = (x.shape[2] - 1) * stride + taps + output_padding
        y = np.zeros((x.shape[0], out, n), x.dtype)
        wide, narrow = x.shape[1] // groups, out // groups
        for i in range(x.shape[2]):
            for g in range(groups):
                y[:, g * narrow:(g + 1) * narrow, i * stride:i * stride + taps] += np.einsum(
                    "bc,cok->bok", x[:, g * wide:(g + 1) * wide, i], w[g * wide:(g + 1) * wide])
        return y[:, :, pads[0]:n - pads[1]] + b[:, None]

    def layer_norm(self, x, name=None):
        mean = x.mean(-1, keepdims=True)
        y = (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-6)
        if name is None:
            return y
        return y * self.weight(name + ".weight", x.shape[-1]) + self.weight(name + ".bias", x.shape[-1])

    def lstm(self, x, w, r, bias, h, c):
        """x [steps, batch, in], one direction; gates input, forget, cell, output."""
        n = r.shape[-1]
        y = np.zeros((*x.shape[:2], n), x.dtype)
        for t in range(x.shape[0]):
            i, f, g, o = np.split(x[t] @ w.T + h @ r.T + bias[:4 * n] + bias[4 * n:], 4, -1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = y[t] = sigmoid(o) * np.tanh(c)
        return y, h, c

    def recurrence(self, name, directions, size, hidden):
        return (self.weight(name + ".w", directions, 4 * hidden, size),
                self.weight(name + ".r", directions, 4 * hidden, hidden),
                self.weight(name + ".bias", directions, 8 * hidden))

    def lstm_both_ways(self, x, name, hidden):
        w, r, bias = self.recurrence(name, 2, x.shape[-1], hidden)
        zero = np.zeros((x.shape[1], hidden), x.dtype)
        there = self.lstm(x, w[0], r[0], bias[0], zero, zero)[0]
        back = self.lstm(x[::-1], w[1], r[1], bias[1], zero, zero)[0][::-1]
        return np.concatenate([there, back], -1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def relu(x):
    return np.maximum(x, 0)


def leaky_relu(x, alpha=0.01):
    return np.where(x >= 0, x, alpha * x)


def gelu(x):
    return x / 2 * (1 + np.vectorize(math.erf)(x / np.sqrt(2)).astype(x.dtype))


def hann(net, n):
    return net.constant(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n))


def swap(x):
    return x.transpose(0, 2, 1)


# --- the examples: name -> sizes, outputs in one type

def vocoder(net, batch, frames):
    channels, hidden, n_fft, hop = 16, 48, 64, 16
    x = swap(net.conv(net.input("mel", (batch, 12, frames), -6, 2), "embed", channels, [7], [3]))
    x = net.layer_norm(x, "norm")
    for name in ("blocks.0", "blocks.1"):
        y = swap(net.conv(swap(x), name + ".dwconv", channels, [7], [3], groups=channels))
        y = gelu(net.linear(net.layer_norm(y, name + ".norm"), name + ".pwconv1", hidden))
        x = x + net.linear(y, name + ".pwconv2", channels) * net.weight(name + ".gamma", channels)
    x = net.linear(net.layer_norm(x, "final_norm"), "head", n_fft + 2)
    magnitude, phase = np.split(x, 2, -1)
    magnitude = np.minimum(np.exp(magnitude), 100)
    parts = np.fft.irfft(magnitude * np.cos(phase) + 1j * (magnitude * np.sin(phase)), n_fft).astype(net.dtype)
    window = hann(net, n_fft)
    y = np.zeros((batch, (frames - 1) * hop + n_fft), net.dtype)
    weights = np.zeros(y.shape[1], net.dtype)
    for t in range(frames):
        y[:, t * hop:t * hop + n_fft] += parts[:, t] * window
        weights[t * hop:t * hop + n_fft] += window ** 2
    inner = slice((n_fft - hop) // 2, (n_fft - hop) // 2 + frames * hop)
    return {"audio": y[:, inner] / weights[inner]}


def speech_decoder(net, batch, steps):
    channels, hidden, rate = 12, 10, 4
    style = net.input("style", (batch, 8))

    def same(x, name, out, taps, dilation=1):
        return net.conv(x, name, out, [taps], [taps // 2 * dilation], dilation)

    def ada_norm(x, name):
        gamma, beta = np.split(net.linear(style, name + ".fc", 2 * x.shape[1])[..., None], 2, 1)
        mean = x.mean(-1, keepdims=True)
        return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * (1 + gamma) + beta

    def snake(x, name):
        alpha = net.weight(name, x.shape[1], 1)
        return x + np.sin(alpha * x) ** 2 / alpha

    text = net.input("text", (batch, channels, steps))
    x = net.lstm_both_ways(text.transpose(2, 0, 1), "lstm", hidden).transpose(1, 2, 0)
    y = leaky_relu(ada_norm(x, "encode.norm1"), 0.2)
    y = net.conv_transpose(y, "encode.pool", 2 * hidden, 3, 2, (1, 0), groups=2 * hidden)  # (1, 1), one more at the end
    y = same(y, "encode.conv1", channels, 3)
    y = same(leaky_relu(ada_norm(y, "encode.norm2"), 0.2), "encode.conv2", channels, 3)
    x = (y + same(x.repeat(2, -1), "encode.conv1x1", channels, 1)) / np.sqrt(2).astype(net.dtype)
    x = net.conv_transpose(leaky_relu(x, 0.1), "up", channels // 2, 2 * rate, rate, (rate // 2, rate // 2))
    for dilation in (1, 3):
        name = f"resblocks.{dilation}"
        y = same(snake(ada_norm(x, name + ".adain1"), name + ".alpha1"), name + ".convs1", channels // 2, 3, dilation)
        y = snake(ada_norm(y, name + ".adain2"), name + ".alpha2")
        x = x + same(y, name + ".convs2", channels // 2, 3)
    return {"audio": np.tanh(same(leaky_relu(x), "post", 1, 7))[:, 0]}


def diffusion_step(net, batch, rows, columns):
    channels, width, heads, hidden, time_size, time_scale = 8, 32, 2, 64, 16, 16
    size, tokens = width // heads, rows * columns
    latent = net.input("latent", (batch, rows, columns, channels))
    time, step = net.input("time", (batch,), 0, 1), net.input("step", (batch,), 0, 0.5)
    half = time_size // 2
    angles = time[:, None] * net.constant(time_scale * np.exp(-math.log(10000) * np.arange(half) / half))
    waves = np.concatenate([np.cos(angles), np.sin(angles)], -1)
    condition = silu(net.linear(silu(net.linear(waves, "time.0", width)), "time.2", width))

    def modulation(name, n):
        return np.split(net.linear(condition, name + ".modulation", n * width)[:, None], n, -1)

    def modulated(x, shift, scale):
        return net.layer_norm(x) * (1 + scale) + shift

    def rope(x, position):
        """Neighbours turn together; x [batch, tokens, heads, n]."""
        n = x.shape[-1]
        angle = position[:, None] * 10000.0 ** (-2 * np.arange(n // 2) / n)
        cos, sin = (f(angle).astype(net.dtype)[:, None] for f in (np.cos, np.sin))
        u, v = x[..., 0::2], x[..., 1::2]
        return np.stack([u * cos - v * sin, u * sin + v * cos], -1).reshape(x.shape)

    row, column = np.arange(tokens) // columns, np.arange(tokens) % columns
    x = net.linear(latent.reshape(batch, tokens, channels), "embed", width)
    for name in ("blocks.0", "blocks.1"):
        m = modulation(name, 6)
        q, k, v = (part.reshape(batch, tokens, heads, size)
                   for part in np.split(net.linear(modulated(x, m[0], m[1]), name + ".attn.qkv", 3 * width), 3, -1))
        q, k = (np.concatenate([rope(p[..., :size // 2], row), rope(p[..., size // 2:], column)], -1) for p in (q, k))
        scores = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(size).astype(net.dtype)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        y = np.einsum("bhqk,bkhd->bqhd", scores / scores.sum(-1, keepdims=True), v).reshape(batch, tokens, width)
        x = x + m[2] * net.linear(y, name + ".attn.proj", width)
        gate, up = np.split(net.linear(modulated(x, m[3], m[4]), name + ".mlp.up", 2 * hidden), 2, -1)
        x = x + m[5] * net.linear(silu(gate) * up, name + ".mlp.down", width)
    m = modulation("final", 2)
    velocity = net.linear(modulated(x, m[0], m[1]), "head", channels).reshape(latent.shape)
    return {"next": latent + velocity * step[:, None, None, None]}


def text_recogniser(net, batch, width):
    channels, hidden, classes = 8, 16, 11

    def pooled(x, across):
        n = x.shape[3] // across
        return x[:, :, :, :n * across].reshape(*x.shape[:2], x.shape[2] // 2, 2, n, across).max((3, 5))

    def normed(x, name):
        gain, bias, mean, variance = (net.weight(f"{name}.{part}", x.shape[1])[:, None, None]
                                      for part in ("weight", "bias", "mean", "variance"))
        return (x - mean) / np.sqrt(variance + 1e-5) * gain + bias

    x = net.input("image", (batch, 1, 32, width), -2, 2)
    x = pooled(relu(net.conv(x, "conv1", channels, [3, 3], [1, 1])), 2)
    x = pooled(relu(net.conv(x, "conv2", 2 * channels, [3, 3], [1, 1])), 2)
    x = pooled(relu(normed(net.conv(x, "conv3", 3 * channels, [3, 3], [1, 1]), "norm3")), 1)
    x = relu(net.conv(x, "conv4", 3 * channels, [4, 1]))[:, :, 0].transpose(2, 0, 1)
    x = net.lstm_both_ways(net.lstm_both_ways(x, "lstm1", hidden), "lstm2", hidden)
    x = net.linear(x, "head", classes)
    x = x - x.max(-1, keepdims=True)
    return {"log_probs": x - np.log(np.exp(x).sum(-1, keepdims=True))}


def labels_of(log_probs):
    """Rows of best classes, repeats merged, 0 left out; filled up with -1."""
    best = np.argmax(log_probs, -1).T
    lines = [[int(b) for b, _ in itertools.groupby(line) if b != 0] for line in best]
    longest = max(map(len, lines))
    return np.array([line + [-1] * (longest - len(line)) for line in lines], np.int64)


def voice_detector(net, batch, hops):
    n_fft, hop, channels, hidden, bins = 32, 16, 16, 12, 17
    chunk = net.input("chunk", (batch, hops, hop)).reshape(batch, hops * hop)
    audio = np.concatenate([net.input("audio", (batch, n_fft - hop)), chunk], -1)
    window = hann(net, n_fft)
    frames = np.stack([audio[:, t * hop:t * hop + n_fft] for t in range(hops)], 1)
    spectrum = np.fft.rfft(frames * window)
    power = np.log1p(spectrum.real ** 2 + spectrum.imag ** 2).astype(net.dtype)
    features = np.concatenate([net.input("frames", (batch, bins, 2)), swap(power)], -1)
    x = relu(net.conv(features, "conv", channels, [3])).transpose(2, 0, 1)
    w, r, bias = (m[0] for m in net.recurrence("lstm", 1, channels, hidden))
    y, h, c = net.lstm(x, w, r, bias, net.input("h", (1, batch, hidden))[0], net.input("c", (1, batch, hidden))[0])
    speech = sigmoid(net.linear(relu(y), "head", 1))[..., 0].T
    return {"speech": speech, "audio": audio[:, -(n_fft - hop):], "frames": features[..., -2:], "h": h[None],
            "c": c[None]}


EXAMPLES = [
    (vocoder, [dict(batch=1, frames=1), dict(batch=2, frames=7), dict(batch=3, frames=33)]),
    (speech_decoder, [dict(batch=1, steps=1), dict(batch=2, steps=5), dict(batch=3, steps=19)]),
    (diffusion_step, [dict(batch=1, rows=1, columns=1), dict(batch=2, rows=3, columns=5),
                      dict(batch=3, rows=7, columns=4)]),
    (text_recogniser, [dict(batch=1, width=4), dict(batch=2, width=37), dict(batch=3, width=101)]),
    (voice_detector, [dict(batch=1, hops=1), dict(batch=2, hops=5), dict(batch=3, hops=16)]),
]


def main():
    for example, all_sizes in EXAMPLES:
        arrays, errors = {}, {}
        for sizes in all_sizes:
            at = ",".join(f"{name}={value}" for name, value in sizes.items())
            exact, rounded = example(Net(np.float64), **sizes), example(Net(np.float32), **sizes)
            for name, want in exact.items():
                assert want.dtype == np.float64 and rounded[name].dtype == np.float32, name
                error = np.abs(rounded[name] - want).max() / np.abs(want).max()
                errors[name] = max(errors.get(name, 0), error)
                arrays[f"{name}@{at}"] = want
            if "log_probs" in exact:
                best = np.sort(exact["log_probs"], -1)
                assert (best[..., -1] - best[..., -2]).min() > 1e-4, "two classes are as good as equal"
                arrays[f"labels@{at}"] = labels_of(exact["log_probs"])
        arrays |= {f"error@{name}": np.float64(error) for name, error in errors.items()}
        path = os.path.join(HERE, example.__name__ + ".npz")
        np.savez_compressed(path, **arrays)
        print(example.__name__, os.path.getsize(path), {k: f"{v:.2g}" for k, v in errors.items()})


if __name__ == "__main__":
    main()
