//! The program `flambeau`: trains, tests and uses models on the best device of this machine.

mod bench;
mod convert;
mod data_sets;
mod device;
mod eval;
mod federated;
mod generate;
mod info;
mod logger;
mod model;
mod model_file;
mod new;
mod output;
mod picture;
mod predict;
mod selftest;
mod serve;
mod task;
mod train;

use clap::{Parser, Subcommand};
use output::Output;
use std::process::ExitCode;

/// Deep learning in pure Rust, on any GPU through WebGPU and on the CPU. Without a command: train mnist.
#[derive(Parser)]
#[command(
    version,
    after_help = "FLAMBEAU_LOG=off, error, warn (the default), info, debug or trace: what is logged, on stderr."
)]
struct Cli {
    /// Print the result as one JSON object on stdout, everything else on stderr.
    #[arg(long, global = true)]
    json: bool,
    /// Where to run: cpu, gpu, gpu:<index> or software; the best device when absent.
    #[arg(long, global = true, value_name = "DEVICE")]
    device: Option<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Train a model and write it to a folder.
    Train(Box<train::Options>),
    /// Train together with others, each on their own data, by a Flower server.
    Federated(federated::Options),
    /// Test a model on a data set.
    Eval(eval::Options),
    /// Say what pictures show.
    Predict(predict::Options),
    /// Continue a text with a model trained by `train char-gpt`.
    Generate(generate::Options),
    /// Convert between .safetensors, PyTorch's .pt and NumPy's .npz.
    Convert(convert::Options),
    /// Fetch data sets.
    Data(data_sets::Options),
    /// Measure how fast the device is.
    Bench(bench::Options),
    /// Check that every op gives the right numbers on this machine.
    Selftest(selftest::Options),
    /// Open the web app: training in the browser, on this machine alone.
    Serve(serve::Options),
    /// Begin a project of your own, which trains on this machine and in a browser.
    New(new::Options),
    /// List the adapters of this machine, and describe the device that would be chosen.
    Info,
}

fn main() -> ExitCode {
    let mut cli = Cli::parse();
    logger::start();
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // Mesa's drivers complain about its absence, on every start.
        // Safety: no other thread runs yet.
        unsafe { std::env::set_var("XDG_RUNTIME_DIR", std::env::temp_dir()) };
    }
    if cli.command.is_none() {
        cli.command = Cli::parse_from(["flambeau", "train"]).command;
    }
    match flambeau::block_on(run(cli)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: Cli) -> flambeau::Result<ExitCode> {
    let (output, choice) = (Output { json: cli.json, quiet: false }, cli.device.as_deref());
    let Some(command) = cli.command else { return Ok(ExitCode::SUCCESS) };
    match command {
        Command::Train(options) => train::run(&options, choice, output).await,
        Command::Federated(options) => federated::run(&options, choice, output).await,
        Command::Eval(options) => eval::run(&options, &device::choose(choice).await?, output).await,
        Command::Predict(options) => predict::run(&options, &device::choose(choice).await?, output).await,
        Command::Generate(options) => generate::run(&options, &device::choose(choice).await?, output).await,
        Command::Convert(options) => convert::run(&options, output).await,
        Command::Data(options) => data_sets::run(&options, output),
        Command::Bench(options) => bench::run(&device::choose(choice).await?, &options, output).await,
        Command::Selftest(options) => selftest::run(&device::choose(choice).await?, &options, output).await,
        Command::Serve(options) => serve::run(&options, output),
        Command::New(options) => new::run(&options, output),
        Command::Info => info::run(choice, output).await,
    }
}
