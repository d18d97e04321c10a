//! `flambeau serve`: the web app from inside the program, or from a folder, for this machine's browser.

use crate::output::{Output, bad_file, refused};
use flambeau::Result;
use flambeau_page::server::{self, Files, Limits};
use serde_json::json;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;

/// The app's files by their addresses; none unless the program was built with it.
const APP: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/app.rs"));

/// Settings of `flambeau serve`.
#[derive(clap::Args)]
pub struct Options {
    /// The port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 8090)]
    port: u16,
    /// Serve the app from this folder instead of the one inside the program; links that lead out of it are not followed.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Do not open the browser.
    #[arg(long)]
    no_open: bool,
}

/// Serves until it is stopped. Only this machine can connect, and only under its own names.
pub fn run(options: &Options, output: Output) -> Result<ExitCode> {
    if options.folder.is_none() && APP.is_empty() {
        return Err(refused(
            "serve",
            "this program was built without the web app; `cargo xtask web --serve` builds both",
        ));
    }
    if let Some(folder) = options.folder.as_deref().filter(|folder| !folder.join("index.html").is_file()) {
        return Err(refused(
            "serve",
            format!("{} has no index.html: is it the built app?", folder.display()),
        ));
    }
    let files = match options.folder.as_deref() {
        Some(folder) => Files::folder(folder).map_err(|error| bad_file(folder, error))?,
        None => Files::Inside(APP),
    };
    let taken = |error: std::io::Error| {
        refused("serve", format!("port {}: {error}; another one: --port 0", options.port))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).map_err(taken)?;
    let port = listener.local_addr().map_err(taken)?.port();
    let address = format!("http://localhost:{port}/");
    let lines = [format!("Flambeau is at {address} (Ctrl-C ends it). Nothing leaves this machine.")];
    output.result(&json!({ "address": address }), &lines);
    if !options.no_open && open::that_detached(&address).is_err() {
        eprintln!("note: no browser could be opened; open the address yourself");
    }
    server::run(&listener, files, Limits::default()).map_err(taken)?;
    Ok(ExitCode::SUCCESS)
}
