//! `flambeau serve`: the web app from inside the program, or from a folder, for this machine's browser; with rooms under `/room/` in which
//! tabs that train together find each other. Other machines can come where `--listen` says so.

use crate::output::{Output, bad_file, refused};
use flambeau::Result;
use flambeau_page::server::{self, Files, Limits, Names, Site};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
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
    /// Let other machines connect, at this address of this one (0.0.0.0: at all). Everybody who can reach it may then open the app and
    /// enter its rooms, and nothing is encrypted on the way; it gives access to no other files, and to no data of yours.
    #[arg(long, value_name = "ADDR", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,
    /// With `--listen`, a name under which this machine may be asked for, beside its addresses (may be given several times).
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// Serve the app from this folder instead of the one inside the program; links that lead out of it are not followed.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Do not open the browser.
    #[arg(long)]
    no_open: bool,
}

/// Serves until it is stopped. Only this machine can connect, and only under its own names, unless the user says otherwise.
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
    let listener = TcpListener::bind((options.listen, options.port)).map_err(taken)?;
    let port = listener.local_addr().map_err(taken)?.port();
    let is_open = !options.listen.is_loopback();
    // Browsers give WebGPU to pages of this machine by this name, whatever else it listens at.
    let address = match options.listen.is_loopback() || options.listen.is_unspecified() {
        true => format!("http://localhost:{port}/"),
        false => format!("http://{}/", SocketAddr::new(options.listen, port)),
    };
    let lines = match is_open {
        false => vec![format!("Flambeau is at {address} (Ctrl-C ends it). Nothing leaves this machine.")],
        true => vec![
            format!("Flambeau is at {address} (Ctrl-C ends it)."),
            format!("Other machines can open it, too: whoever can reach {}, port {port}, may use the app and enter its rooms,", options.listen),
            "and nothing is encrypted. No other file of this machine can be read. Browsers on other machines give such a page the".into(),
            "CPU alone; for WebGPU there, put a server with https before it (docs/together.md).".into(),
        ],
    };
    output.result(&json!({ "address": address, "open": is_open }), &lines);
    if !options.no_open && open::that_detached(&address).is_err() {
        eprintln!("note: no browser could be opened; open the address yourself");
    }
    let names = Names { addresses: is_open, others: options.name.clone() };
    server::run(&listener, Site { names, ..Site::new(files) }, Limits::default()).map_err(taken)?;
    Ok(ExitCode::SUCCESS)
}
