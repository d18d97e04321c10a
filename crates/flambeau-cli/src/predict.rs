//! `flambeau predict`: what pictures show, according to a model.

mod picture;

use crate::model_file;
use crate::output::{Output, bad_file, percent};
use crate::task::{Source, Task};
use flambeau::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Characters of a full bar.
const BAR: f64 = 30.0;
/// What is said of a picture without anything on it, for which a model has an answer too.
const BLANK: &str = "the picture is blank (all its pixels are alike): there is nothing to recognise";

/// What can be chosen on the command line.
#[derive(clap::Args)]
pub struct Options {
    /// The model: a file that `train` wrote, or PyTorch's weights of such a model.
    model: PathBuf,
    /// Pictures, PNG or JPEG, of up to 512 MiB of pixels. Digits may be dark on light.
    #[arg(required = true)]
    images: Vec<PathBuf>,
    /// What the model is for, if its file does not say.
    #[arg(long)]
    task: Option<String>,
}

pub async fn run(options: &Options, device: &Device, output: Output) -> Result<ExitCode> {
    let named = options.task.as_deref().map(Task::named).transpose()?;
    let (description, model) = model_file::open(&options.model, named, device)?;
    let Source::Images { picture: kind, .. } = Task::named(&description.task)?.source else {
        let message = format!(
            "the model is for {}, not for pictures; train one with `flambeau train mnist`",
            description.task
        );
        return Err(bad_file(&options.model, message));
    };
    let (mut pixels, mut blank, mut shape) = (Vec::new(), Vec::new(), [options.images.len(), 0, 0, 0]);
    for path in &options.images {
        let read = picture::read(path, kind)?;
        (shape[1], shape[2], shape[3]) = (read.channels, read.side, read.side);
        pixels.extend(read.pixels);
        blank.push(read.blank);
    }
    let x = Tensor::try_from_slice(&pixels, shape, device)?;
    let logits = no_grad(|| model.try_forward(&x))?;
    let read = flambeau::read_many(&[&logits, &logits.try_softmax(1)?]).await?;
    let classes = &description.classes;
    let (mut lines, mut results) = (Vec::new(), Vec::<Value>::new());
    let rows = |values: &[f64]| values.chunks(classes.len().max(1)).map(<[f64]>::to_vec).collect::<Vec<_>>();
    let pictures = options.images.iter().zip(blank);
    for (((path, blank), row), logits) in pictures.zip(rows(&read[1])).zip(rows(&read[0])) {
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
        let best = order[0];
        let warning = blank.then_some(BLANK);
        if let Some(warning) = warning {
            lines.push(format!("{}: {warning}", path.display()));
        } else {
            lines.push(format!("{}: {} ({})", path.display(), classes[best], percent(row[best])));
            for (class, probability) in classes.iter().zip(&row) {
                let bar = "█".repeat((probability * BAR).round() as usize);
                lines.push(format!("  {class:>12} {:>9} {bar}", percent(*probability)));
            }
        }
        let by_class: serde_json::Map<String, Value> =
            classes.iter().zip(&row).map(|(class, p)| (class.clone(), json!(p))).collect();
        results.push(json!({
            "file": path, "class": classes[best], "probability": row[best], "probabilities": by_class, "logits": logits,
            "warning": warning,
        }));
    }
    let result = json!({
        "model": options.model, "task": description.task, "device": device.name(), "predictions": results,
    });
    output.result(&result, &lines);
    Ok(ExitCode::SUCCESS)
}
