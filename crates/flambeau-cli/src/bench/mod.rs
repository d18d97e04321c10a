//! `flambeau bench`: how fast this device is. Every result is checked before it is timed, every measurement waits for
//! the device, and what is counted is counted where the queue is called.

mod cold;
mod counts;
mod fft;
mod founding;
mod linalg;
mod matmul;
mod ops;
mod overhead;
mod ragged;
mod trace;
mod train;

use crate::output::Output;
use clap::{Args, Subcommand};
use counts::Counts;
use flambeau::prelude::*;
use serde_json::json;
use std::process::ExitCode;
use std::time::Instant;

/// What can be measured.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Products of square matrices, in TFLOP/s.
    Matmul(matmul::Options),
    /// Single ops, in GB/s or TFLOP/s, and as a share of what the device can do.
    Ops(ops::Options),
    /// Fourier transforms, in GB/s.
    Fft(fft::Options),
    /// Decompositions of matrices, one large and many small ones.
    Linalg(linalg::Options),
    /// Training steps of four models.
    Train(train::Options),
    /// The first training step of a process.
    Cold(cold::Options),
    /// Training steps with a new sequence length each time.
    Ragged(ragged::Options),
    /// Building, planning, submitting, reading.
    Overhead,
    /// The number targets of the project's founding documents, each beside what is measured.
    Founding(founding::Options),
    /// All of these but the targets, and the first steps, which ask for a process of their own.
    All,
}

pub async fn run(device: &Device, options: &Options, output: Output) -> Result<ExitCode> {
    let mut object = json!({
        "device": device.name(),
        "kind": Kind::of(device).name(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    let name = match &options.what {
        What::Matmul(_) => "matmul",
        What::Ops(_) => "ops",
        What::Fft(_) => "fft",
        What::Linalg(_) => "linalg",
        What::Train(_) => "train",
        What::Cold(_) => "cold",
        What::Ragged(_) => "ragged",
        What::Overhead => "overhead",
        What::Founding(_) => "founding",
        What::All => "all",
    };
    object["bench"] = json!(name);
    object["results"] = match &options.what {
        What::Matmul(options) => matmul::run(device, options, output).await?,
        What::Ops(options) => ops::run(device, options, output).await?,
        What::Fft(options) => fft::run(device, options, output).await?,
        What::Linalg(options) => linalg::run(device, options, output).await?,
        What::Train(options) => train::run(device, options, output).await?,
        What::Cold(options) => cold::run(device, options, output).await?,
        What::Ragged(options) => ragged::run(device, options, output).await?,
        What::Overhead => overhead::run(device, output).await?,
        What::Founding(options) => founding::run(device, options, output).await?,
        What::All => json!({
            "overhead": overhead::run(device, output).await?,
            "matmul": matmul::run(device, &matmul::Options::default(), output).await?,
            "ops": ops::run(device, &ops::Options::default(), output).await?,
            "fft": fft::run(device, &fft::Options::default(), output).await?,
            "linalg": linalg::run(device, &linalg::Options::default(), output).await?,
            "train": train::run(device, &train::Options::default(), output).await?,
            "ragged": ragged::run(device, &ragged::Options::default(), output).await?,
        }),
    };
    output.result(&object, &[]);
    Ok(ExitCode::SUCCESS)
}

/// What a device is made of, which decides how much work it is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gpu,
    /// A CPU that plays a GPU.
    Software,
    Cpu,
}

impl Kind {
    fn of(device: &Device) -> Kind {
        match device.adapter() {
            None => Kind::Cpu,
            Some(adapter) if adapter.software => Kind::Software,
            Some(_) => Kind::Gpu,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Gpu => "gpu",
            Kind::Software => "software",
            Kind::Cpu => "cpu",
        }
    }
}

/// The middle one, or the upper of the two middle ones. There must be one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs after which a plan on a GPU is hot, and kernels for its sizes are compiled: what is measured is their pace.
const WARM_UP: usize = 8;

/// The median of the seconds that `work` takes once it has warmed up. `work` must wait for the device.
async fn median_seconds<F: Future<Output = Result<()>>>(
    device: &Device,
    runs: usize,
    mut work: impl FnMut() -> F,
) -> Result<f64> {
    let warm_up = if Kind::of(device) == Kind::Gpu { WARM_UP } else { 1 };
    for _ in 0..warm_up {
        work().await?;
    }
    device.wait_for_compilation();
    let mut seconds = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = Instant::now();
        work().await?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    Ok(median(seconds))
}

/// Seconds as `12.3 µs`, `4.56 ms` or `7.89 s`.
fn time(seconds: f64) -> String {
    match seconds {
        ..1e-3 => format!("{:.1} µs", seconds * 1e6),
        ..1.0 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

/// Operations a second as GFLOP/s or TFLOP/s.
fn flop_rate(rate: f64) -> String {
    if rate < 1e12 { format!("{:.1} GFLOP/s", rate / 1e9) } else { format!("{:.2} TFLOP/s", rate / 1e12) }
}
