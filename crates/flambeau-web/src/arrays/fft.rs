//! Fourier transforms, windows, and complex numbers.

use super::options;
use crate::handles::argument;
use flambeau::calls::{Call, Methods, methods};
use flambeau::fft::{ConvolveMode, FftNorm, IstftOptions, StftOptions};
use flambeau::{DType, Dims, PadMode, Result, Tensor};

pub(super) struct Fft;

/// The function with this number.
#[inline(never)]
pub(super) fn call(number: usize) -> Option<Call> {
    Fft::CALLS.get(number).copied()
}

/// Two of something, or none where the list is empty.
fn two<T: Copy>(op: &'static str, what: &str, list: &[T]) -> Result<Option<[T; 2]>> {
    match *list {
        [] => Ok(None),
        [first, second] => Ok(Some([first, second])),
        _ => Err(argument(op, format!("{what} must be two numbers, not {}", list.len()))),
    }
}

fn dims(op: &'static str, list: &[isize]) -> Result<[isize; 2]> {
    Ok(two(op, "dims", list)?.unwrap_or([-2, -1]))
}

/// Lengths, or none where the list is empty.
fn lengths(list: &[usize]) -> Option<&[usize]> {
    (!list.is_empty()).then_some(list)
}

fn pad_mode(word: &str) -> Result<PadMode> {
    match word {
        "reflect" => Ok(PadMode::Reflect),
        "replicate" => Ok(PadMode::Replicate),
        "circular" => Ok(PadMode::Circular),
        "constant" => Ok(PadMode::from(0.0)),
        other => Err(argument("stft", format!("{other} is none of reflect, replicate, circular, constant"))),
    }
}

