//! Products of matrices, their error and their gradients.

use super::super::ops::{Body, Case, Given, Least, Sample, gradient, measured};
use super::super::{Kind, flop_rate, matmul, median_seconds, time};
use super::{Bench, Row, times};
use crate::output::refused;
use flambeau::prelude::*;
use std::hint::black_box;
use std::time::Instant;

const RUNS: usize = 5;
/// The size of the products whose gradients are measured.
const GRADIENT_SIDE: usize = 1024;
const SMALL_GRADIENT_SIDE: usize = 128;

/// A target for one size: the requirements, seconds, and how many times as fast as the CPU.
const SIZES: &[(&[u32], usize, f64, Option<f64>)] = &[
    (&[228], 100, 100e-6, None),
    (&[227], 500, 2e-3, None),
    (&[242], 512, 5e-3, Some(10.0)),
    (&[243], 1024, 20e-3, Some(20.0)),
    (&[244], 2048, 100e-3, Some(30.0)),
    (&[245], 4096, 800e-3, Some(30.0)),
];

pub async fn measure(bench: &mut Bench<'_>) -> Result<()> {
    let mut worst: Option<f64> = None;
    for &(numbers, size, limit, speedup) in SIZES {
        if bench.wants(numbers) || bench.wants(&[246]) {
            let (seconds, error) = matmul::measure(bench.device, size, DType::F32).await?;
            worst = Some(worst.unwrap_or(0.0).max(error));
            if bench.wants(numbers) {
                product(bench, numbers, size, limit, speedup, seconds).await?;
            }
        }
    }
    if let (true, Some(worst)) = (bench.wants(&[246]), worst) {
        bench.add(Row {
            numbers: &[246],
            what: "largest error of these products, against f64".into(),
            target: "below 1e-4".into(),
            measured: format!("{worst:.1e}"),
            value: Some(worst),
            met: Some(worst < 1e-4),
        });
    }
    if bench.wants(&[233]) {
        against_naive(bench).await?;
    }
    if bench.wants(&[247]) {
        halves(bench).await?;
    }
    if bench.wants(&[248, 137, 249]) {
        gradients(bench).await?;
    }
    Ok(())
}

async fn product(
    bench: &mut Bench<'_>,
    numbers: &'static [u32],
    size: usize,
    limit: f64,
    speedup: Option<f64>,
    seconds: f64,
) -> Result<()> {
    let options = (DType::F32, bench.device);
    let generator = Generator::new(1);
    let (a, b) = (
        Tensor::try_rand([size, size], &generator, options)?,
        Tensor::try_rand([size, size], &generator, options)?,
    );
    eval(&[&a, &b])?;
    let waited = median_seconds(bench.device, RUNS, async || {
        a.try_matmul(&b)?.try_narrow(0, 0, 1)?.try_narrow(1, 0, 1)?.item().await.map(drop)
    });
    let waited = waited.await?;
    bench.add(Row {
        numbers,
        what: format!("product of {size} × {size} matrices, one after the other"),
        target: format!("below {}", time(limit)),
        measured: format!("{} ({} with a wait)", time(seconds), time(waited)),
        value: Some(seconds),
        met: Some(seconds < limit),
    });
    let Some(target) = speedup.filter(|_| bench.kind == Kind::Gpu) else { return Ok(()) };
    let (on_cpu, _) = matmul::measure(&Device::cpu(), size, DType::F32).await?;
    bench.add(Row {
        numbers,
        what: "the same against this machine's CPU backend".into(),
        target: format!("{target:.0} times as fast"),
        measured: format!("{} ({} there)", times(on_cpu / seconds), time(on_cpu)),
        value: Some(on_cpu / seconds),
        met: Some(on_cpu / seconds >= target),
    });
    Ok(())
}

/// Three loops, one thread: what the founding documents compare with.
fn naive(a: &[f32], b: &[f32], size: usize) -> Vec<f32> {
    let mut result = vec![0.0; size * size];
    for row in 0..size {
        for column in 0..size {
            let mut sum = 0.0;
            for k in 0..size {
                sum += a[row * size + k] * b[k * size + column];
            }
            result[row * size + column] = sum;
        }
    }
    result
}

