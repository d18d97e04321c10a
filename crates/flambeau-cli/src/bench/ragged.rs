//! `flambeau bench ragged`: training steps whose sizes change every time, as those of text do.

use super::trace::{Timelines, most_expensive};
use super::{Counts, median, time};
use crate::output::{Output, refused};
use flambeau::manual_seed;
use flambeau::nn::models::{Gpt, GptConfig};
use flambeau::optim::Adam;
use flambeau::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;

/// Lengths from which on everything should be known.
const KNOWN: usize = 20;
const SEED: u64 = 20;
const MODEL: GptConfig = GptConfig {
    vocabulary: 65,
    context: 512,
    layers: 4,
    heads: 4,
    width: 128,
    dropout: 0.0,
    bias: true,
    tied: false,
};

#[derive(clap::Args)]
pub struct Options {
    /// Different lengths, of which each is trained with once.
    #[arg(long, default_value_t = 60)]
    lengths: usize,
    /// Sequences of a batch.
    #[arg(long, default_value_t = 16)]
    batch: usize,
    /// Writes a timeline of the kernels of one more step, with one more length, in Chrome's trace format (GPUs only).
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options { lengths: 60, batch: 16, trace: None }
    }
}

/// The lengths, none of them twice: spread over 32 to 498 from the start, as those of shuffled texts are. (289 / 467 is the
/// golden ratio.)
fn lengths(count: usize) -> Vec<usize> {
    (0..count).map(|number| 32 + number * 289 % 467).collect()
}

pub async fn run(device: &Device, options: &Options, output: Output) -> Result<Value> {
    let &Options { lengths: count, batch, .. } = options;
    // There are 467, one of which a trace takes.
    let most = 467 - usize::from(options.trace.is_some());
    if !(KNOWN + 1..=most).contains(&count) || batch == 0 {
        return Err(refused(
            "bench ragged",
            "--lengths is 21 to 467 (466 with --trace), and --batch above 0",
        ));
    }
    output.say(format!("training steps with a new length each time on {}", device.name()));
    manual_seed(SEED);
    let model = Gpt::try_new(MODEL, device)?;
    let mut optimizer = Adam::new(model.parameters(), 1e-3);
    let generator = Generator::new(SEED);
    let (mut seconds, mut host, mut pipelines, mut losses) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (number, length) in lengths(count + usize::from(options.trace.is_some())).into_iter().enumerate() {
        if number == count {
            device.start_trace()?;
        }
        let x = Tensor::try_randint(0, MODEL.vocabulary as i64, [batch, length], &generator, device)?;
        let y = x.try_flatten(0, 1)?;
        eval(&[&x, &y])?;
        let before = Counts::pipelines(device).0;
        let start = Instant::now();
        let loss = model.try_forward(&x)?.try_flatten(0, 1)?.try_cross_entropy(&y)?;
        loss.backward()?;
        optimizer.step()?;
        optimizer.zero_grad();
        host.push(start.elapsed().as_secs_f64());
        losses.push(loss.item().await?);
        seconds.push(start.elapsed().as_secs_f64());
        pipelines.push(Counts::pipelines(device).0 - before);
    }
    let mut traced = Value::Null;
    if let Some(path) = &options.trace {
        let kernels = device.take_trace().await?;
        let mut timelines = Timelines::default();
        timelines.add("a step with a new length", &kernels);
        timelines.write(path)?;
        traced = most_expensive(&kernels, 1, output);
        for measured in [&mut seconds, &mut host, &mut losses] {
            measured.truncate(count);
        }
        pipelines.truncate(count);
    }
    // It learns to repeat what it sees: the task is the same for every length.
    let (early, late) = (losses[0], losses[count - 1]);
    if losses.iter().any(|loss| !loss.is_finite()) || late >= early {
        return Err(refused("bench ragged", format!("the losses {losses:?} do not fall")));
    }
    let after: u64 = pipelines[KNOWN..].iter().sum();
    let all: u64 = pipelines.iter().sum();
    let known = &seconds[KNOWN..];
    let worst = |seconds: &[f64]| seconds.iter().copied().fold(0.0, f64::max);
    output.say(format!(
        "{count} lengths, batch {batch}: median {}, worst {}; from length {} on {} and {} ({} of it until the calls return); \
         {all} pipelines, {after} of them after the first {KNOWN} lengths",
        time(median(seconds.clone())),
        time(worst(&seconds)),
        KNOWN + 1,
        time(median(known.to_vec())),
        time(worst(known)),
        time(median(host[KNOWN..].to_vec())),
    ));
    Ok(json!({
        "lengths": count,
        "batch": batch,
        "median_ms": median(seconds.clone()) * 1e3,
        "worst_ms": worst(&seconds) * 1e3,
        "median_ms_after_20": median(known.to_vec()) * 1e3,
        "worst_ms_after_20": worst(known) * 1e3,
        "host_median_ms_after_20": median(host[KNOWN..].to_vec()) * 1e3,
        "pipelines": all,
        "new_pipelines_after_20": after,
        "steps_ms": seconds.iter().map(|seconds| seconds * 1e3).collect::<Vec<f64>>(),
        "losses": losses,
        "trace": traced,
    }))
}
