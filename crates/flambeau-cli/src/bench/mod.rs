//! `flambeau bench`: how fast this device is. Every result is checked before it is timed, and every measurement waits
//! for the device.

mod matmul;

use clap::{Args, Subcommand};
use flambeau::prelude::*;
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
}

pub async fn run(device: &Device, options: &Options, json: bool) -> Result<ExitCode> {
    match &options.what {
        What::Matmul(options) => matmul::run(device, options, json).await,
    }
}

/// The median of the seconds that `work` takes, after one run that is not counted. `work` must wait for the device.
async fn median_seconds<F: Future<Output = Result<()>>>(
    runs: usize,
    mut work: impl FnMut() -> F,
) -> Result<f64> {
    work().await?;
    let mut seconds = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = Instant::now();
        work().await?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[runs / 2])
}
