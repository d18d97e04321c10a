//! A server of a folder and of rooms, alone: `cargo run -p flambeau-page --no-default-features --features rooms --example rooms -- FOLDER`
//! prints its address, and serves until it is ended.

use flambeau_page::server::{self, Files, Limits, Site};
use std::net::TcpListener;
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).map_or_else(|| ".".into(), PathBuf::from);
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    println!("http://localhost:{}/", listener.local_addr()?.port());
    server::run(&listener, Site::new(Files::folder(&folder)?), Limits::default())
}
