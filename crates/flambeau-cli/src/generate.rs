//! `flambeau generate`: continues a text, character by character.

use crate::model_file;
use crate::output::{Output, bad_file, refused};
use flambeau::data::{CharTokenizer, Tokenizer};
use flambeau::io::Matching;
use flambeau::nn::models::{Gpt, SampleOptions};
use flambeau::prelude::*;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// What can be chosen on the command line.
#[derive(clap::Args)]
pub struct Options {
    /// The model: a file that `train char-gpt` wrote.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The beginning of the text.
    #[arg(long, default_value = "\n")]
    prompt: String,
    /// Characters to add.
    #[arg(long, default_value_t = 500)]
    tokens: usize,
    /// How daring: 0 always takes the likeliest character, 1 draws them as the model learned.
    #[arg(long, default_value_t = 0.8)]
    temperature: f64,
    /// Draw from the so many likeliest characters only.
    #[arg(long, value_name = "K")]
    top_k: Option<usize>,
    /// Seed of the drawing.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub async fn run(options: &Options, device: &Device, output: Output) -> Result<ExitCode> {
    if options.temperature.is_nan() || options.temperature < 0.0 {
        return Err(refused("--temperature", format!("{} is negative; take 0 or more", options.temperature)));
    }
    let (description, weights) = model_file::open(&options.model, None, device)?;
    let config = description.architecture.gpt_config().ok_or_else(|| {
        let message = format!(
            "the model is a {} and writes no text; train one with `flambeau train char-gpt`",
            description.model
        );
        bad_file(&options.model, message)
    })?;
    let gpt = Gpt::try_new(config, device)?;
    gpt.load_state_dict(&weights.state_dict(), Matching::Strict)?;
    gpt.eval();
    let tokenizer = CharTokenizer::with_vocabulary(description.vocabulary.iter().copied());
    let known = "the model knows only the characters of the text it learned from";
    let prompt = tokenizer
        .encode(&options.prompt)
        .map_err(|error| refused("--prompt", format!("{error}; {known}")))?;
    if prompt.is_empty() {
        return Err(refused("--prompt", "the prompt is empty; give at least one character"));
    }
    let sample = SampleOptions {
        temperature: options.temperature,
        top_k: options.top_k,
        generator: Generator::new(options.seed),
    };
    let start = Instant::now();
    show(output, &options.prompt);
    let (mut text, mut cache) = (prompt.clone(), gpt.cache(1));
    // What the cache has not seen yet.
    let mut pending = prompt.len().min(config.context);
    for _ in 0..options.tokens {
        if cache.len() + pending > config.context {
            // The context is full: half of it is kept, and read again.
            (cache, pending) = (gpt.cache(1), (config.context / 2).max(1));
        }
        let latest = &text[text.len() - pending..];
        let tokens = Tensor::try_from_slice(latest, [1, latest.len()], device)?;
        let token = gpt.try_next_token(&tokens, &mut cache, &sample)?.item().await? as i32;
        text.push(token);
        pending = 1;
        show(output, &tokenizer.decode(&[token])?);
    }
    let seconds = start.elapsed().as_secs_f64();
    output.say("");
    let result = json!({
        "model": options.model, "device": device.name(), "prompt": options.prompt, "text": tokenizer.decode(&text)?,
        "tokens": options.tokens, "seconds": seconds, "tokens_per_second": options.tokens as f64 / seconds.max(1e-9),
    });
    output.result(&result, &[]);
    Ok(ExitCode::SUCCESS)
}

/// Text for people as it comes; a machine gets it at the end.
fn show(output: Output, text: &str) {
    if !output.json {
        let mut stdout = std::io::stdout();
        _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    }
}