methods! { Fft:
    fft(x: Tensor, n: Option<usize> = "?", dim: isize = "-1", norm: FftNorm = "\"backward\"") -> Tensor { x.try_fft(n, dim, norm) }
    ifft(x: Tensor, n: Option<usize> = "?", dim: isize = "-1", norm: FftNorm = "\"backward\"") -> Tensor { x.try_ifft(n, dim, norm) }
    rfft(x: Tensor, n: Option<usize> = "?", dim: isize = "-1", norm: FftNorm = "\"backward\"") -> Tensor { x.try_rfft(n, dim, norm) }
    irfft(x: Tensor, n: Option<usize> = "?", dim: isize = "-1", norm: FftNorm = "\"backward\"") -> Tensor { x.try_irfft(n, dim, norm) }
    hfft(x: Tensor, n: Option<usize> = "?", dim: isize = "-1", norm: FftNorm = "\"backward\"") -> Tensor { x.try_hfft(n, dim, norm) }
    ihfft(x: Tensor, n: Option<usize> = "?", dim: isize = "-1", norm: FftNorm = "\"backward\"") -> Tensor { x.try_ihfft(n, dim, norm) }
    fftn(x: Tensor, s: Vec<usize> = "[]", dims: Dims = "?", norm: FftNorm = "\"backward\"") -> Tensor { x.try_fftn(lengths(&s), dims, norm) }
    ifftn(x: Tensor, s: Vec<usize> = "[]", dims: Dims = "?", norm: FftNorm = "\"backward\"") -> Tensor { x.try_ifftn(lengths(&s), dims, norm) }
    rfftn(x: Tensor, s: Vec<usize> = "[]", dims: Dims = "?", norm: FftNorm = "\"backward\"") -> Tensor { x.try_rfftn(lengths(&s), dims, norm) }
    irfftn(x: Tensor, s: Vec<usize> = "[]", dims: Dims = "?", norm: FftNorm = "\"backward\"") -> Tensor { x.try_irfftn(lengths(&s), dims, norm) }
    fft2(x: Tensor, s: Vec<usize> = "[]", dim: Vec<isize> = "[-2, -1]", norm: FftNorm = "\"backward\"") -> Tensor {
        x.try_fft2(two("fft2", "s", &s)?, dims("fft2", &dim)?, norm)
    }
    ifft2(x: Tensor, s: Vec<usize> = "[]", dim: Vec<isize> = "[-2, -1]", norm: FftNorm = "\"backward\"") -> Tensor {
        x.try_ifft2(two("ifft2", "s", &s)?, dims("ifft2", &dim)?, norm)
    }
    rfft2(x: Tensor, s: Vec<usize> = "[]", dim: Vec<isize> = "[-2, -1]", norm: FftNorm = "\"backward\"") -> Tensor {
        x.try_rfft2(two("rfft2", "s", &s)?, dims("rfft2", &dim)?, norm)
    }
    irfft2(x: Tensor, s: Vec<usize> = "[]", dim: Vec<isize> = "[-2, -1]", norm: FftNorm = "\"backward\"") -> Tensor {
        x.try_irfft2(two("irfft2", "s", &s)?, dims("irfft2", &dim)?, norm)
    }
    fftfreq(n: usize, d: f64 = "1", dtype: Option<DType> = "?") -> Tensor { Tensor::try_fftfreq(n, d, options(dtype)?) }
    rfftfreq(n: usize, d: f64 = "1", dtype: Option<DType> = "?") -> Tensor { Tensor::try_rfftfreq(n, d, options(dtype)?) }
    fftshift(x: Tensor, dims: Dims = "?") -> Tensor { x.try_fftshift(dims) }
    ifftshift(x: Tensor, dims: Dims = "?") -> Tensor { x.try_ifftshift(dims) }
    stft(x: Tensor, n_fft: usize, hop_length: Option<usize> = "?", window: Option<Tensor> = "?", center: bool = "true", pad_mode: String = "\"reflect\"", normalized: bool = "false", onesided: bool = "true") -> Tensor {
        let pad_mode = self::pad_mode(&pad_mode)?;
        x.try_stft(n_fft, &StftOptions { hop_length, window, center, pad_mode, normalized, onesided })
    }
    istft(x: Tensor, n_fft: usize, hop_length: Option<usize> = "?", window: Option<Tensor> = "?", center: bool = "true", normalized: bool = "false", onesided: bool = "true", length: Option<usize> = "?") -> Tensor {
        x.try_istft(n_fft, &IstftOptions { hop_length, window, center, normalized, onesided, length })
    }
    hann_window(n: usize, periodic: bool = "true", dtype: Option<DType> = "?") -> Tensor { Tensor::try_hann_window(n, periodic, options(dtype)?) }
    hamming_window(n: usize, periodic: bool = "true", dtype: Option<DType> = "?") -> Tensor { Tensor::try_hamming_window(n, periodic, options(dtype)?) }
    blackman_window(n: usize, periodic: bool = "true", dtype: Option<DType> = "?") -> Tensor { Tensor::try_blackman_window(n, periodic, options(dtype)?) }
    bartlett_window(n: usize, periodic: bool = "true", dtype: Option<DType> = "?") -> Tensor { Tensor::try_bartlett_window(n, periodic, options(dtype)?) }
    kaiser_window(n: usize, periodic: bool = "true", beta: f64 = "12", dtype: Option<DType> = "?") -> Tensor {
        Tensor::try_kaiser_window(n, periodic, beta, options(dtype)?)
    }
    fft_convolve(x: Tensor, other: Tensor, mode: ConvolveMode = "\"full\"") -> Tensor { x.try_fft_convolve(&other, mode) }
    complex(x: Tensor, imag: Tensor) -> Tensor { x.try_complex(&imag) }
    real(x: Tensor) -> Tensor { x.try_real() }
    imag(x: Tensor) -> Tensor { x.try_imag() }
    complex_mul(x: Tensor, other: Tensor) -> Tensor { x.try_complex_mul(&other) }
    complex_abs(x: Tensor) -> Tensor { x.try_complex_abs() }
    angle(x: Tensor) -> Tensor { x.try_angle() }
    conj(x: Tensor) -> Tensor { x.try_conj() }
    polar(x: Tensor, angle: Tensor) -> Tensor { x.try_polar(&angle) }
}
