//! Products of square matrices.

use super::{Kind, median_seconds};
use crate::output::Output;
use flambeau::prelude::*;
use serde_json::{Value, json};

/// Multiplications and additions to time at once: enough to hide the wait for the device.
const WORK: f64 = 4e12;
const WORK_ON_CPU: f64 = 4e9;
const WORK_OF_SOFTWARE: f64 = 1e7;
const RUNS: usize = 7;
/// Rows of each product that are computed again in f64.
const CHECKED_ROWS: usize = 4;

const SIZES: [usize; 7] = [256, 512, 1000, 1023, 1024, 2048, 4096];

#[derive(clap::Args)]
pub struct Options {
    /// Sizes of the matrices.
    #[arg(long, value_delimiter = ',', default_values_t = SIZES)]
    sizes: Vec<usize>,
    /// What they are of.
    #[arg(long, value_enum, default_value_t)]
    dtype: Elements,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum Elements {
    #[default]
    F32,
    F16,
}

impl Default for Options {
    fn default() -> Self {
        Options { sizes: SIZES.to_vec(), dtype: Elements::F32 }
    }
}

pub async fn run(device: &Device, options: &Options, output: Output) -> Result<Value> {
    output.say(format!("matrix products on {}", device.name()));
    output.say(format!("{:>6} {:>12} {:>12} {:>12}", "size", "time", "TFLOP/s", "error"));
    let mut results = Vec::new();
    let dtype = match options.dtype {
        Elements::F32 => DType::F32,
        Elements::F16 => DType::F16,
    };
    for &size in &options.sizes {
        let (seconds, error) = measure(device, size, dtype).await?;
        let rate = 2.0 * (size as f64).powi(3) / seconds / 1e12;
        output.say(format!("{size:>6} {:>9.1} µs {rate:>12.3} {error:>12.1e}", seconds * 1e6));
        let microseconds = seconds * 1e6;
        results.push(json!({ "size": size, "microseconds": microseconds, "tflops": rate, "error": error }));
    }
    Ok(Value::Array(results))
}

/// Seconds of one product, and the largest error of some of its rows.
pub async fn measure(device: &Device, size: usize, dtype: DType) -> Result<(f64, f64)> {
    let generator = Generator::new(size as u64);
    // Variance 1/size: products of products stay in range.
    let random = || (Tensor::rand([size, size], &generator, device) * 2.0 - 1.0) * (3.0 / size as f64).sqrt();
    let (a, b) = (random().to_dtype(dtype), random().to_dtype(dtype));
    eval(&[&a, &b])?;
    let error = check(&a, &b, size).await?;
    let work = match Kind::of(device) {
        Kind::Gpu => WORK,
        Kind::Cpu => WORK_ON_CPU,
        Kind::Software => WORK_OF_SOFTWARE,
    };
    let products = ((work / (2.0 * (size as f64).powi(3))).ceil() as usize).clamp(1, 500);
    let chain = || async {
        // Each product needs the one before: none can be left out or shared.
        let result = (0..products).fold(a.clone(), |x, _| x.matmul(&b));
        result.narrow(0, 0, 1).narrow(1, 0, 1).item().await.map(|_| ())
    };
    let seconds = median_seconds(device, RUNS, chain).await?;
    Ok((seconds / products as f64, error))
}

/// The largest difference between rows of the device's product and the same in f64.
async fn check(a: &Tensor, b: &Tensor, size: usize) -> Result<f64> {
    let rows: Vec<usize> = (0..CHECKED_ROWS).map(|k| k * (size - 1) / (CHECKED_ROWS - 1)).collect();
    let (product, b) = (a.matmul(b), b.to_f64_vec().await?);
    let mut worst: f64 = 0.0;
    for row in rows {
        let got = product.narrow(0, row, 1).to_f64_vec().await?;
        let a = a.narrow(0, row, 1).to_f64_vec().await?;
        let mut want = vec![0.0; size];
        for (x, line) in a.iter().zip(b.chunks_exact(size)) {
            want.iter_mut().zip(line).for_each(|(want, y)| *want += x * y);
        }
        worst = got.iter().zip(&want).fold(worst, |worst, (got, want)| worst.max((got - want).abs()));
    }
    if worst > 1e-4 {
        return Err(Error::Gpu(format!("the product of {size} × {size} matrices is wrong by {worst:e}")));
    }
    Ok(worst)
}
