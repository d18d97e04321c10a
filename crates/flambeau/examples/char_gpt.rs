//! A small GPT learns a short tale character by character, and then tells it: a model from the zoo, batches made on the
//! device, and text written with a key-value cache, so that a new character costs one step and not a whole context.
//!
//! `cargo run --release --example char_gpt -- [steps]`

use flambeau::data::{CharTokenizer, Tokenizer};
use flambeau::nn::models::{Gpt, GptConfig, SampleOptions};
use flambeau::nn::utils::clip_grad_norm;
use flambeau::optim::AdamW;
use flambeau::optim::scheduler::{LrScheduler, OneCycleLr, Scheduler};
use flambeau::prelude::*;

const TALE: &str = include_str!("char_gpt.txt");
const CONTEXT: usize = 64;
const BATCH: usize = 8;

fn main() -> Result<()> {
    flambeau::block_on(run())
}

async fn run() -> Result<()> {
    let steps: u64 = std::env::args().nth(1).map_or(150, |steps| steps.parse().expect("a number of steps"));
    let device = Device::best().await;
    let tokenizer = CharTokenizer::of_text(TALE);
    let tale = Tensor::new(tokenizer.encode(TALE)?, &device);
    println!(
        "On {}: {} characters, {} different ones",
        device.name(),
        tale.numel(),
        tokenizer.vocabulary_size()
    );

    flambeau::manual_seed(1);
    let config = GptConfig {
        vocabulary: tokenizer.vocabulary_size(),
        context: CONTEXT,
        layers: 2,
        heads: 4,
        width: 48,
        ..Default::default()
    };
    let gpt = Gpt::new(config, &device);
    println!("{} parameters", gpt.parameter_count());

    let mut optimizer = AdamW::new(gpt.parameters(), 1e-3);
    let mut schedule = LrScheduler::new(&mut optimizer, OneCycleLr::new(6e-3, steps));
    let chance = Generator::new(2);
    let (mut first, mut last) = (None, 0.0);
    for step in 0..steps {
        let (x, y) = random_excerpts(&tale, &chance);
        // Scores for the character after each, against the character that is there.
        let loss = gpt.forward(&x).flatten(0, 1).cross_entropy(&y.flatten(0, 1));
        loss.backward()?;
        clip_grad_norm(&gpt.parameters(), 1.0, 2.0)?;
        optimizer.step()?;
        optimizer.zero_grad();
        schedule.step(&mut optimizer);
        device.throttle().await?;
        if step % 50 == 0 || step + 1 == steps {
            last = loss.item().await?;
            first.get_or_insert(last);
            println!("step {step:>4}: loss {last:.3}");
        }
    }
    assert!(Some(last) <= first, "the loss rose from {first:?} to {last}");
    assert!(steps < 150 || last < 2.0, "the loss is still {last}");

    let prompt = "the girl ";
    let told = tell(&gpt, &tokenizer, prompt, &device).await?;
    println!("\n{told}");
    assert!(told.starts_with(prompt) && told.chars().count() == CONTEXT);
    Ok(())
}

/// Pieces (B, T) from anywhere in the tale, and the same pieces one character on.
fn random_excerpts(tale: &Tensor, chance: &Generator) -> (Tensor, Tensor) {
    let (device, last_start) = (tale.device(), tale.numel() - CONTEXT);
    let starts = Tensor::randint(0, last_start as i64, [BATCH, 1], chance, device);
    let places = starts + Tensor::arange(0, CONTEXT as i64, 1, device);
    (tale.i(&places), tale.i(places + 1))
}

/// Continues a prompt until the context is full.
async fn tell(gpt: &Gpt, tokenizer: &CharTokenizer, prompt: &str, device: &Device) -> Result<String> {
    let options = SampleOptions { temperature: 0.5, generator: Generator::new(3), ..Default::default() };
    let mut text = tokenizer.encode(prompt)?;
    let mut cache = gpt.cache(1);
    let mut token = Tensor::new([&text[..]], device);
    while text.len() < CONTEXT {
        // The prompt goes in as a whole, then each new token alone: the cache has what came before.
        token = gpt.next_token(&token, &mut cache, &options);
        text.push(token.item().await? as i32);
    }
    tokenizer.decode(&text)
}
