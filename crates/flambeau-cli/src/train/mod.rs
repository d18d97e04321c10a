//! `flambeau train`: a task, a model, a run in a folder of its own.

mod finish;
mod interrupt;
mod members;
mod optimizer;
mod watch;

use crate::device;
use crate::eval;
use crate::model::Architecture;
use crate::output::{Output, advised, bad_file, refused};
use crate::task::{Feeding, HostData, Preset, Recipe, Task};
use flambeau::autograd::is_grad_enabled;
use flambeau::data::DataLoader;
use flambeau::io::Checkpoints;
use flambeau::nn::OutOfCore;
use flambeau::nn::loss::CrossEntropyLoss;
use flambeau::optim::scheduler::OneCycleLr;
use flambeau::optim::{GradScaler, LrScheduler};
use flambeau::prelude::*;
use flambeau::train::metrics::correct;
use flambeau::train::{Fitting, Outcome, SchedulePer, Stop, Summary, Trainer, recovering};
use flambeau::{Precision, set_float32_matmul_precision};
use members::Member;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use watch::Watch;

/// Checkpoints that are kept.
const KEPT: usize = 2;
/// The most steps between two reports.
const REPORT_EVERY: u64 = 20;

/// What can be chosen on the command line.
#[derive(clap::Args)]
pub struct Options {
    /// What to learn: mnist, fashion (or fashion-mnist), cifar10, spirals or char-gpt (on a text given by --data).
    #[arg(default_value = "mnist")]
    task: String,
    /// The model: cnn or mlp; resnet18 for cifar10 and fashion; gpt or gpt-tiny for char-gpt.
    #[arg(long)]
    model: Option<String>,
    /// Train a model by a recipe: optimizer, schedule, label smoothing and augmentation that reach a known accuracy. There is
    /// resnet18 for cifar10 and fashion.
    #[arg(long, conflicts_with_all = ["model", "optimizer"])]
    recipe: Option<String>,
    /// Passes over the training data.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    epochs: Option<u64>,
    /// Items a step, of all members of a group together.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    batch: Option<u64>,
    /// The highest learning rate; it rises to it and falls again (one cycle).
    #[arg(long, allow_negative_numbers = true)]
    lr: Option<f64>,
    /// adam, adamw, sgd (momentum 0.9), lion, nadam, radam, adamax, rmsprop, adagrad or adadelta.
    #[arg(long, default_value = "adam")]
    optimizer: String,
    /// Seed of weights, order and noise: the same seed gives the same run.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder for the model, checkpoints, log and pictures [default: runs/<task>-<model>].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Go on from the newest checkpoint in the folder, if there is one. Damaged ones are passed over and named; if all
    /// are, nothing is done.
    #[arg(long)]
    resume: bool,
    /// The folder of the data set, or the text file.
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// End the run after so many steps.
    #[arg(long, value_name = "STEPS", value_parser = clap::value_parser!(u64).range(1..))]
    max_steps: Option<u64>,
    /// Steps between checkpoints [default: an epoch, at least 100].
    #[arg(long, value_name = "STEPS", value_parser = clap::value_parser!(u64).range(1..))]
    checkpoint_every: Option<u64>,
    /// Train in mixed precision: products and convolutions in f16, parameters in f32, and a loss that is scaled. The device must
    /// have f16.
    #[arg(long)]
    amp: bool,
    /// How precise products of f32 are: highest (as f32 arithmetic) or high (operands rounded to 11 bits where matrix units
    /// multiply) [default: FLAMBEAU_PRECISION, else highest].
    #[arg(long, value_name = "PRECISION")]
    precision: Option<Precision>,
    /// The share of numbers that dropout drops: below 1, for models that have it (cnn, gpt).
    #[arg(long, value_name = "SHARE")]
    dropout: Option<f64>,
    /// Threads that make batches on the host; with 0 the data set lies in the device's memory.
    #[arg(long, default_value_t = 0)]
    workers: usize,
    /// The most memory that the device's buffers may take, as in 200MB or 1.5GiB. What a step needs is estimated before the run,
    /// and kept below it: batches in pieces, activations computed again, optimizer's state and parameters in host memory. The data
    /// stays in host memory.
    #[arg(long, value_name = "BYTES", value_parser = bytes, conflicts_with_all = ["group", "devices"])]
    memory_limit: Option<u64>,
    /// Let batch norm normalise each piece of a batch by itself where --memory-limit cuts batches.
    #[arg(long, requires = "memory_limit")]
    statistics_by_piece: bool,
    /// Train with others: mpi (with the processes that mpirun has started), or threads:N (N members in this process).
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// How a group keeps together: step (gradients are averaged every step), or diloco:STEPS (each by itself, meeting every so
    /// many steps; 100 if left out).
    #[arg(long, value_name = "HOW", default_value = "step")]
    sync: String,
    /// What is sent when members meet (--sync diloco): none (as it is), int8, or topk:SHARE (that share, the largest).
    #[arg(long, value_name = "HOW")]
    compress: Option<String>,
    /// A device for each member, as in gpu:0,gpu:1; without --group its members are threads.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    devices: Vec<String>,
    /// The longest a member of the group is waited for, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    group_timeout: u64,
    /// Destroy the GPU device after so many steps, to see the run recover.
    #[arg(long, hide = true, value_name = "STEP")]
    lose_device_at: Option<u64>,
}

