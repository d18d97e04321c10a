//! The web app, served from a folder: what the browser gets, and what it must not get.

use crate::support::*;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

/// A server that ends with its owner.
struct Server(Child, String);

impl Server {
    fn start(folder: &Folder) -> Server {
        let arguments = ["serve", "--folder", "app", "--port", "0", "--no-open", "--json"];
        let mut child = command(folder.path(), &arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let address = said["address"].as_str().unwrap().trim_start_matches("http://").trim_end_matches('/');
        Server(child, address.to_owned())
    }

    /// The answer to a request, head and body.
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        write!(stream, "{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[test]
fn the_app_is_served_and_nothing_else() {
    let folder = Folder::new("serve");
    std::fs::create_dir_all(folder.join("app/assets")).unwrap();
    std::fs::write(folder.join("app/index.html"), "<title>Flambeau</title>").unwrap();
    std::fs::write(folder.join("app/assets/code.wasm"), "code").unwrap();
    std::fs::write(folder.join("secret"), "not for the browser").unwrap();
    let server = Server::start(&folder);
    let page = server.ask("GET /?page=train");
    assert!(page.starts_with("HTTP/1.1 200") && page.ends_with("<title>Flambeau</title>"), "{page}");
    assert!(page.contains("Content-Type: text/html"), "{page}");
    let code = server.ask("GET /assets/code.wasm");
    assert!(code.contains("Content-Type: application/wasm") && code.ends_with("code"), "{code}");
    for outside in ["/../secret", "/assets/../../secret", "//secret", "/nothing"] {
        let answer = server.ask(&format!("GET {outside}"));
        assert!(answer.starts_with("HTTP/1.1 404") && !answer.contains("not for"), "{outside}: {answer}");
    }
    assert!(server.ask("POST /index.html").starts_with("HTTP/1.1 405"));
}

#[test]
fn a_folder_that_is_not_the_app_is_refused() {
    let folder = Folder::new("serve-nothing");
    let message = error(folder.path(), &["serve", "--folder", ".", "--no-open"]);
    assert!(message.contains("no index.html"), "{message}");
}
