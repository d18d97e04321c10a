//! Fourier transforms, in GB/s as if the data were read and written once.

use super::ops::{Body, seconds};
use super::{Kind, time};
use crate::output::{Output, refused};
use flambeau::fft::{FftNorm, StftOptions};
use flambeau::prelude::*;
use serde_json::{Value, json};
use std::f64::consts::TAU;

/// The largest error, as a share of the root of the mean square.
const TOLERANCE: f64 = 1e-5;
/// Samples a second of the signal, and seconds of it.
const SAMPLES: usize = 16_000;
const MINUTE: usize = 60;
/// Samples of a piece of it.
const PIECE: usize = 512;
const NORM: FftNorm = FftNorm::Backward;

#[derive(clap::Args, Default)]
pub struct Options {
    /// Only the transforms whose names contain one of these.
    names: Vec<String>,
}

/// How a result is judged, against F64 on the CPU.
enum Check {
    /// Its last line, or all of it.
    LastLine,
    /// Some of its planes, each of which is made of all that was given.
    Planes,
}

/// A transform to be timed.
struct Case {
    name: &'static str,
    shape: Vec<usize>,
    /// Of what is transformed, and a window for those that have one.
    body: Body,
    check: Check,
}

fn cases(kind: Kind) -> Vec<Case> {
    let (length, lines, side, thousands, primes, length_of_signal) = match kind {
        Kind::Gpu => (1 << 20, 64, 512, 10_000, 64, MINUTE * SAMPLES),
        Kind::Cpu => (1 << 20, 4, 128, 1000, 4, MINUTE * SAMPLES),
        Kind::Software => (1 << 14, 2, 32, 10, 1, SAMPLES / 4),
    };
    let along: Body = |x| x[0].try_fft(None, -1, NORM);
    let case =
        |name, shape: &[usize], body| Case { name, shape: shape.to_vec(), body, check: Check::LastLine };
    vec![
        case("fft 2^20", &[lines, length, 2], along),
        case("rfft 2^20", &[lines, length], |x| x[0].try_rfft(None, -1, NORM)),
        Case {
            check: Check::Planes,
            ..case("fftn", &[side, side, side, 2], |x| x[0].try_fftn(None, .., NORM))
        },
        case("fft 1000", &[thousands, 1000, 2], along),
        // A prime.
        case("fft 100003", &[primes, 100_003, 2], along),
        case("stft", &[1, length_of_signal], |x| {
            x[0].try_stft(PIECE, &StftOptions { window: Some(x[1].clone()), ..Default::default() })
        }),
    ]
}

pub async fn run(device: &Device, options: &Options, output: Output) -> Result<Value> {
    let wanted = |case: &Case| {
        options.names.is_empty() || options.names.iter().any(|name| case.name.contains(name.as_str()))
    };
    let kind = Kind::of(device);
    let cases: Vec<Case> = cases(kind).into_iter().filter(wanted).collect();
    if cases.is_empty() {
        return Err(refused("bench fft", "there is no such transform"));
    }
    output.say(format!("Fourier transforms on {}", device.name()));
    output.say(format!("{:<12} {:>22} {:>11} {:>13} {:>9}", "transform", "input", "time", "rate", "error"));
    let mut results = Vec::new();
    for case in &cases {
        let x = Tensor::try_rand(&case.shape[..], &Generator::new(1), device)?.try_mul(2.0)?.try_sub(1.0)?;
        x.eval()?;
        let given = vec![x, Tensor::try_hann_window(PIECE, true, device)?];
        let error = check(case, &given).await?;
        let bytes = 4.0 * (given[0].numel() + (case.body)(&given)?.numel()) as f64;
        let seconds = seconds(case.body, &[given], device).await?;
        let rate = bytes / seconds;
        output.say(format!(
            "{:<12} {:>22} {:>11} {:>8.1} GB/s {error:>9.1e}",
            case.name,
            format!("{:?}", case.shape),
            time(seconds),
            rate / 1e9
        ));
        results.push(json!({
            "transform": case.name,
            "shape": case.shape,
            "microseconds": seconds * 1e6,
            "bytes_per_second": rate,
            "error": error,
        }));
    }
    Ok(Value::Array(results))
}

/// The largest error of a result against F64, as a share of the root of the mean square.
async fn check(case: &Case, given: &[Tensor]) -> Result<f64> {
    let (x, result) = (&given[0], (case.body)(given)?);
    result.eval()?;
    let (got, want) = match case.check {
        Check::LastLine => {
            let last = |x: &Tensor| x.try_narrow(0, x.shape()[0] - 1, 1);
            let line = last(x)?.to(&Device::cpu()).await?.try_to_dtype(DType::F64)?;
            let window = given[1].to(&Device::cpu()).await?.try_to_dtype(DType::F64)?;
            (last(&result)?.to_f64_vec().await?, (case.body)(&[line, window])?.to_f64_vec().await?)
        }
        Check::Planes => planes(x, &result).await?,
    };
    let square = want.iter().map(|value| value * value).sum::<f64>() / want.len() as f64;
    let differences = got.iter().zip(&want).map(|(got, want)| (got - want).abs());
    let worst = differences.fold(0.0, |worst: f64, next| if next <= worst { worst } else { next });
    let error = worst / square.sqrt();
    // A NaN is not within it.
    let within = got.len() == want.len() && error <= TOLERANCE;
    match within {
        true => Ok(error),
        false => Err(refused("bench fft", format!("{} is wrong by {error:e} of its mean", case.name))),
    }
}

/// Planes k of a transform along three dimensions, and what they must be: the sums of all planes n, turned by e^(−2πi nk/N),
/// transformed along the other two.
async fn planes(x: &Tensor, result: &Tensor) -> Result<(Vec<f64>, Vec<f64>)> {
    let side = x.shape()[0];
    let chosen = [0, 1, side / 2 + 3];
    let mut sums = vec![vec![0.0; x.numel() / side]; chosen.len()];
    for n in 0..side {
        let plane = x.try_narrow(0, n, 1)?.to_f64_vec().await?;
        for (sum, k) in sums.iter_mut().zip(chosen) {
            let (sin, cos) = (-TAU * (n * k % side) as f64 / side as f64).sin_cos();
            for (to, from) in sum.chunks_exact_mut(2).zip(plane.chunks_exact(2)) {
                to[0] += from[0] * cos - from[1] * sin;
                to[1] += from[0] * sin + from[1] * cos;
            }
        }
    }
    let (mut got, mut want) = (Vec::new(), Vec::new());
    for (sum, k) in sums.iter().zip(chosen) {
        let sum = Tensor::try_from_slice(sum, &x.shape().dims()[1..], &Device::cpu())?;
        want.extend(sum.try_fftn(None, .., NORM)?.to_f64_vec().await?);
        got.extend(result.try_narrow(0, k, 1)?.to_f64_vec().await?);
    }
    Ok((got, want))
}
