//! `flambeau federated`: training together with others without showing them one's data.

mod client;
mod learner;
mod share;

use crate::output::Output;
use flambeau::Result;
use std::process::ExitCode;

/// What can be done.
#[derive(clap::Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Take part in the runs of a Flower server (a SuperLink of Flower 1.41): train on this machine's data, and send what the model
    /// has learned.
    Client(Box<client::Options>),
}

/// Does it.
pub async fn run(options: &Options, choice: Option<&str>, output: Output) -> Result<ExitCode> {
    match &options.command {
        Command::Client(options) => client::run(options, choice, output).await,
    }
}