async fn against_naive(bench: &mut Bench<'_>) -> Result<()> {
    let size = if bench.kind == Kind::Gpu { 1000 } else { 500 };
    let generator = Generator::new(2);
    let [a, b] = [0, 1].map(|_| Tensor::try_rand([size, size], &generator, bench.device));
    let (a, b) = (a?, b?);
    let got = a.try_matmul(&b)?.to_vec::<f32>().await?;
    let (a, b) = (a.to_vec::<f32>().await?, b.to_vec::<f32>().await?);
    let start = Instant::now();
    let want = black_box(naive(black_box(&a), black_box(&b), size));
    let loops = start.elapsed().as_secs_f64();
    let error = got.iter().zip(&want).map(|(got, want)| (got - want).abs()).fold(0.0, f32::max);
    // Sums of a thousand numbers below 1.
    if error.is_nan() || error > 1e-2 {
        return Err(refused("bench founding", format!("three loops and the product differ by {error}")));
    }
    let (seconds, _) = matmul::measure(bench.device, size, DType::F32).await?;
    bench.add(Row {
        numbers: &[233],
        what: "product of matrices against three loops on one thread".into(),
        target: "100 times as fast".into(),
        measured: format!("{} ({size}²: {} against {})", times(loops / seconds), time(seconds), time(loops)),
        value: Some(loops / seconds),
        met: Some(loops / seconds >= 100.0),
    });
    Ok(())
}

/// Products of F16 beside those of F32.
async fn halves(bench: &mut Bench<'_>) -> Result<()> {
    let size = if bench.kind == Kind::Gpu { 4096 } else { 256 };
    let what = "product in F16 against F32".to_string();
    let target = "twice as fast".to_string();
    if bench.kind == Kind::Cpu || Tensor::zeros([1], bench.device).try_to_dtype(DType::F16).is_err() {
        let measured = "no F16 of its own here".into();
        bench.add(Row { numbers: &[247], what, target, measured, value: None, met: None });
        return Ok(());
    }
    let (single, _) = matmul::measure(bench.device, size, DType::F32).await?;
    let (half, error) = matmul::measure(bench.device, size, DType::F16).await?;
    bench.add(Row {
        numbers: &[247],
        what,
        target,
        measured: format!("{} ({size}²: {}, error {error:.1e})", times(single / half), time(half)),
        value: Some(single / half),
        met: Some(single / half >= 2.0),
    });
    Ok(())
}

fn side(kind: Kind) -> usize {
    if kind == Kind::Software { SMALL_GRADIENT_SIDE } else { GRADIENT_SIDE }
}

async fn gradients(bench: &mut Bench<'_>) -> Result<()> {
    let side = side(bench.kind);
    let flops = 2.0 * (side as f64).powi(3);
    let square = || Given::Floats(vec![side, side]);
    let of = |name, sample, body: Body| Case {
        name,
        inputs: vec![square(), square(), square()],
        least: Least::Flops(flops),
        sample,
        body,
    };
    // The first two inputs are those of which a row, or a column, of the gradient needs one alone.
    let first: Body = |x| gradient(&x[0], &x[1], |a| a.try_matmul(&x[2]));
    let second: Body = |x| gradient(&x[0], &x[1], |b| x[2].try_matmul(b));
    for (name, case) in [
        ("gradient of a product's first matrix, dC Bᵀ", of("dC Bᵀ", Sample::Rows(2), first)),
        ("gradient of a product's second matrix, Aᵀ dC", of("Aᵀ dC", Sample::Columns(2), second)),
    ] {
        let seconds = measured(&case, bench.device).await?;
        let rate = flops / seconds;
        bench.add(Row {
            numbers: &[248, 137],
            what: name.into(),
            target: "above 100 GFLOP/s".into(),
            measured: format!("{} ({side}²)", flop_rate(rate)),
            value: Some(rate),
            met: Some(rate > 100e9),
        });
        if bench.kind == Kind::Gpu {
            let on_cpu = measured(&case, &Device::cpu()).await?;
            bench.add(Row {
                numbers: &[249],
                what: "the same against this machine's CPU backend".into(),
                target: "10 times as fast".into(),
                measured: format!("{} ({} there)", times(on_cpu / seconds), time(on_cpu)),
                value: Some(on_cpu / seconds),
                met: Some(on_cpu / seconds >= 10.0),
            });
        }
    }
    Ok(())
}
