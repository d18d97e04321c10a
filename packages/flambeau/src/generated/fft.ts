// As written by `cargo test -p flambeau-web`: do not edit by hand.

/**
 * Fourier transforms along any dimensions, windows, spectra of signals, and complex numbers, which are pairs in a last dimension of 2.
 *
 * @packageDocumentation
 */

import type { Dims, DType, Sizes } from "../types.js";
import type { Tensor } from "../tensor.js";
import { args, one } from "../calls.js";
import { loadPart } from "../wasm.js";

/** Fetches this part of the module ahead of its first use, which otherwise waits for it. */
export function load(): Promise<void> {
  return loadPart("fft");
}

/** y\[k\] = Σₙ x\[n\] e^(−2πi nk/N): the discrete Fourier transform of complex numbers along `dim`, (…, N, …, 2) → (…, n, …, 2). */
export function fft(x: Tensor, n?: number, dim: number = -1, norm: "backward" | "ortho" | "forward" = "backward"): Tensor {
  return one(65536, args().t(x).mn(n).n(dim).s(norm));
}

/** x\[n\] = 1/N Σₖ y\[k\] e^(2πi nk/N): `fft` back, (…, N, …, 2) → (…, n, …, 2). */
export function ifft(x: Tensor, n?: number, dim: number = -1, norm: "backward" | "ortho" | "forward" = "backward"): Tensor {
  return one(65537, args().t(x).mn(n).n(dim).s(norm));
}

/** `fft` of real numbers, (…, N, …) → (…, n/2 + 1, …, 2): the first half of the result, of whose numbers the others are the conjugates. */
export function rfft(x: Tensor, n?: number, dim: number = -1, norm: "backward" | "ortho" | "forward" = "backward"): Tensor {
  return one(65538, args().t(x).mn(n).n(dim).s(norm));
}

/** `rfft` back, (…, N/2 + 1, …, 2) → (…, n, …). `n` is 2 (N/2 + 1 − 1) unless it is given: an odd length must be. Imaginary parts of the first number, and of the last of an even length, count as zero. */
export function irfft(x: Tensor, n?: number, dim: number = -1, norm: "backward" | "ortho" | "forward" = "backward"): Tensor {
  return one(65539, args().t(x).mn(n).n(dim).s(norm));
}

/** `fft` of complex numbers of which the other half are conjugates, so that the result is real: (…, N/2 + 1, …, 2) → (…, n, …), with n as in `irfft`. */
export function hfft(x: Tensor, n?: number, dim: number = -1, norm: "backward" | "ortho" | "forward" = "backward"): Tensor {
  return one(65540, args().t(x).mn(n).n(dim).s(norm));
}

/** `hfft` back, (…, N, …) → (…, n/2 + 1, …, 2). */
export function ihfft(x: Tensor, n?: number, dim: number = -1, norm: "backward" | "ortho" | "forward" = "backward"): Tensor {
  return one(65541, args().t(x).mn(n).n(dim).s(norm));
}

/** `fft` along all of `dims`, of complex numbers; `s` are their lengths, or with all dimensions (`..`) those of the last ones. */
export function fftn(x: Tensor, s: Sizes = [], dims?: Dims, norm: "backward" | "ortho" | "forward" = "backward"): Tensor {
  return one(65542, args().t(x).ns(s).d(dims).s(norm));
}

/** `fftn` back. */
export function ifftn(x: Tensor, s: Sizes = [], dims?: Dims, norm: "backward" | "ortho" | "forward" = "backward"): Tensor {
  return one(65543, args().t(x).ns(s).d(dims).s(norm));
}

/** `fftn` of real numbers: `rfft` along the last of `dims`, which has half the result, then `fft` along the others. */
export function rfftn(x: Tensor, s: Sizes = [], dims?: Dims, norm: "backward" | "ortho" | "forward" = "backward"): Tensor {
  return one(65544, args().t(x).ns(s).d(dims).s(norm));
}

/** `rfftn` back; an odd length of the last of `dims` must be given in `s`. */
export function irfftn(x: Tensor, s: Sizes = [], dims?: Dims, norm: "backward" | "ortho" | "forward" = "backward"): Tensor {
  return one(65545, args().t(x).ns(s).d(dims).s(norm));
}

/** `fftn` along two dimensions, usually −2 and −1. */
export function fft2(x: Tensor, s: Sizes = [], dim: Sizes = [-2, -1], norm: "backward" | "ortho" | "forward" = "backward"): Tensor {
  return one(65546, args().t(x).ns(s).ns(dim).s(norm));
}

/** `fft2` back. */
export function ifft2(x: Tensor, s: Sizes = [], dim: Sizes = [-2, -1], norm: "backward" | "ortho" | "forward" = "backward"): Tensor {
  return one(65547, args().t(x).ns(s).ns(dim).s(norm));
}

/** `rfftn` along two dimensions, usually −2 and −1. */
export function rfft2(x: Tensor, s: Sizes = [], dim: Sizes = [-2, -1], norm: "backward" | "ortho" | "forward" = "backward"): Tensor {
  return one(65548, args().t(x).ns(s).ns(dim).s(norm));
}

/** `rfft2` back; an odd length of the second dimension must be given in `s`. */
export function irfft2(x: Tensor, s: Sizes = [], dim: Sizes = [-2, -1], norm: "backward" | "ortho" | "forward" = "backward"): Tensor {
  return one(65549, args().t(x).ns(s).ns(dim).s(norm));
}

/** The frequencies of the numbers that `fft` gives for n samples, d apart: 0, 1, …, (n − 1)/2, −(n/2), …, −1, each divided by n d. */
export function fftfreq(n: number, d: number = 1, dtype?: DType): Tensor {
  return one(65550, args().n(n).n(d).mty(dtype));
}

