#!/usr/bin/env python3
"""Literal samples of fft, stft, istft and log_mel in src/ops/signal, by NumPy in f64, frame by frame.

Run from the root with NumPy 2.4.6; it rewrites what lies between "golden:begin" and "golden:end" in each op's file.
"""
import numpy as np

from sample_writer import case, write_all

rng = np.random.default_rng(29)


def grid(*shape, low=-2, high=2):
    """Multiples of 1/8: exact in every float type."""
    return rng.integers(low * 8, high * 8 + 1, shape) / 8


def pairs(z):
    return np.stack([z.real, z.imag], -1)


def ffts():
    for n, inverse in ((6, False), (7, True)):
        x = grid(2, n, 2)
        z = x[..., 0] + 1j * x[..., 1]
        case("fft", [x], f"Attrs{{.inverse = {'true' if inverse else 'false'}}}",
             [pairs(np.fft.ifft(z) if inverse else np.fft.fft(z))])


def frames(x, n_fft, hop, center, window):
    if center:
        x = np.pad(x, n_fft // 2, "reflect")
    return [np.fft.rfft(x[i:i + n_fft] * window) for i in range(0, len(x) - n_fft + 1, hop)]


def stfts():
    for center in (False, True):
        x, window = grid(2, 11), grid(4, low=0)
        y = np.array([frames(row, 4, 3, center, window) for row in x])
        case("stft", [x, window], f"Attrs{{.n_fft = 4, .hop = 3, .center = {'true' if center else 'false'}}}", [pairs(y)])
    for center in (False, True):
        x, window = grid(2, 3, 3, 2), grid(4, low=0) + 0.125
        size = 4 + 2 * 2
        y, total = np.zeros((2, size)), np.zeros(size)
        for f in range(3):
            total[2 * f:2 * f + 4] += window**2
            for b in range(2):
                z = x[b, f, :, 0] + 1j * x[b, f, :, 1]
                y[b, 2 * f:2 * f + 4] += np.fft.irfft(z, 4) * window
        y /= total
        case("istft", [x, window], f"Attrs{{.n_fft = 4, .hop = 2, .center = {'true' if center else 'false'}}}",
             [y[:, 2:-2] if center else y])
    x, window, filters = grid(2, 9), grid(4, low=0), grid(2, 3, low=0)
    power = np.array([np.abs(frames(row, 4, 2, True, window)) ** 2 for row in x])
    mel = np.maximum(power @ filters.T, 4)
    case("log_mel", [x, filters, window], "Attrs{.n_fft = 4, .hop = 2, .floor = 4}", [np.log10(mel)])
    case("log_mel", [x, filters, window], "Attrs{.n_fft = 4, .hop = 2, .floor = 4, .base10 = false}", [np.log(mel)])


ffts()
stfts()
write_all(f"NumPy {np.__version__}, tools/golden/signal_samples.py")
