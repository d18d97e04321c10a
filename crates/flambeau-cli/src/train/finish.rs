//! The end of a run: the model, pictures, and a summary.

use super::{Ended, Run, members};
use crate::model_file::{self, Description};
use crate::output::{duration, percent};
use crate::picture::{confusion_svg, curves_svg, decision_map, map_svg};
use crate::task::{SIDE, Source, points};
use crate::{eval, output};
use flambeau::io::write_atomically;
use flambeau::prelude::*;
use flambeau::train::Summary;
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Pixels of a decision map's side.
const MAP: usize = 56;

/// Writes the files, and says how it went.
pub async fn finish(run: &Run<'_>, ended: &mut Ended) -> Result<()> {
    let mut files = Vec::new();
    let model = &*ended.model;
    model.eval();
    let path = run.out.join("model.safetensors");
    let tokenizer = run.data.tokenizer();
    let description = Description {
        task: run.task.name.to_owned(),
        model: run.preset.name.to_owned(),
        architecture: run.architecture.clone(),
        classes: run.task.class_names(),
        vocabulary: tokenizer.map(|tokenizer| tokenizer.vocabulary().to_vec()).unwrap_or_default(),
    };
    model_file::save(&path, model, &description).await?;
    files.push(path);
    files.push(run.out.join("log.jsonl"));
    write(&mut files, run.out.join("curves.svg"), &curves(&ended.summary))?;
    let classes = run.task.classes.len();
    // The group is done: this member tests with all items.
    ended.test.set_share(0, 1);
    if classes > 2 {
        let score = eval::score(model, &mut ended.test, classes, &ended.device).await?;
        if let Some(confusion) = score.confusion {
            let svg = confusion_svg(&confusion.counts, &run.task.class_names());
            write(&mut files, run.out.join("confusion.svg"), &svg)?;
        }
    }
    if matches!(run.task.source, Source::Spirals) {
        let map = map(model, &ended.device).await?;
        let data = points(run.options.seed, 0, &ended.device)?;
        let all =
            Tensor::arange(0, flambeau::data::Dataset::len(&data) as i64, 1, (DType::I32, &ended.device));
        let rows = data.rows(&all)?;
        let read = flambeau::read_many(&rows.iter().collect::<Vec<_>>()).await?;
        let points: Vec<[f64; 3]> =
            read[0].chunks(2).zip(&read[1]).map(|(at, &class)| [at[0], at[1], class]).collect();
        write(&mut files, run.out.join("map.svg"), &map_svg(&map, MAP, &points, SIDE))?;
        if !run.output.json && std::io::stdout().is_terminal() {
            run.output.say(decision_map(&map, MAP));
        }
    }
    tell(run, ended, &files);
    Ok(())
}

fn write(files: &mut Vec<PathBuf>, path: PathBuf, text: &str) -> Result<()> {
    write_atomically(&path, |file| file.write_all(text.as_bytes()))?;
    files.push(path);
    Ok(())
}

fn curves(summary: &Summary) -> String {
    let metric = |name: &str| -> Vec<(f64, f64)> {
        summary.history.iter().filter_map(|epoch| Some((epoch.step as f64, epoch.get(name)?))).collect()
    };
    let losses = summary.losses.iter().map(|&(step, loss)| (step as f64, loss)).collect();
    let line = |name: &str, points| (name.to_owned(), points);
    curves_svg(&[
        ("loss", vec![line("training", losses), line("test", metric("test_loss"))]),
        ("accuracy", vec![line("training", metric("accuracy")), line("test", metric("test_accuracy"))]),
    ])
}

/// The probability of the second class over the square [−SIDE, SIDE]², from the top left.
async fn map(model: &dyn Forward, device: &Device) -> Result<Vec<f64>> {
    let axis = Tensor::linspace(-SIDE, SIDE, MAP, device);
    let x = axis.try_reshape([1, MAP, 1])?.try_expand([MAP, MAP, 1])?;
    let y = axis.try_neg()?.try_reshape([MAP, 1, 1])?.try_expand([MAP, MAP, 1])?;
    let grid = Tensor::try_cat(&[&x, &y], 2)?.try_reshape([MAP * MAP, 2])?;
    let probabilities = no_grad(|| model.try_forward(&grid)?.try_softmax(1)?.try_select(1, 1))?;
    probabilities.to_f64_vec().await
}

fn tell(run: &Run, ended: &Ended, files: &[PathBuf]) {
    let Ended { device, summary, .. } = ended;
    let last = |name: &str| summary.last(name).unwrap_or(f64::NAN);
    let (accuracy, loss) = (last("test_accuracy"), last("test_loss"));
    let mut lines = vec![
        format!("test accuracy {}, test loss {loss:.4}", percent(accuracy)),
        format!(
            "{} steps in {}, {:.0} samples/s, {} waiting for data",
            summary.steps,
            duration(summary.seconds),
            summary.samples_per_second,
            duration(summary.seconds_waiting_for_data)
        ),
    ];
    if let Some(group) = &summary.group {
        lines.push(members::line(group, ended.group.0));
    }
    let peak = device.memory().peak;
    lines.push(format!("memory of the device: at most {}", output::megabytes(peak)));
    lines.push("wrote".into());
    lines.extend(files.iter().map(|file| format!("  {}", file.display())));
    lines.extend(next_step(run, &files[0]).map(|command| format!("try it: {command}")));
    let group = summary.group.as_ref().map(|group| members::report(ended.group.0, group, &ended.group.1));
    let result = json!({
        "task": run.task.name, "model": run.preset.name, "recipe": run.options.recipe, "device": device.name(),
        "seed": run.options.seed, "amp": run.options.amp, "precision": device.matmul_precision().to_string(), "batch": run.feeding().batch, "test_accuracy": accuracy, "test_loss": loss, "train_loss": last("loss"),
        "steps": summary.steps, "epochs": summary.history.len(), "parameters": ended.model.parameter_count(),
        "seconds": summary.seconds, "samples_per_second": summary.samples_per_second,
        "seconds_waiting_for_data": summary.seconds_waiting_for_data,
        "memory": { "peak": peak, "limit": device.memory_limit(), "fitting": ended.fitting }, "group": group, "resumed_from": ended.resumed_from, "damaged_checkpoints": ended.damaged, "files": files,
    });
    if run.output.json {
        lines.iter().for_each(|line| run.output.say(line));
    }
    run.output.result(&result, &lines);
}

/// What one would do with the model.
fn next_step(run: &Run, model: &Path) -> Option<String> {
    let (program, model) = (output::program(), model.display());
    match run.task.source {
        Source::Images { .. } => Some(format!("{program} predict {model} PICTURE.png")),
        Source::Text => Some(format!("{program} generate --model {model} --prompt \"The \"")),
        Source::Spirals => None,
    }
}
