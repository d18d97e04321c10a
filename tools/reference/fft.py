#!/usr/bin/env python3
"""PyTorch's Fourier transforms, windows and stft: values and gradients for tests/values/fft.rs.

Every transform is held against NumPy's as well before it is written. Complex numbers are written as pairs.
Run with PyTorch 1.13: /usr/bin/python3 tools/reference/fft.py
"""

import numpy as np
import torch
from torch import nn
from recorder import Recorder

torch.manual_seed(0)
record = Recorder()
randn = lambda *shape: torch.randn(*shape, dtype=torch.float64)
pairs = lambda x: torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
REAL_INPUT = {"rfft", "ihfft", "rfft2", "rfftn"}


def transform(case, name, shape, **options):
    """`shape` without the pairs' dimension."""
    is_real = name in REAL_INPUT

    def call(_, x):
        given = x["x"] if is_real else torch.view_as_complex(x["x"])
        result = getattr(torch.fft, name)(given, **options)
        renamed = {"axis" if key == "dim" and isinstance(value, int) else "axes" if key == "dim" else key: value
                   for key, value in options.items()}
        numpys = getattr(np.fft, name)(given.detach().numpy(), **renamed)
        assert np.allclose(result.detach().resolve_conj().numpy(), numpys, rtol=1e-12, atol=1e-12), case
        return [pairs(result)]

    record.case(case, nn.Identity(), {"x": randn(*shape) if is_real else randn(*shape, 2)}, call)


for norm in ("backward", "ortho", "forward"):
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        transform(f"{name}_{norm}", name, (2, 6), norm=norm)
    transform(f"irfftn_{norm}", "irfftn", (3, 4, 3), norm=norm)
for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    transform(f"{name}_cut", name, (5, 7, 2), n=4, dim=1)
    transform(f"{name}_padded", name, (3, 5), n=9, dim=-1)
    # A prime that has no butterfly.
    transform(f"{name}_prime", name, (19, 2), n=19, dim=0)
for name in ("fft2", "ifft2", "rfft2", "irfft2"):
    transform(name, name, (2, 3, 4))
    transform(f"{name}_sizes", name, (3, 2, 5), s=(4, 5), dim=(0, 2))
for name in ("fftn", "ifftn", "rfftn", "irfftn"):
    transform(name, name, (2, 3, 4))
    transform(f"{name}_sizes", name, (3, 2, 5), s=(4, 3))
    transform(f"{name}_order", name, (3, 4, 5), dim=(2, 0))

for n in (1, 6, 7):
    record.put(f"fftfreq_{n}", torch.from_numpy(np.fft.fftfreq(n, 0.5)))
    record.put(f"rfftfreq_{n}", torch.from_numpy(np.fft.rfftfreq(n, 0.5)))
shifted = randn(4, 5)
record.put("shift/in", shifted)
record.put("shift/all", torch.from_numpy(np.fft.fftshift(shifted.float().numpy())))
record.put("shift/last", torch.from_numpy(np.fft.fftshift(shifted.float().numpy(), axes=1)))
record.put("shift/back", torch.from_numpy(np.fft.ifftshift(shifted.float().numpy())))

for name in ("hann", "hamming", "blackman", "kaiser"):
    for periodic in (True, False):
        for n in (1, 8, 9):
            window = getattr(torch, f"{name}_window")(n, periodic, dtype=torch.float64)
            record.put(f"{name}_{n}_{'periodic' if periodic else 'symmetric'}", window)


def of_complex(case, function, *others):
    inputs = {"x": randn(3, 4, 2), **{f"y{k}": other for k, other in enumerate(others)}}
    record.case(case, nn.Identity(), inputs, lambda _, x: [pairs(function(*map(torch.view_as_complex, x.values())))])


of_complex("complex_mul", lambda x, y: x * y, randn(4, 2))
of_complex("complex_abs", torch.abs)
of_complex("angle", torch.angle)
of_complex("conj", torch.conj)
record.case("polar", nn.Identity(), {"x": randn(3, 4).abs(), "y": randn(3, 4)},
            lambda _, x: [pairs(torch.polar(x["x"], x["y"]))])


def stft(case, shape, n_fft, window=None, **options):
    inputs = {"x": randn(*shape)} | ({} if window is None else {"window": window})
    record.case(case, nn.Identity(), inputs,
                lambda _, x: [pairs(torch.stft(x["x"], n_fft, window=x.get("window"), return_complex=True, **options))])


def istft(case, signal, n_fft, window=None, **options):
    shared = {key: value for key, value in options.items() if key not in ("length",)}
    spectra = torch.stft(randn(*signal), n_fft, window=window, return_complex=True, **shared)
    # Not the spectra of any signal.
    spectra = pairs(spectra) + 0.1 * randn(*pairs(spectra).shape)
    inputs = {"x": spectra} | ({} if window is None else {"window": window})
    record.case(case, nn.Identity(), inputs,
                lambda _, x: [torch.istft(torch.view_as_complex(x["x"]), n_fft, window=x.get("window"), **options)])


hann = torch.hann_window(8, dtype=torch.float64)
stft("stft", (2, 30), 8, hann)
stft("stft_plain", (29,), 9, hop_length=4, center=False)
stft("stft_short_window", (2, 30), 12, hann, win_length=8, hop_length=5, normalized=True, pad_mode="constant")
stft("stft_both_sides", (24,), 8, hann, onesided=False)
istft("istft", (2, 30), 8, hann)
istft("istft_length", (2, 30), 8, hann, hop_length=3, length=30, normalized=True)
istft("istft_plain", (29,), 9, hop_length=4, center=False)
istft("istft_both_sides", (24,), 8, hann, onesided=False)


def convolve(_, x):
    """NumPy's definition, row by row."""
    full = torch.nn.functional.conv1d(x["x"].reshape(-1, 1, 11), x["w"].flip(-1).reshape(1, 1, -1), padding=4)
    full = full.reshape(2, 3, 15)
    rows = [np.convolve(row, x["w"].detach().numpy()) for row in x["x"].detach().numpy().reshape(-1, 11)]
    assert np.allclose(full.detach().numpy().reshape(-1, 15), rows)
    return [full, full[..., 2:13], full[..., 4:11]]


record.case("convolve", nn.Identity(), {"x": randn(2, 3, 11), "w": randn(5)}, convolve)
record.write("crates/flambeau/tests/data/fft.safetensors")
