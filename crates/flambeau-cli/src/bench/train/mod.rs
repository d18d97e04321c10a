//! Training steps: built, planned, submitted one after the other, with one wait at the end.

mod check;
mod models;
pub mod workload;

use super::trace::{Timelines, most_expensive};
use super::{Counts, Kind, flop_rate, median, time};
use crate::output::{Output, megabytes, refused};
use flambeau::TensorOptions;
use flambeau::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;
use workload::{BATCHES, Scale, Training, Workload};

/// Most steps of a repetition: small models take some tenths of a second then, as long as the peers' programs run.
const MOST_STEPS: usize = 2000;
/// Seconds that a repetition may take, counted with a wait after each step.
const SECONDS: f64 = 1.0;
const FEWEST_STEPS: usize = 3;
/// The fewest on a GPU, so that the wait at the end does not count.
const FEWEST_STEPS_ON_GPU: usize = 100;
const REPETITIONS: usize = 5;
/// Steps after which the loss must be below the first.
const FEWEST_STEPS_TO_FALL: usize = 100;
const TRACED_STEPS: usize = 8;

#[derive(clap::Args)]
pub struct Options {
    /// The models; the first four when absent.
    #[arg(value_enum)]
    models: Vec<Workload>,
    /// Samples a step; those that the peers are measured with when absent.
    #[arg(long, value_delimiter = ',')]
    batch: Vec<usize>,
    /// Steps of a repetition.
    #[arg(long)]
    steps: Option<usize>,
    /// Repetitions, of which the median is taken.
    #[arg(long, default_value_t = REPETITIONS)]
    repetitions: usize,
    /// Mixed precision: f16 where autocast takes it, and a scaled loss.
    #[arg(long)]
    amp: bool,
    /// Writes a timeline of the kernels of some more steps, in Chrome's trace format (GPUs only).
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        let (models, batch, repetitions) = (Vec::new(), Vec::new(), REPETITIONS);
        Options { models, batch, steps: None, repetitions, amp: false, trace: None }
    }
}

pub async fn run(device: &Device, options: &Options, output: Output) -> Result<Value> {
    if options.steps == Some(0) || options.repetitions == 0 || options.batch.contains(&0) {
        return Err(refused("bench train", "--steps, --repetitions and --batch must be above 0"));
    }
    let mut timelines = Timelines::default();
    if options.trace.is_some() {
        // Fails before anything is measured where there are no timestamps.
        device.start_trace()?;
        device.take_trace().await?;
    }
    output.say(format!("training steps on {}", device.name()));
    let models = if options.models.is_empty() { &Workload::ALL[..] } else { &options.models };
    let mut results = Vec::new();
    for &workload in models {
        let batches = if options.batch.is_empty() { workload.default_batches() } else { &options.batch };
        for &batch in batches {
            results.push(measure(workload, batch, device, options, &mut timelines, output).await?);
        }
    }
    if let Some(path) = &options.trace {
        timelines.write(path)?;
        output.say(format!("timelines: {}", path.display()));
    }
    Ok(Value::Array(results))
}

