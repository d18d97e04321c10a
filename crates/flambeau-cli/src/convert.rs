//! `flambeau convert`: the same tensors in another kind of file.

use crate::output::{Output, bad_file};
use flambeau::io::{self, Format, Loaded};
use flambeau::prelude::*;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// What can be chosen on the command line.
#[derive(clap::Args)]
pub struct Options {
    /// The file to read: .safetensors, .pt, .pth, .bin, .ckpt, .npz or .npy.
    input: PathBuf,
    /// The file to write, in the format of its ending.
    output: PathBuf,
}

pub async fn run(options: &Options, output: Output) -> Result<ExitCode> {
    let Options { input, output: target } = options;
    // Before the work: an ending that nobody can write.
    let format = Format::of(target)?;
    // The CPU has every dtype, so that nothing is narrowed on the way.
    let Loaded { tensors, metadata, notes } = io::load(input, &Device::cpu())?;
    if format == Format::Safetensors {
        io::save_safetensors(target, &tensors, &metadata).await?;
    } else {
        io::save(target, &tensors).await?;
    }
    let bytes = std::fs::metadata(target).map_err(|error| bad_file(target, error))?.len();
    let numbers: usize = tensors.iter().map(|(_, tensor)| tensor.numel()).sum();
    let mut lines: Vec<String> = tensors
        .iter()
        .map(|(name, tensor)| format!("  {name}: {} {}", tensor.dtype(), tensor.shape()))
        .collect();
    lines.extend(notes.iter().map(|note| format!("  {note}")));
    let lost = !metadata.is_empty() && format != Format::Safetensors;
    if lost {
        lines.push("  the description of the model stays behind: this format has no place for it".into());
    }
    lines.push(format!(
        "{} tensors, {numbers} numbers: {} -> {} ({bytes} bytes)",
        tensors.len(),
        input.display(),
        target.display()
    ));
    let result = json!({
        "input": input, "output": target, "bytes": bytes, "numbers": numbers, "metadata_kept": !lost,
        "tensors": tensors.iter().map(|(name, tensor)| json!({
            "name": name, "dtype": tensor.dtype().to_string(), "shape": tensor.shape().dims(),
        })).collect::<Vec<_>>(),
        "conversions": notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    output.result(&result, &lines);
    Ok(ExitCode::SUCCESS)
}