/// A run that is set up but for its device.
struct Run<'a> {
    options: &'a Options,
    output: Output,
    task: &'static Task,
    preset: &'static Preset,
    recipe: Option<&'static Recipe>,
    optimizer: optimizer::Choice,
    data: HostData,
    architecture: Architecture,
    out: PathBuf,
}

/// A run that has ended.
struct Ended {
    device: Device,
    model: Arc<dyn Forward>,
    test: DataLoader,
    summary: Summary,
    resumed_from: Option<u64>,
    /// Checkpoints that were passed over.
    damaged: Vec<PathBuf>,
    /// The kind of group, and what each of its members says of its traffic.
    group: (&'static str, Vec<Value>),
    /// How it was kept within a limit of memory.
    fitting: Option<Fitting>,
}

/// Trains, writes the files, and says how it went.
pub async fn run(options: &Options, choice: Option<&str>, output: Output) -> Result<ExitCode> {
    if let Some(precision) = options.precision {
        set_float32_matmul_precision(precision);
    }
    members::run(options, choice, output).await
}

/// Trains alone or as a member of a group.
async fn run_member(
    options: &Options,
    choice: Option<&str>,
    output: Output,
    mut member: Option<Member>,
) -> Result<ExitCode> {
    let (rank, in_group) = (member.as_ref().map_or(0, Member::rank), member.is_some());
    let task = Task::named(&options.task)?;
    let recipe = options.recipe.as_deref().map(|name| task.recipe(name)).transpose()?;
    let preset = match recipe {
        Some(recipe) => &recipe.model,
        None => task.preset(options.model.as_deref())?,
    };
    let optimizer = match recipe {
        Some(recipe) => optimizer::Choice::of_recipe(recipe, options.lr)?,
        None => optimizer::Choice::named(&options.optimizer, options.lr, preset.rate)?,
    };
    let mut data = HostData::open(task, options.data.as_deref())?;
    if let Some(recipe) = recipe {
        data = data.augmented(recipe.augmentation);
    }
    let architecture = with_dropout((preset.architecture)(data.vocabulary_size()), options.dropout)?;
    let default_out = || PathBuf::from("runs").join(format!("{}-{}", task.name, preset.name));
    let out = options.out.clone().unwrap_or_else(default_out);
    if rank == 0 {
        prepare_folder(&out, options.resume)?;
    }
    if let Some(member) = &member {
        // Nobody writes there before it is ready.
        member.group.barrier().await?;
    }
    let run = Run { options, output, task, preset, recipe, optimizer, data, architecture, out };
    interrupt::listen();
    let open = async || device::choose_within(choice, options.memory_limit).await;
    let mut attempt = async |device: &Device, losses| {
        if losses == 0 {
            device::mention_cpu(device, choice, output);
        }
        run.attempt(device, losses, &mut member).await
    };
    let mut ended = match in_group {
        // The others have gone on without a member that loses its device: a group is resumed from its checkpoint.
        true => attempt(&open().await?, 0).await?,
        false => recovering(open, attempt).await?,
    };
    if ended.summary.stopped == Some(Stop::Asked) {
        return Ok(run.interrupted(&ended));
    }
    if rank == 0 {
        finish::finish(&run, &mut ended).await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A number of bytes as people write it: 200MB, 1.5 GiB, 65536.
fn bytes(text: &str) -> std::result::Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" | "k" => 1e3,
        "mb" | "m" => 1e6,
        "gb" | "g" => 1e9,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(format!("`{unit}` is no unit of bytes; take e.g. 200MB or 1.5GiB")),
    };
    match number.parse::<f64>() {
        Ok(number) if number > 0.0 => Ok((number * factor) as u64),
        _ => Err(format!("`{text}` is no number of bytes; take e.g. 200MB")),
    }
}

/// The model with the dropout asked for.
fn with_dropout(architecture: Architecture, dropout: Option<f64>) -> Result<Architecture> {
    match dropout {
        None => Ok(architecture),
        Some(share) if !(0.0..1.0).contains(&share) => {
            Err(refused("--dropout", format!("{share} is no share to drop; take one from 0 to below 1")))
        }
        Some(share) => {
            architecture.with_dropout(share).ok_or_else(|| refused("--dropout", "this model has no dropout"))
        }
    }
}

/// Makes the folder. A run that begins anew moves the checkpoints of the one before out of its way.
fn prepare_folder(out: &Path, resume: bool) -> Result<()> {
    let (checkpoints, previous) = (out.join("checkpoints"), out.join("checkpoints.previous"));
    std::fs::create_dir_all(out)
        .map_err(|error| bad_file(out, format!("{error}; choose a folder with --out")))?;
    if !resume && checkpoints.is_dir() {
        let wrong = |error| bad_file(&previous, format!("{error}; remove it, or choose a folder with --out"));
        if previous.is_dir() {
            std::fs::remove_dir_all(&previous).map_err(wrong)?;
        }
        std::fs::rename(&checkpoints, &previous).map_err(wrong)?;
    }
    Ok(())
}

/// Loss and accuracy of a batch; labels are smoothed in training alone.
fn outcome(logits: &Tensor, labels: &Tensor, label_smoothing: f64) -> Result<Outcome> {
    if label_smoothing == 0.0 || !is_grad_enabled() {
        return Outcome::classify(logits, labels);
    }
    let loss = CrossEntropyLoss { label_smoothing, ..Default::default() }.try_forward(logits, labels)?;
    let samples = labels.numel();
    Ok(Outcome::new(loss, samples).with_metric("accuracy", correct(logits, labels)?, samples as f64))
}

impl Run<'_> {
    fn feeding(&self) -> Feeding {
        let batch = self.options.batch.map_or(self.preset.batch, |batch| batch as usize);
        // Within a limit of memory the data is made on the host, as it would be by a thread.
        let least = usize::from(self.options.memory_limit.is_some());
        Feeding { batch, workers: self.options.workers.max(least), seed: self.options.seed }
    }

