//! The command line: builds the page, serves it, and opens it.

use crate::build::{Build, BuildError, build};
use crate::server::{self, Files, Limits, Site};
use clap::Parser;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::ExitCode;

/// Builds the page of this project, serves it to this machine alone, and opens it.
#[derive(Parser)]
#[command(name = "cargo page")]
struct Options {
    /// Only build it, into the folder `dist`, which any static host can serve.
    #[arg(long)]
    build_only: bool,
    /// The profile that cargo builds it with.
    #[arg(long, default_value = "release")]
    profile: String,
    /// The port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Do not open the browser.
    #[arg(long)]
    no_open: bool,
    /// Print where the page is as one JSON object on stdout.
    #[arg(long)]
    json: bool,
}

/// What the program in a project's folder `page` does; `folder` is that folder, and has the files of the page in `public`. The project is
/// the folder above.
pub fn main(folder: impl AsRef<Path>) -> ExitCode {
    match run(folder.as_ref(), &Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path, options: &Options) -> Result<(), BuildError> {
    let project = folder.parent().unwrap_or(folder).to_path_buf();
    let public = folder.join("public");
    let dist = build(&Build { project, public, profile: options.profile.clone() })?;
    if options.build_only {
        tell(options, "folder", &dist.display().to_string());
        return Ok(());
    }
    let unserved = |error: std::io::Error| {
        BuildError::new(format!("port {}: {error}", options.port), "take another one: --port 0")
    };
    let files = Files::folder(&dist).map_err(unserved)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).map_err(unserved)?;
    let address = format!("http://localhost:{}/", listener.local_addr().map_err(unserved)?.port());
    tell(options, "address", &address);
    if !options.no_open && open::that_detached(&address).is_err() {
        eprintln!("note: no browser could be opened; open the address yourself");
    }
    server::run(&listener, Site::new(files), Limits::default()).map_err(unserved)
}

/// Says where the page is.
fn tell(options: &Options, what: &str, place: &str) {
    match (options.json, what) {
        (true, _) => println!("{}", serde_json::json!({ what: place })),
        (false, "address") => println!("The page is at {place} (Ctrl-C ends it)."),
        (false, _) => println!("The page is in {place}."),
    }
}
