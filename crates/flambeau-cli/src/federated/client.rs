//! `flambeau federated client`: this machine as a client of a Flower server.

use super::learner::{Learner, Recipe};
use super::share::Share;
use crate::device;
use crate::output::{Output, bad_file, duration, percent, refused};
use crate::task::{HostData, Task};
use flambeau::prelude::*;
use flambeau_flower::privacy::{Noise, Privacy};
use flambeau_flower::{Fleet, FlowerError, Heartbeat, Http, Limits, NodeKey, ServeOptions, serve};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What can be chosen on the command line.
#[derive(clap::Args)]
pub struct Options {
    /// The server's address, such as http://127.0.0.1:8000.
    #[arg(long, value_name = "URL")]
    server: String,
    /// What to learn: mnist, fashion or cifar10.
    #[arg(long, default_value = "mnist")]
    task: String,
    /// The model: cnn or mlp; resnet18 for cifar10 and fashion. The server's parameters must be of such a model.
    #[arg(long)]
    model: Option<String>,
    /// The folder with the data.
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Take the K-th of N shares of the data, from 0: for experiments in which one data set is divided.
    #[arg(long, value_name = "K/N")]
    partition: Option<String>,
    /// Shares with few classes each: two shards of the data in the order of its labels.
    #[arg(long)]
    non_iid: bool,
    /// Train with so many pictures at most.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    first: Option<u64>,
    /// Passes over the data in a round, unless the server says `local-epochs`.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    epochs: u64,
    /// Pictures a step, unless the server says `batch-size`.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,
    /// The learning rate of gradient descent, unless the server says `lr`.
    #[arg(long, default_value_t = 0.1)]
    lr: f64,
    /// The momentum of gradient descent.
    #[arg(long, default_value_t = 0.0)]
    momentum: f64,
    /// Seed of the order of the pictures.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Take the pictures in their order, the same in every round.
    #[arg(long)]
    in_order: bool,
    /// Shorten updates to this length before they are sent.
    #[arg(long, value_name = "LENGTH")]
    clip: Option<f64>,
    /// Add normal noise to every number that is sent, with a standard deviation of so many times --clip.
    #[arg(long, value_name = "MULTIPLIER", requires = "clip")]
    noise: Option<f64>,
    /// The δ for which the ε spent is told.
    #[arg(long, value_name = "DELTA", default_value_t = 1e-5)]
    delta: f64,
    /// The private key (PEM, P-384) by which the server knows this client; without, the client makes a new one known.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Stay for further runs when a run is over.
    #[arg(long)]
    stay: bool,
    /// Seconds between two questions whether there is something to do.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    poll: f64,
    /// Seconds for which a server that is away is asked again before the client gives up.
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0)]
    patience: f64,
}

/// Takes part until the run is over.
pub async fn run(options: &Options, choice: Option<&str>, output: Output) -> Result<ExitCode> {
    let task = Task::named(&options.task)?;
    let preset = task.preset(options.model.as_deref())?;
    let HostData::Images { sets, .. } = HostData::open(task, options.data.as_deref())? else {
        return Err(refused(
            "--task",
            format!("{} has no pictures; take mnist, fashion or cifar10", task.name),
        ));
    };
    let share = Share::read(options.partition.as_deref(), options.non_iid)?;
    let recipe = recipe(options)?;
    let time = |option, seconds| {
        Duration::try_from_secs_f64(seconds).map_err(|error| refused(option, format!("{seconds}: {error}")))
    };
    let (poll, patience) = (time("--poll", options.poll)?, time("--patience", options.patience)?);
    let key = match &options.key {
        None => NodeKey::generate().map_err(told)?,
        Some(path) => {
            let pem = std::fs::read_to_string(path).map_err(|error| bad_file(path, error))?;
            NodeKey::from_pem(&pem).map_err(|error| bad_file(path, error))?
        }
    };
    let limits = Limits { patience, ..Limits::default() };
    let fleet = Fleet::new(Http::default(), &options.server, key, limits).map_err(told)?;
    let device = device::choose(choice).await?;
    device::mention_cpu(&device, choice, output);
    flambeau::manual_seed(options.seed);
    let model = (preset.architecture)(0).build(&device)?;
    let mut learner = Learner::new(model, &sets, share, options.first, recipe, output, &device)?;
    if let Some(clip) = options.clip {
        let privacy = Privacy::new(clip, options.noise.unwrap_or(0.0), options.delta).map_err(told)?;
        learner = learner.with_privacy(privacy, Noise::new().map_err(told)?);
    }
    output.say(format!(
        "{} with {} on {device}: {} pictures to train with, {} to test with",
        task.name,
        preset.name,
        learner.pictures(),
        learner.test_pictures()
    ));
    listen();
    let serve_options = ServeOptions { poll, stay: options.stay, register: options.key.is_none() };
    let online = |node| {
        output.say(format!("online at {} as client {node}; Ctrl-C leaves", options.server));
        Heartbeat::start(fleet.clone(), node)
    };
    let served = serve(&fleet, &mut learner, serve_options, online).await.map_err(told)?;
    let done = learner.done();
    let epsilon = learner.epsilon().map_err(told)?;
    let mut lines = vec![format!(
        "{} rounds, {} of training; {} messages answered",
        done.rounds,
        duration(done.seconds),
        served.answered
    )];
    if let Some(accuracy) = done.accuracy {
        lines.push(format!("the last model tested here is right for {}", percent(accuracy)));
    }
    if let Some(epsilon) = epsilon {
        lines.push(format!("privacy spent: ε {epsilon:.3} at δ {:e}", options.delta));
    }
    let result = json!({
        "node": served.node.to_string(), "runs": served.runs.iter().map(u64::to_string).collect::<Vec<_>>(),
        "answered": served.answered, "rounds": done.rounds, "pictures": learner.pictures(),
        "train_loss": done.loss, "test_accuracy": done.accuracy, "seconds_training": done.seconds,
        // Without noise ε is infinite, which JSON does not have.
        "epsilon": epsilon.filter(|epsilon| epsilon.is_finite()),
        "delta": epsilon.map(|_| options.delta),
    });
    output.result(&result, &lines);
    Ok(ExitCode::SUCCESS)
}

fn recipe(options: &Options) -> Result<Recipe> {
    if !(options.lr.is_finite() && options.lr > 0.0) {
        return Err(refused(
            "--lr",
            format!("{} is no learning rate; take one above 0, e.g. 0.1", options.lr),
        ));
    }
    if !(0.0..1.0).contains(&options.momentum) {
        let message = format!("{} is no momentum; take one from 0 to below 1", options.momentum);
        return Err(refused("--momentum", message));
    }
    Ok(Recipe {
        epochs: options.epochs,
        batch: options.batch as usize,
        rate: options.lr,
        momentum: options.momentum,
        seed: options.seed,
        shuffled: !options.in_order,
    })
}

/// An error of the client in the program's words.
fn told(error: FlowerError) -> Error {
    match error {
        FlowerError::Tensor(error) => error,
        other => refused("federated client", other.to_string()),
    }
}

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on the first Ctrl-C lets the client leave, and the second ends the program at once.
fn listen() {
    let listening = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        eprintln!("\nleaving (Ctrl-C again: at once)");
    });
    if let Err(error) = listening {
        eprintln!("Ctrl-C will end the client without a word to the server: {error}");
    }
}

/// Was Ctrl-C pressed?
pub fn is_asked_to_leave() -> bool {
    ASKED.load(Ordering::SeqCst)
}
