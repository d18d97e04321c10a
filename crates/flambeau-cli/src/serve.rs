//! `flambeau serve`: the web app from inside the program, or from a folder, for this machine's browser.

use crate::output::{Output, bad_file, refused};
use flambeau::Result;
use flambeau_flower::{Http, Request, Transport};
use flambeau_page::server::{self, Answer, Files, Limits, Post, PostRules, Posts};
use serde_json::json;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

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
    /// Hand on what pages of the app send to /v1/fleet/ to this Flower server, such as http://127.0.0.1:8000: browsers let pages talk to
    /// their own server alone.
    #[arg(long, value_name = "URL")]
    flower: Option<String>,
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
    let posts = options.flower.as_deref().map(Flower::at).transpose()?;
    let where_to = match &posts {
        None => "Nothing leaves this machine.".to_owned(),
        Some(flower) => format!("What its pages send to {} goes to {}.", RULES.prefix, flower.server),
    };
    let lines = [format!("Flambeau is at {address} (Ctrl-C ends it). {where_to}")];
    output.result(&json!({ "address": address, "flower": options.flower }), &lines);
    if !options.no_open && open::that_detached(&address).is_err() {
        eprintln!("note: no browser could be opened; open the address yourself");
    }
    let posts = posts.map(|flower| Box::new(flower) as Box<dyn Posts>);
    server::run_with_posts(&listener, files, posts, Limits::default()).map_err(taken)?;
    Ok(ExitCode::SUCCESS)
}

/// The calls of Flower's Fleet API, and nothing else of a Flower server.
const RULES: PostRules = PostRules {
    prefix: "/v1/fleet/",
    content_type: "application/protobuf",
    headers: "flwr-",
    body: 64 << 20,
};

/// The longest that a Flower server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A Flower server that pages of the app reach through this one. It sees the pages' own keys and signatures, which this program
/// does not have.
struct Flower {
    server: String,
    http: Http,
}

impl Flower {
    fn at(address: &str) -> Result<Flower> {
        let host = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
        match host.map(|host| host.trim_end_matches('/')) {
            Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', ' ', '@']) => {
                Ok(Flower { server: address.trim_end_matches('/').to_owned(), http: Http::default() })
            }
            _ => Err(refused(
                "--flower",
                format!("`{address}` is no address of a server; take one such as http://127.0.0.1:8000"),
            )),
        }
    }
}

impl Posts for Flower {
    fn rules(&self) -> PostRules {
        RULES
    }

    fn post(&self, post: Post) -> std::result::Result<Answer, String> {
        let request = Request {
            url: format!("{}{}{}", self.server, RULES.prefix, post.call),
            headers: post.headers.into_iter().map(|(name, value)| (name.into(), value)).collect(),
            body: post.body,
            timeout: PATIENCE,
            limit: RULES.body,
        };
        let reply = flambeau::block_on(self.http.post(request));
        let reply = reply.map_err(|error| format!("no answer from {}: {error}", self.server))?;
        Ok(Answer { status: reply.status, content_type: reply.content_type, body: reply.body })
    }
}
