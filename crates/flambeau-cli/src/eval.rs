//! `flambeau eval`: how good a model is on a task's test data.

use crate::model_file;
use crate::output::{Output, percent, refused};
use crate::task::{Feeding, HostData, Task};
use flambeau::data::DataLoader;
use flambeau::nn::loss::CrossEntropyLoss;
use flambeau::prelude::*;
use flambeau::train::metrics::{Confusion, ConfusionMatrix, correct, perplexity};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// What can be chosen on the command line.
#[derive(clap::Args)]
pub struct Options {
    /// The model: a file that `train` wrote, or PyTorch's weights of such a model.
    model: PathBuf,
    /// The task whose test data is taken; the one it was trained for when absent.
    #[arg(long)]
    task: Option<String>,
    /// The folder of the data set, or the text file.
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
}

/// How a model did.
pub struct Score {
    pub loss: f64,
    pub accuracy: f64,
    pub items: u64,
    /// Where there are few classes.
    pub confusion: Option<Confusion>,
}

/// The model's scores (N, C) for a batch, and the classes (N): one for each item, or for each place in it.
pub fn scores(model: &dyn Forward, x: &Tensor, y: &Tensor) -> Result<(Tensor, Tensor)> {
    let logits = model.try_forward(x)?;
    match y.rank() {
        1 => Ok((logits, y.clone())),
        _ => Ok((logits.try_flatten(0, 1)?, y.try_flatten(0, -1)?)),
    }
}

/// Loss and accuracy over all batches, and which of the classes were taken for which, if there are classes.
pub async fn score(
    model: &dyn Forward,
    batches: &mut DataLoader,
    classes: usize,
    device: &Device,
) -> Result<Score> {
    model.eval();
    let (mut loss, mut right) = (Tensor::zeros([], device), Tensor::zeros([], device));
    let mut matrix = (classes > 0).then(|| ConfusionMatrix::new(classes, device));
    let mut items = 0;
    while let Some((x, y)) = batches.next().await? {
        let (logits, labels) = no_grad(|| scores(model, &x, &y))?;
        let count = labels.numel();
        let mean = no_grad(|| CrossEntropyLoss::default().try_forward(&logits, &labels))?;
        loss = loss.try_add(&mean.try_mul(count as f64)?)?;
        right = right.try_add(&correct(&logits, &labels)?)?;
        eval(&[&loss, &right])?;
        if let Some(matrix) = &mut matrix {
            matrix.add(&logits, &labels)?;
        }
        items += count as u64;
    }
    let read = flambeau::read_many(&[&loss, &right]).await?;
    let mean = |sum: &[f64]| sum[0] / items.max(1) as f64;
    let confusion = match &matrix {
        Some(matrix) => Some(matrix.read().await?),
        None => None,
    };
    Ok(Score { loss: mean(&read[0]), accuracy: mean(&read[1]), items, confusion })
}

pub async fn run(options: &Options, device: &Device, output: Output) -> Result<ExitCode> {
    let named = options.task.as_deref().map(Task::named).transpose()?;
    let (description, model) = model_file::open(&options.model, named, device)?;
    let task = match named {
        Some(task) => task,
        None => Task::named(&description.task)?,
    };
    let data = HostData::open(task, options.data.as_deref())?;
    if let Some(tokenizer) = data.tokenizer()
        && tokenizer.vocabulary() != description.vocabulary
    {
        let message =
            "the text has other characters than the one the model was trained on; take the same file";
        return Err(refused("eval", message));
    }
    let feeding = Feeding { batch: 1, workers: 0, seed: 0 };
    let (_, mut test) = data.loaders(&description.architecture, feeding, device)?;
    let start = Instant::now();
    let score = score(&*model, &mut test, description.classes.len(), device).await?;
    let seconds = start.elapsed().as_secs_f64();
    let mut lines = vec![format!(
        "{} on {}: accuracy {}, loss {:.4}, {} items in {seconds:.2} s",
        options.model.display(),
        task.name,
        percent(score.accuracy),
        score.loss,
        score.items
    )];
    match &score.confusion {
        Some(confusion) => lines.extend(description.classes.iter().enumerate().map(|(class, name)| {
            let (precision, recall) = (confusion.precision(class), confusion.recall(class));
            format!("  {name:>12}: precision {}, recall {}", percent(precision), percent(recall))
        })),
        None => lines.push(format!("  perplexity {:.2} a character", perplexity(score.loss))),
    }
    let result = json!({
        "task": task.name, "model": description.model, "file": options.model, "device": device.name(),
        "test_accuracy": score.accuracy, "test_loss": score.loss, "items": score.items, "seconds": seconds,
        "confusion": score.confusion.map(|confusion| confusion.counts),
    });
    output.result(&result, &lines);
    Ok(ExitCode::SUCCESS)
}
