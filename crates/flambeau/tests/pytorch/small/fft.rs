//! `fft.cpp`: Fourier transforms against their definition.

use crate::common::{assert_close, values};
use crate::tools::{each, is, normal, ramp, same};
use flambeau::fft::FftNorm;
use flambeau::prelude::*;

/// The sum over n of x[n] e^(−2πi kn/N), number by number.
fn by_definition(x: &[[f64; 2]], sign: f64) -> Vec<f64> {
    let n = x.len();
    let one = |k: usize| {
        x.iter().enumerate().fold([0.0, 0.0], |[re, im], (j, [a, b])| {
            let angle = sign * 2.0 * std::f64::consts::PI * (j * k) as f64 / n as f64;
            let (s, c) = angle.sin_cos();
            [re + a * c - b * s, im + a * s + b * c]
        })
    };
    (0..n).flat_map(one).collect()
}

fn pairs(x: &Tensor) -> Vec<[f64; 2]> {
    values(x).chunks(2).map(|pair| [pair[0], pair[1]]).collect()
}

#[test]
fn fft_test() {
    each(|device| {
        let x = normal([12, 2], device);
        assert_close(
            &values(&x.fft(None, -1, FftNorm::Backward)),
            &by_definition(&pairs(&x), -1.0),
            1e-4,
            1e-4,
        );
    });
}

#[test]
fn fft_real() {
    each(|device| {
        let x = normal([9], device);
        let z = x.complex(&x.zeros_like());
        assert_close(
            &values(&z.fft(None, -1, FftNorm::Backward)),
            &by_definition(&pairs(&z), -1.0),
            1e-4,
            1e-4,
        );
    });
}

/// Longer inputs are cut, shorter ones filled with zeros.
#[test]
fn fft_pad() {
    each(|device| {
        let x = normal([8, 2], device);
        same(&x.fft(Some(5), -1, FftNorm::Backward), &x.i(..5).fft(None, -1, FftNorm::Backward));
        same(
            &x.fft(Some(11), -1, FftNorm::Backward),
            &x.pad(&[0, 0, 0, 3], 0.0).fft(None, -1, FftNorm::Backward),
        );
    });
}

#[test]
fn fft_norm() {
    each(|device| {
        let x = normal([8, 2], device);
        let plain = x.fft(None, -1, FftNorm::Backward);
        same(&x.fft(None, -1, FftNorm::Forward), &(&plain / 8.0));
        same(&x.fft(None, -1, FftNorm::Ortho), &(&plain / 8f64.sqrt()));
    });
}

#[test]
fn ifft() {
    each(|device| {
        let x = normal([10, 2], device);
        let wanted: Vec<f64> =
            by_definition(&pairs(&x), 1.0).into_iter().map(|number| number / 10.0).collect();
        assert_close(&values(&x.ifft(None, -1, FftNorm::Backward)), &wanted, 1e-5, 1e-4);
    });
}

#[test]
fn fft_ifft() {
    each(|device| {
        let x = normal([77, 2], device);
        let back = x.fft(None, -1, FftNorm::Backward).ifft(None, -1, FftNorm::Backward);
        assert_close(&values(&back), &values(&x), 1e-4, 1e-4);
    });
}

#[test]
fn rfft() {
    each(|device| {
        let x = normal([10], device);
        let whole = by_definition(&pairs(&x.complex(&x.zeros_like())), -1.0);
        let half = x.rfft(None, -1, FftNorm::Backward);
        assert_eq!(half.shape().dims(), [6, 2]);
        assert_close(&values(&half), &whole[..12], 1e-4, 1e-4);
    });
}

#[test]
fn rfft_irfft() {
    each(|device| {
        for n in [10, 9] {
            let x = normal([n], device);
            let back = x.rfft(None, -1, FftNorm::Backward).irfft(Some(n), -1, FftNorm::Backward);
            assert_close(&values(&back), &values(&x), 1e-4, 1e-4);
        }
    });
}

/// Half of the inverse transform: the conjugate of rfft, divided by the length.
#[test]
fn ihfft() {
    each(|device| {
        let x = ramp([8], device);
        let half = x.ihfft(None, -1, FftNorm::Backward);
        same(&half, &(x.rfft(None, -1, FftNorm::Backward).conj() / 8.0));
        is(&half.i(0), [2], &[3.5, 0.0]);
    });
}

#[test]
fn hfft_ihfft() {
    each(|device| {
        let x = normal([10], device);
        let back = x.ihfft(None, -1, FftNorm::Backward).hfft(Some(10), -1, FftNorm::Backward);
        assert_close(&values(&back), &values(&x), 1e-4, 1e-4);
    });
}
