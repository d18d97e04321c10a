//! `flambeau bench cold`: how long a new process waits for its first training steps. Whether the driver's cache and the
//! library's own are empty is for the caller to say, by where their folders lie.

use super::train::workload::{Scale, Training, Workload};
use super::{Counts, median, time};
use crate::output::{Output, refused};
use flambeau::TensorOptions;
use flambeau::prelude::*;
use serde_json::{Value, json};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Options {
    /// The models.
    #[arg(value_enum, default_values_t = [Workload::Mlp, Workload::Gpt10m, Workload::Unet, Workload::Resnet50])]
    models: Vec<Workload>,
    /// Steps after the first, of which the median is told: they show what the first would have taken without its start. (With
    /// --json all their losses are told: kernels for a hot plan's sizes take over among them.)
    #[arg(long, default_value_t = 20)]
    further: usize,
}

pub async fn run(device: &Device, options: &Options, output: Output) -> Result<Value> {
    output.say(format!("first steps on {}", device.name()));
    let mut results = Vec::new();
    for &workload in &options.models {
        results.push(measure(workload, options.further.max(1), device, output).await?);
    }
    Ok(Value::Array(results))
}

async fn measure(workload: Workload, further: usize, device: &Device, output: Output) -> Result<Value> {
    let batch = workload.default_batches()[0];
    let before = Counts::pipelines(device);
    let start = Instant::now();
    let mut training = Training::new(workload, batch, 1, Scale::Full, &TensorOptions::from(device))?;
    let built = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let first_loss = training.step()?.item().await?;
    let first = start.elapsed().as_secs_f64();
    let created = Counts::pipelines(device).0 - before.0;
    let kept = Counts::pipelines(device).1 - before.1;
    let (mut seconds, mut losses) = (Vec::new(), vec![first_loss]);
    for _ in 0..further {
        let start = Instant::now();
        losses.push(training.step()?.item().await?);
        seconds.push(start.elapsed().as_secs_f64());
    }
    let worst = seconds.iter().copied().fold(0.0, f64::max);
    let name = workload.name();
    if losses.iter().any(|loss| !loss.is_finite()) || losses[further] >= first_loss {
        return Err(refused("bench cold", format!("{name}: the losses {losses:?} do not fall")));
    }
    let step = median(seconds);
    output.say(format!(
        "{name}, batch {batch}: first step {} after {} for the model; then {} a step, {} at worst; {created} pipelines, \
         {kept} of them kept from before",
        time(first),
        time(built),
        time(step),
        time(worst),
    ));
    Ok(json!({
        "model": name,
        "batch": batch,
        "model_ms": built * 1e3,
        "first_step_ms": first * 1e3,
        "step_ms": step * 1e3,
        "worst_further_step_ms": worst * 1e3,
        "pipelines": created,
        "pipelines_kept": kept,
        "first_loss": first_loss,
        "losses": losses,
    }))
}
