//! The program `flambeau`: trains on the best device of this machine, and says what devices there are.

mod bench;
mod info;
mod picture;
mod spirals;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Deep learning in pure Rust, on any GPU through WebGPU and on the CPU.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// Print results as JSON, for machines.
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
    /// Train a two-spirals classifier (the default).
    Train(spirals::Options),
    /// Measure how fast the device is.
    Bench(bench::Options),
    /// List the adapters of this machine and the device that would be chosen.
    Info,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // Mesa's drivers complain about its absence, on every start.
        // Safety: no other thread runs yet.
        unsafe { std::env::set_var("XDG_RUNTIME_DIR", std::env::temp_dir()) };
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
    match cli.command.unwrap_or_else(|| Command::Train(spirals::Options::default())) {
        Command::Train(options) => {
            let device = info::choose(cli.device.as_deref()).await?;
            let chosen = cli.device.is_some() || std::env::var_os("FLAMBEAU_DEVICE").is_some();
            if device.is_cpu() && !chosen && !cli.json {
                println!("no GPU was found, so this runs on the CPU (`flambeau info` lists the adapters)");
            }
            spirals::train(&device, &options, cli.json).await
        }
        Command::Bench(options) => {
            let device = info::choose(cli.device.as_deref()).await?;
            bench::run(&device, &options, cli.json).await
        }
        Command::Info => info::print(cli.device.as_deref(), cli.json).await,
    }
}
