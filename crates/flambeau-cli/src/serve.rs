//! `flambeau serve`: the web app from inside the program, or from a folder, for this machine's browser.

use crate::output::{Output, refused};
use flambeau::Result;
use serde_json::json;
use std::borrow::Cow;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use tiny_http::{Header, Method, Request, Response, Server, StatusCode};

/// The app's files by their addresses; none unless the program was built with it.
const APP: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/app.rs"));

/// Settings of `flambeau serve`.
#[derive(clap::Args)]
pub struct Options {
    /// The port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 8090)]
    port: u16,
    /// Serve the app from this folder instead of the one inside the program.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Do not open the browser.
    #[arg(long)]
    no_open: bool,
}

/// Serves until it is stopped. Only this machine can connect.
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
    let server = Server::http(("127.0.0.1", options.port)).map_err(|error| {
        refused("serve", format!("port {}: {error}; another one: --port 0", options.port))
    })?;
    let port = server.server_addr().to_ip().map_or(options.port, |address| address.port());
    let address = format!("http://localhost:{port}/");
    let lines = [format!("Flambeau is at {address} (Ctrl-C ends it). Nothing leaves this machine.")];
    output.result(&json!({ "address": address }), &lines);
    if !options.no_open && open::that_detached(&address).is_err() {
        eprintln!("note: no browser could be opened; open the address yourself");
    }
    for request in server.incoming_requests() {
        // A browser that goes away before it has everything is no error of ours.
        let _ = answer(request, options.folder.as_deref());
    }
    Ok(ExitCode::SUCCESS)
}

fn answer(request: Request, folder: Option<&Path>) -> std::io::Result<()> {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return request.respond(Response::empty(StatusCode(405)));
    }
    let path = request.url().split(['?', '#']).next().unwrap_or_default().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    let Some(bytes) = file(path, folder) else {
        return request.respond(Response::from_string("not found").with_status_code(404));
    };
    let mut response = Response::from_data(bytes);
    for (name, value) in [
        ("Content-Type", content_type(path)),
        ("X-Content-Type-Options", "nosniff"),
        // The names of files change with what is in them, but for the page itself.
        (
            "Cache-Control",
            if path.starts_with("assets/") { "max-age=31536000, immutable" } else { "no-cache" },
        ),
    ] {
        response.add_header(Header::from_bytes(name, value).expect("a plain header"));
    }
    request.respond(response)
}

/// What lies at an address; nothing outside the app.
fn file(path: &str, folder: Option<&Path>) -> Option<Cow<'static, [u8]>> {
    let Some(folder) = folder else {
        return APP.iter().find(|(name, _)| *name == path).map(|(_, bytes)| Cow::Borrowed(*bytes));
    };
    let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    inside.then(|| fs::read(folder.join(path)).ok().map(Cow::Owned))?
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript",
        "css" => "text/css",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "json" => "application/json",
        _ => "application/octet-stream",
    }
}