/** The frequencies of the numbers that `rfft` gives for n samples, d apart: 0, 1, …, n/2, each divided by n d. */
export function rfftfreq(n: number, d: number = 1, dtype?: DType): Tensor {
  return one(65551, args().n(n).n(d).mty(dtype));
}

/** Frequency 0 in the middle: what `fft` gives, with the negative frequencies first, along `dims`. The dimension of pairs is one like others here: name those to be shifted. */
export function fftshift(x: Tensor, dims?: Dims): Tensor {
  return one(65552, args().t(x).d(dims));
}

/** `fftshift` back. */
export function ifftshift(x: Tensor, dims?: Dims): Tensor {
  return one(65553, args().t(x).d(dims));
}

/** The spectra of pieces of n_fft samples of a signal, as PyTorch's `torch.stft`: (…, T) → (…, n_fft/2 + 1, frames, 2), complex numbers by frequency and time, where frames = 1 + T / hop_length (with `center`). */
export function stft(x: Tensor, nFft: number, hopLength?: number, window?: Tensor, center: boolean = true, padMode: string = "reflect", normalized: boolean = false, onesided: boolean = true): Tensor {
  return one(65554, args().t(x).n(nFft).mn(hopLength).mt(window).b(center).s(padMode).b(normalized).b(onesided));
}

/** The signal whose pieces have these spectra, `stft` back, as PyTorch's `torch.istft`: (…, n_fft/2 + 1, frames, 2) → (…, T). Where spectra fit no signal, it is the one that fits best. The squares of the windows must add up to something everywhere: where they do not, the result is not a number. */
export function istft(x: Tensor, nFft: number, hopLength?: number, window?: Tensor, center: boolean = true, normalized: boolean = false, onesided: boolean = true, length?: number): Tensor {
  return one(65555, args().t(x).n(nFft).mn(hopLength).mt(window).b(center).b(normalized).b(onesided).mn(length));
}

/** The Hann window: ½ − ½ cos(2πk/N), where N is n for a periodic window (for `stft`) and n − 1 for a symmetric one. */
export function hannWindow(n: number, periodic: boolean = true, dtype?: DType): Tensor {
  return one(65556, args().n(n).b(periodic).mty(dtype));
}

/** The Hamming window: 0.54 − 0.46 cos(2πk/N), with N as in `hannWindow`. */
export function hammingWindow(n: number, periodic: boolean = true, dtype?: DType): Tensor {
  return one(65557, args().n(n).b(periodic).mty(dtype));
}

/** The Blackman window: 0.42 − 0.5 cos(2πk/N) + 0.08 cos(4πk/N), with N as in `hannWindow`. */
export function blackmanWindow(n: number, periodic: boolean = true, dtype?: DType): Tensor {
  return one(65558, args().n(n).b(periodic).mty(dtype));
}

/** The Bartlett window, a triangle: 1 − |2k/N − 1|, with N as in `hannWindow`. */
export function bartlettWindow(n: number, periodic: boolean = true, dtype?: DType): Tensor {
  return one(65559, args().n(n).b(periodic).mty(dtype));
}

/** The Kaiser window: I₀(β √(1 − (2k/N − 1)²)) / I₀(β), with N as in `hannWindow`. PyTorch's β is 12; I₀ is the modified Bessel function. */
export function kaiserWindow(n: number, periodic: boolean = true, beta: number = 12, dtype?: DType): Tensor {
  return one(65560, args().n(n).b(periodic).n(beta).mty(dtype));
}

/** y\[n\] = Σₖ x\[k\] w\[n − k\] along the last dimension, by Fourier transforms: (…, N) and (…, K) → (…, N + K − 1) or part of it; the dimensions before are broadcast. (Layers call convolution what is correlation: there w is not reversed.) The work grows with N log N instead of N K. */
export function fftConvolve(x: Tensor, other: Tensor, mode: "full" | "same" | "valid" = "full"): Tensor {
  return one(65561, args().t(x).t(other).s(mode));
}

/** Complex numbers of their real and imaginary parts, which are broadcast to one shape: (…) and (…) → (…, 2). */
export function complex(x: Tensor, imag: Tensor): Tensor {
  return one(65562, args().t(x).t(imag));
}

/** The real parts of complex numbers: (…, 2) → (…). */
export function real(x: Tensor): Tensor {
  return one(65563, args().t(x));
}

/** The imaginary parts of complex numbers: (…, 2) → (…). */
export function imag(x: Tensor): Tensor {
  return one(65564, args().t(x));
}

/** Products of complex numbers, (a + bi)(c + di) = ac − bd + (ad + bc)i; what comes before the pairs is broadcast. */
export function complexMul(x: Tensor, other: Tensor): Tensor {
  return one(65565, args().t(x).t(other));
}

/** The absolute values |a + bi| = √(a² + b²) of complex numbers: (…, 2) → (…). The derivative is 0 at 0, as PyTorch's. */
export function complexAbs(x: Tensor): Tensor {
  return one(65566, args().t(x));
}

/** The angles of complex numbers in the plane, in [−π, π]: (…, 2) → (…). The derivative is 0 at 0. */
export function angle(x: Tensor): Tensor {
  return one(65567, args().t(x));
}

/** The conjugates a − bi of complex numbers. */
export function conj(x: Tensor): Tensor {
  return one(65568, args().t(x));
}

/** Complex numbers r (cos φ + i sin φ) of absolute values (self) and angles: (…) and (…) → (…, 2). */
export function polar(x: Tensor, angle: Tensor): Tensor {
  return one(65569, args().t(x).t(angle));
}
