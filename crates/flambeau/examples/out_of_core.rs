//! A model of more than twice the memory that it may have: its parameters alone take more than twice the limit, and with the
//! optimizer's state three times as much. It learns within the limit, with the losses of the run without one.
//!
//! `cargo run --release --example out_of_core -- [megabytes] [steps]`; `FLAMBEAU_DEVICE=cpu` or `software` chooses the device.

use flambeau::data::{DataLoader, TensorDataset};
use flambeau::nn::{Linear, OutOfCore, Sequential};
use flambeau::optim::Adam;
use flambeau::prelude::*;
use flambeau::train::{Event, Flow, Outcome, Trainer};
use std::time::Instant;

const WIDTH: usize = 1024;
const BATCH: usize = 64;
const CLASSES: usize = 10;

/// x + relu(W x + b) / 8: however many follow each other, what comes out of them is not much larger than what goes in.
#[derive(Module)]
struct Block {
    fc: Linear,
}

impl Forward for Block {
    fn try_forward(&self, x: &Tensor) -> Result<Tensor> {
        x.try_add(&self.fc.try_forward(x)?.try_relu()?.try_div(8.0)?)
    }
}

/// As many blocks as make the parameters 2.2 times so many bytes.
fn network(limit: u64, device: &Device) -> Sequential {
    let blocks = (2.2 * limit as f64 / (4.0 * (WIDTH * WIDTH) as f64)).ceil() as usize;
    let body = |all: Sequential, _| all.with(Block { fc: Linear::new(WIDTH, WIDTH, device) });
    (0..blocks).fold(Sequential::new(), body).with(Linear::new(WIDTH, CLASSES, device))
}

fn batches(device: &Device) -> Result<DataLoader> {
    let x = Tensor::try_rand([2 * BATCH, WIDTH], &Generator::new(1), device)?;
    let y = Tensor::try_randint(0, CLASSES as i64, [2 * BATCH], &Generator::new(2), device)?;
    Ok(DataLoader::new(TensorDataset::new([x, y])?, device).with_batch_size(BATCH).with_shuffle(3))
}

fn outcome(model: &OutOfCore<Sequential>, (x, y): (Tensor, Tensor)) -> Result<Outcome> {
    Outcome::classify(&model.try_forward(&x)?, &y)
}

/// The losses, and seconds a step after the first.
async fn train(device: &Device, size: u64, limit: Option<u64>, steps: u64) -> Result<(Vec<f64>, f64)> {
    flambeau::manual_seed(4);
    let model = OutOfCore::new(network(size, &Device::cpu()), device);
    let parameters = model.parameter_count();
    println!(
        "{} stages; parameters of {:.1} MB, with Adam's state {:.1} MB",
        model.stages().len(),
        4e-6 * parameters as f64,
        12e-6 * parameters as f64
    );
    let optimizer = Adam::new(model.parameters(), 3e-4);
    let mut first = None;
    let mut seconds = 0.0;
    let trainer =
        Trainer::new(model, optimizer).with_epochs(u64::MAX / 1000).with_max_steps(steps).with_log_every(1);
    // Without a limit of its own the run may take what there is.
    let mut trainer = trainer.with_memory_limit(limit.unwrap_or(1 << 40));
    let times = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = times.clone();
    trainer = trainer.with_callback(move |event| {
        match event {
            Event::Fitted(fitting) => println!("{}\n{fitting}", fitting.estimate),
            Event::Logged(_) => told.lock().expect("nobody panics with it").push(Instant::now()),
            _ => {}
        }
        Flow::Continue
    });
    let mut batches = batches(device)?;
    device.reset_peak_memory();
    let summary = trainer.fit(&mut batches, None, outcome).await?;
    for time in times.lock().expect("nobody panics with it").iter() {
        let first = *first.get_or_insert(*time);
        seconds = (*time - first).as_secs_f64() / (steps - 1).max(1) as f64;
    }
    Ok((summary.losses.into_iter().map(|(_, loss)| loss).collect(), seconds))
}

fn main() -> Result<()> {
    flambeau::block_on(run())
}

async fn run() -> Result<()> {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<u64>().expect("a number"));
    let limit = numbers.next().unwrap_or(40) * 1_000_000;
    let steps = numbers.next().unwrap_or(20).max(2);
    let free = Device::within(None, 1 << 40).await?;
    println!("On {}, without a limit:", free.name());
    let (expected, seconds) = train(&free, limit, None, steps).await?;
    println!("{seconds:.3} s a step, at most {:.1} MB\n", free.memory().peak as f64 / 1e6);

    let device = Device::within(None, limit).await?;
    println!("Within {:.1} MB:", limit as f64 / 1e6);
    let (losses, seconds) = train(&device, limit, Some(limit), steps).await?;
    println!("{seconds:.3} s a step, at most {:.1} MB\n", device.memory().peak as f64 / 1e6);

    let off = losses.iter().zip(&expected).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max);
    println!(
        "loss {:.6} → {:.6}; without a limit {:.6}; off by {off:.1e} at most",
        losses[0],
        losses[losses.len() - 1],
        expected[expected.len() - 1]
    );
    assert!(device.memory().peak <= limit, "the device has refused every byte above the limit");
    assert!(off < 1e-3 && losses[losses.len() - 1] < losses[0]);
    Ok(())
}