    /// Trains on one device, from the newest checkpoint if the run is to be resumed or a device was lost before.
    async fn attempt(&self, device: &Device, losses: usize, member: &mut Option<Member>) -> Result<Ended> {
        let (options, kind) = (self.options, members::kind(member));
        let rank = member.as_ref().map_or(0, Member::rank);
        flambeau::manual_seed(options.seed);
        let model: Arc<dyn Forward> = match options.memory_limit {
            None => self.architecture.build(device)?.into(),
            Some(_) => {
                Arc::new(OutOfCore::new(self.architecture.build_apart(&Device::cpu(), device)?, device))
            }
        };
        let parameters = model.parameter_count();
        let mut optimizer = self.optimizer.make(model.parameters())?;
        let (mut train, mut test) = self.data.loaders(&self.architecture, self.feeding(), device)?;
        let (per_epoch, epochs) = (train.len() as u64, options.epochs.unwrap_or(self.preset.epochs));
        let total = (epochs * per_epoch).min(options.max_steps.unwrap_or(u64::MAX));
        let epochs = total.div_ceil(per_epoch);
        let schedule = match self.recipe {
            Some(recipe) => recipe.schedule(self.optimizer.rate, total),
            None => OneCycleLr::new(self.optimizer.rate, total),
        };
        let scheduler = LrScheduler::new(&mut *optimizer, schedule);
        if losses == 0 {
            self.output.say(format!(
                "{} with {} ({parameters} parameters) on {device}: {}; {} items, {total} steps of {}{}{}",
                self.task.name,
                self.preset.name,
                device.name(),
                train.items_per_epoch(),
                self.feeding().batch,
                match (self.recipe, options.amp) {
                    (Some(_), true) => ", by the recipe, in mixed precision",
                    (Some(_), false) => ", by the recipe",
                    (None, true) => ", in mixed precision",
                    (None, false) => "",
                },
                member.as_ref().map(|member| format!("; {}", member.describe())).unwrap_or_default(),
            ));
        }
        let every = options.checkpoint_every.unwrap_or(per_epoch.max(100));
        let log = self.out.join("log.jsonl");
        let damaged: Arc<Mutex<Vec<PathBuf>>> = Arc::default();
        let mut watch = Watch::new(self.output, device, total, epochs, damaged.clone());
        let loses = options.lose_device_at.filter(|_| losses == 0).map(|step| (step, device.clone()));
        let mut trainer = Trainer::with_boxed(model, optimizer)
            .with_epochs(epochs)
            .with_max_steps(total)
            .with_log_every((total / 100).clamp(1, REPORT_EVERY))
            .with_scheduler(scheduler, SchedulePer::Step)
            .with_checkpoints(Checkpoints::new(self.out.join("checkpoints"), KEPT)?, every)
            .with_log_file(&log)
            .with_callback(move |event| {
                if let (Some((step, device)), flambeau::train::Event::Logged(progress)) = (&loses, event)
                    && progress.step >= *step
                {
                    device.destroy();
                }
                watch.observe(event)
            });
        if let Some(norm) = self.preset.clip {
            trainer = trainer.with_clip_grad_norm(norm);
        }
        if let Some(limit) = options.memory_limit {
            trainer = trainer.with_memory_limit(limit);
        }
        if options.statistics_by_piece {
            trainer = trainer.with_statistics_by_piece();
        }
        if options.amp {
            trainer = trainer.with_amp(GradScaler::try_with_options(Default::default(), device)?);
        }
        if let Some(member) = member.take() {
            trainer = member.join(trainer);
        }
        let resumed_from = match options.resume || losses > 0 {
            true => trainer.resume(&mut train).await.map_err(|error| self.not_resumed(error))?,
            false => None,
        };
        if rank == 0 && resumed_from.is_none() && log.exists() {
            std::fs::remove_file(&log).map_err(|error| bad_file(&log, error))?;
        }
        let smoothing = self.recipe.map_or(0.0, |recipe| recipe.label_smoothing);
        let loss = |model: &Arc<dyn Forward>, (x, y): (Tensor, Tensor)| {
            let (logits, labels) = eval::scores(&**model, &x, &y)?;
            outcome(&logits, &labels, smoothing)
        };
        let summary = trainer.fit(&mut train, Some(&mut test), loss).await?;
        let group = (kind, members::gather(&trainer, &summary).await?);
        let fitting = trainer.fitting().cloned();
        let (device, model) = (device.clone(), trainer.into_model());
        let damaged = std::mem::take(&mut *damaged.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Ended { device, model, test, summary, resumed_from, damaged, group, fitting })
    }

    /// What to do about a run that cannot go on.
    fn not_resumed(&self, error: flambeau::Error) -> flambeau::Error {
        let folder = self.out.display();
        let advice = match error {
            flambeau::Error::State(_) => {
                format!("the run in {folder} had other settings: repeat them, or leave out --resume")
            }
            _ => {
                "without --resume the run begins anew; the checkpoints are then kept in checkpoints.previous"
                    .into()
            }
        };
        advised(error, &advice)
    }

    /// Says how to go on with a run that was stopped.
    fn interrupted(&self, ended: &Ended) -> ExitCode {
        let (step, command) = (ended.summary.steps, interrupt::resume_command());
        let folder = self.out.join("checkpoints");
        let lines = [
            format!("stopped after step {step}; the checkpoint is in {}", folder.display()),
            format!("go on with: {command}"),
        ];
        let result = json!({
            "task": self.task.name, "model": self.preset.name, "device": ended.device.name(),
            "stopped": true, "steps": step, "resume": command,
        });
        if self.output.json {
            lines.iter().for_each(|line| self.output.say(line));
        }
        self.output.result(&result, &lines);
        ExitCode::from(interrupt::EXIT_CODE)
    }
}
