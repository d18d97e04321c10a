//! `flambeau bench ragged`: training steps whose sizes change every time, as those of text do; with `--model mlp`, steps
//! whose batch is of a new size, each beside another one of the same size.

use super::trace::{Timelines, most_expensive};
use super::{Counts, median, time};
use crate::output::{Output, refused};
use flambeau::nn::models::{Gpt, GptConfig, Mlp, MlpOptions};
use flambeau::optim::Adam;
use flambeau::prelude::*;
use flambeau::{TensorOptions, manual_seed};
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

/// What is trained.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Model {
    /// A small GPT: a new length each step.
    Gpt,
    /// 784 → 128 → 10: a new batch size each step.
    Mlp,
}

#[derive(clap::Args)]
pub struct Options {
    /// What is trained.
    #[arg(long, value_enum, default_value_t = Model::Gpt)]
    model: Model,
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
        Options { model: Model::Gpt, lengths: 60, batch: 16, trace: None }
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
    if options.model == Model::Mlp {
        if options.trace.is_some() {
            return Err(refused("bench ragged", "--trace goes with the GPT"));
        }
        return batches(device, count, output).await;
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

/// Steps of the MLP with batches of new sizes, 32 to 498: what the first step of each size takes, and what the next one does.
async fn batches(device: &Device, count: usize, output: Output) -> Result<Value> {
    output.say(format!("training steps with a new batch size each time on {}", device.name()));
    manual_seed(SEED);
    let model = Mlp::try_with_options(&[784, 128, 10], MlpOptions::default(), TensorOptions::from(device))?;
    let mut optimizer = Adam::new(model.parameters(), 1e-3);
    let generator = Generator::new(SEED);
    let (mut new, mut known, mut losses) = (Vec::new(), Vec::new(), Vec::new());
    for size in lengths(count) {
        let x = Tensor::try_rand([size, 784], &generator, device)?;
        let y = Tensor::try_randint(0, 10, [size], &generator, device)?;
        eval(&[&x, &y])?;
        for seconds in [&mut new, &mut known] {
            let start = Instant::now();
            let loss = model.try_forward(&x)?.try_cross_entropy(&y)?;
            loss.backward()?;
            optimizer.step()?;
            optimizer.zero_grad();
            losses.push(loss.item().await?);
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    if losses.iter().any(|loss| !loss.is_finite()) {
        return Err(refused("bench ragged", format!("the losses {losses:?} are no numbers")));
    }
    let (new, known) = (&new[KNOWN..], &known[KNOWN..]);
    // Sizes differ, and so do their steps: each is compared with the other one of its size.
    let ratios: Vec<f64> = new.iter().zip(known).map(|(new, known)| new / known).collect();
    let (of_new, of_known, ratio) = (median(new.to_vec()), median(known.to_vec()), median(ratios));
    output.say(format!(
        "{count} batch sizes, from the {}th on: median {} the first time, {} the second; {ratio:.2} times as long",
        KNOWN + 1,
        time(of_new),
        time(of_known),
    ));
    Ok(json!({
        "batch_sizes": count,
        "new_ms": of_new * 1e3,
        "known_ms": of_known * 1e3,
        "ratio": ratio,
        "new_steps_ms": new.iter().map(|seconds| seconds * 1e3).collect::<Vec<f64>>(),
        "known_steps_ms": known.iter().map(|seconds| seconds * 1e3).collect::<Vec<f64>>(),
    }))
}
