//! `flambeau serve`: the web app from inside the program, or from a folder, for this machine's browser; with rooms under `/room/` in which
//! tabs that train together find each other. Other machines can come where `--listen` says so.

use crate::output::{Output, bad_file, refused};
use flambeau::Result;
use flambeau_flower::{Http, Request, Transport};
use flambeau_page::server::{self, Answer, Files, Limits, Names, Post, PostRules, Posts, Site};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
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
    /// Hand on what pages of the app send to /v1/fleet/ to this Flower server, such as http://127.0.0.1:8000: browsers let pages talk to
    /// their own server alone.
    #[arg(long, value_name = "URL")]
    flower: Option<String>,
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
    let posts = options.flower.as_deref().map(Flower::at).transpose()?;
    let mut lines = vec![format!("Flambeau is at {address} (Ctrl-C ends it).")];
    match &posts {
        Some(flower) => {
            lines.push(format!("What its pages send to {} goes to {}.", RULES.prefix, flower.server));
        }
        None if !is_open => lines[0].push_str(" Nothing leaves this machine."),
        None => {}
    }
    if is_open {
        lines.extend([
            format!("Other machines can open it, too: whoever can reach {}, port {port}, may use the app and enter its rooms,", options.listen),
            "and nothing is encrypted. No other file of this machine can be read. Browsers on other machines give such a page the".into(),
            "CPU alone; for WebGPU there, put a server with https before it (docs/together.md).".into(),
        ]);
    }
    output.result(&json!({ "address": address, "open": is_open, "flower": options.flower }), &lines);
    if !options.no_open && open::that_detached(&address).is_err() {
        eprintln!("note: no browser could be opened; open the address yourself");
    }
    let names = Names { addresses: is_open, others: options.name.clone() };
    let posts = posts.map(|flower| Box::new(flower) as Box<dyn Posts>);
    server::run(&listener, Site { names, posts, ..Site::new(files) }, Limits::default()).map_err(taken)?;
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
