//! Windows: what a piece of a signal is multiplied with before it is transformed.

use super::frequencies::of_host;
use crate::error::Result;
use crate::tensor::{Tensor, TensorOptions, twins};
use std::f64::consts::TAU;

/// A window of n numbers: `weight` of k and of the last number N. A periodic one is cut from one that is longer by one, so that it
/// fits to itself.
#[track_caller]
fn window(
    op: &'static str,
    n: usize,
    periodic: bool,
    options: TensorOptions,
    weight: impl Fn(f64, f64) -> f64,
) -> Result<Tensor> {
    let last = if periodic { n as f64 } else { n as f64 - 1.0 };
    let values: Vec<f64> = match n {
        1 => vec![1.0],
        _ => (0..n).map(|k| weight(k as f64, last)).collect(),
    };
    of_host(op, &values, &options)
}

/// The modified Bessel function of the first kind, of order 0: Σₖ ((x/2)ᵏ / k!)².
fn bessel_i0(x: f64) -> f64 {
    let square = x * x / 4.0;
    let (mut sum, mut term) = (1.0, 1.0);
    for k in 1.. {
        term *= square / f64::from(k * k);
        sum += term;
        if term < 1e-17 * sum {
            break;
        }
    }
    sum
}

impl Tensor {
    twins! {
        /// The Hann window: ½ − ½ cos(2πk/N), where N is n for a periodic window (for [`stft`](Tensor::stft)) and n − 1 for a
        /// symmetric one. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::hann_window(4, true, &Device::cpu()).to_string(), "tensor([0.0000, 0.5000, 1.0000, 0.5000])");
        /// ```
        hann_window / try_hann_window(n: usize, periodic: bool, options: impl Into<TensorOptions>) -> Tensor {
            window("hann_window", n, periodic, options.into(), |k, last| 0.5 - 0.5 * (TAU * k / last).cos())
        }

        /// The Hamming window: 0.54 − 0.46 cos(2πk/N), with N as in [`hann_window`](Tensor::hann_window).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::hamming_window(4, true, &Device::cpu()).to_string(), "tensor([0.0800, 0.5400, 1.0000, 0.5400])");
        /// ```
        hamming_window / try_hamming_window(n: usize, periodic: bool, options: impl Into<TensorOptions>) -> Tensor {
            window("hamming_window", n, periodic, options.into(), |k, last| 0.54 - 0.46 * (TAU * k / last).cos())
        }

        /// The Blackman window: 0.42 − 0.5 cos(2πk/N) + 0.08 cos(4πk/N), with N as in [`hann_window`](Tensor::hann_window).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let w = Tensor::blackman_window(5, false, &Device::cpu());
        /// assert_eq!(w.narrow(0, 1, 3).to_string(), "tensor([0.3400, 1.0000, 0.3400])");
        /// ```
        blackman_window / try_blackman_window(n: usize, periodic: bool, options: impl Into<TensorOptions>) -> Tensor {
            window("blackman_window", n, periodic, options.into(), |k, last| {
                0.42 - 0.5 * (TAU * k / last).cos() + 0.08 * (2.0 * TAU * k / last).cos()
            })
        }

        /// The Bartlett window, a triangle: 1 − |2k/N − 1|, with N as in [`hann_window`](Tensor::hann_window).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// assert_eq!(Tensor::bartlett_window(5, false, &Device::cpu()).to_string(), "tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])");
        /// ```
        bartlett_window / try_bartlett_window(n: usize, periodic: bool, options: impl Into<TensorOptions>) -> Tensor {
            window("bartlett_window", n, periodic, options.into(), |k, last| 1.0 - (2.0 * k / last - 1.0).abs())
        }

        /// The Kaiser window: I₀(β √(1 − (2k/N − 1)²)) / I₀(β), with N as in [`hann_window`](Tensor::hann_window). PyTorch's β is
        /// 12; I₀ is the modified Bessel function.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let w = Tensor::kaiser_window(5, false, 2.0, &Device::cpu());
        /// assert_eq!(w.to_string(), "tensor([0.4387, 0.8348, 1.0000, 0.8348, 0.4387])");
        /// ```
        kaiser_window / try_kaiser_window(n: usize, periodic: bool, beta: f64, options: impl Into<TensorOptions>) -> Tensor {
            window("kaiser_window", n, periodic, options.into(), |k, last| {
                let x = 2.0 * k / last - 1.0;
                bessel_i0(beta * (1.0 - x * x).max(0.0).sqrt()) / bessel_i0(beta)
            })
        }
    }
}