/// Times one model at one batch.
async fn measure(
    workload: Workload,
    batch: usize,
    device: &Device,
    options: &Options,
    timelines: &mut Timelines,
    output: Output,
) -> Result<Value> {
    let checked = check::check(workload, batch, options.amp, device).await?;
    device.reset_peak_memory();
    let training = Training::new(workload, batch, BATCHES, Scale::Full, &TensorOptions::from(device))?;
    let mut training = training.with_amp(options.amp)?;
    let mut first_losses = Vec::new();
    let mut waited = 0.0;
    for _ in 0..BATCHES {
        let start = Instant::now();
        first_losses.push(training.step()?.item().await?);
        waited = start.elapsed().as_secs_f64();
    }
    let steps = options.steps.unwrap_or_else(|| steps(device, waited));
    // Whole turns of the batches: every repetition does the same work, and ends with the same batch.
    let steps = steps.next_multiple_of(BATCHES);
    if Kind::of(device) == Kind::Gpu {
        repeat(&mut training, steps, device).await?;
        // What is measured is the pace of an epoch, which kernels for these sizes soon have.
        device.wait_for_compilation();
    }
    let before = Counts::of(device);
    let mut repetitions = Vec::with_capacity(options.repetitions);
    for _ in 0..options.repetitions {
        repetitions.push(repeat(&mut training, steps, device).await?);
    }
    let spent = Counts::since(device, before, steps * options.repetitions);
    let first = first_losses[BATCHES - 1];
    let last = repetitions.last().map_or(first, |repetition| repetition.loss);
    // A few steps over changing batches may leave a loss where it was; `check` has seen it fall on one batch.
    let enough = steps * options.repetitions >= FEWEST_STEPS_TO_FALL;
    if !last.is_finite() || (enough && last >= first) {
        let message = format!("{}: the loss went from {first} to {last}", workload.name());
        return Err(refused("bench train", message));
    }
    let each = |seconds: fn(&Repetition) -> f64| -> Vec<f64> {
        repetitions.iter().map(|repetition| seconds(repetition) / steps as f64).collect()
    };
    let (step, host) =
        (median(each(|repetition| repetition.seconds)), median(each(|repetition| repetition.host)));
    let fastest = each(|repetition| repetition.seconds).into_iter().fold(f64::INFINITY, f64::min);
    // Peers on the CPU tell their process's peak alone.
    let peak = if device.is_cpu() { peak_of_process() } else { Some(device.memory().peak) };
    let rate = spent.flops_per_run() / step;

    let (name, optimizer) = (workload.name(), workload.optimizer_name());
    let precision = if options.amp { ", mixed precision" } else { "" };
    output.say(format!(
        "{name}, batch {batch}, {optimizer}{precision}: {} a step, {:.0} samples/s (median of {} × {steps} steps; fastest {})",
        time(step),
        batch as f64 / step,
        options.repetitions,
        time(fastest),
    ));
    output.say(format!("  {} of it until the step's calls return; {}", time(host), spent.line()));
    let whose = if device.is_cpu() { " of the process so far" } else { "" };
    let memory = peak.map_or_else(String::new, |peak| format!("; peak memory{whose} {}", megabytes(peak)));
    output.say(format!(
        "  {:.3} GFLOP and {:.1} MB moved a step: {}, {:.1} GB/s{memory}",
        spent.flops_per_run() / 1e9,
        spent.bytes_per_run() / 1e6,
        flop_rate(rate),
        spent.bytes_per_run() / step / 1e9,
    ));
    output.say(format!(
        "  checked at batch {}: first losses within {:.1e} of f64; loss {first:.3} to {last:.3}",
        checked.batch, checked.difference,
    ));
    let mut result = json!({
        "model": name,
        "batch": batch,
        "optimizer": optimizer,
        "amp": options.amp,
        "parameters": training.parameter_count(),
        "steps": steps,
        "repetitions": options.repetitions,
        "microseconds_per_step": step * 1e6,
        "fastest_microseconds_per_step": fastest * 1e6,
        "host_microseconds_per_step": host * 1e6,
        "samples_per_second": batch as f64 / step,
        "flops_per_second": rate,
        "peak_memory_bytes": peak,
        "checked_batch": checked.batch,
        "checked_losses": checked.losses,
        "checked_difference": checked.difference,
        "first_loss": first,
        "last_loss": last,
    });
    if let (Value::Object(result), Value::Object(counted)) = (&mut result, spent.json()) {
        result.extend(counted);
    }
    if options.trace.is_some() {
        device.start_trace()?;
        repeat(&mut training, TRACED_STEPS, device).await?;
        let kernels = device.take_trace().await?;
        timelines.add(&format!("{name} b{batch}"), &kernels);
        result["trace"] = most_expensive(&kernels, TRACED_STEPS, output);
    }
    Ok(result)
}

/// How many steps make a repetition, given what one takes with a wait after it.
fn steps(device: &Device, waited: f64) -> usize {
    let affordable = (SECONDS / waited) as usize;
    match Kind::of(device) {
        Kind::Gpu => affordable.clamp(FEWEST_STEPS_ON_GPU, MOST_STEPS),
        Kind::Software | Kind::Cpu => affordable.clamp(FEWEST_STEPS, MOST_STEPS),
    }
}

/// One repetition.
struct Repetition {
    /// From the first step to the last loss on the host.
    seconds: f64,
    /// Of these, spent in the calls that build, plan and submit.
    host: f64,
    /// The last step's loss.
    loss: f64,
}

/// Steps one after the other, as a training loop does them, and one wait at the end.
async fn repeat(training: &mut Training, steps: usize, device: &Device) -> Result<Repetition> {
    let start = Instant::now();
    let (mut host, mut last) = (0.0, None);
    for _ in 0..steps {
        let call = Instant::now();
        last = Some(training.step()?);
        host += call.elapsed().as_secs_f64();
        device.throttle().await?;
    }
    let loss = match last {
        Some(loss) => loss.item().await?,
        None => f64::NAN,
    };
    Ok(Repetition { seconds: start.elapsed().as_secs_f64(), host, loss })
}

/// The most memory that the process has had, where the system tells it.
pub(super) fn peak_of_process() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
