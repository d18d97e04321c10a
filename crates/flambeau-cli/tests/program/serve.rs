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
        Server::start_with(folder, &[])
    }

    fn start_with(folder: &Folder, more: &[&str]) -> Server {
        let arguments = [&["serve", "--folder", "app", "--port", "0", "--no-open", "--json"], more].concat();
        let mut child = command(folder.path(), &arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let address = said["address"].as_str().unwrap().trim_start_matches("http://").trim_end_matches('/');
        Server(child, address.to_owned())
    }

    /// The answer to a request, head and body.
    fn ask(&self, request: &str) -> String {
        self.send(&format!("{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.1).unwrap()
    }

    /// The answer to these bytes.
    fn send(&self, bytes: &str) -> String {
        let mut stream = self.connect();
        // The server may have answered, and closed, before it has read all.
        _ = stream.write_all(bytes.as_bytes());
        let mut answer = String::new();
        _ = stream.read_to_string(&mut answer);
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// A folder with an app, and something beside it.
fn app() -> Folder {
    let folder = Folder::new("serve");
    std::fs::create_dir_all(folder.join("app/assets")).unwrap();
    std::fs::write(folder.join("app/index.html"), "<title>Flambeau</title>").unwrap();
    std::fs::write(folder.join("app/assets/code.wasm"), "code").unwrap();
    std::fs::write(folder.join("secret"), "not for the browser").unwrap();
    folder
}

#[track_caller]
fn assert_served(server: &Server) {
    let page = server.ask("GET /");
    assert!(page.starts_with("HTTP/1.1 200") && page.ends_with("<title>Flambeau</title>"), "{page}");
}

#[test]
fn the_app_is_served_and_nothing_else() {
    let folder = app();
    let server = Server::start(&folder);
    let page = server.ask("GET /?page=train");
    assert!(page.starts_with("HTTP/1.1 200") && page.ends_with("<title>Flambeau</title>"), "{page}");
    assert!(page.contains("Content-Type: text/html"), "{page}");
    let code = server.ask("GET /assets/code.wasm");
    assert!(code.contains("Content-Type: application/wasm") && code.ends_with("code"), "{code}");
    let head = server.ask("HEAD /assets/code.wasm");
    assert!(head.contains("Content-Length: 4\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    for outside in ["/../secret", "/assets/../../secret", "//secret", "/nothing", "/assets", "/%2e%2e/secret"]
    {
        let answer = server.ask(&format!("GET {outside}"));
        assert!(answer.starts_with("HTTP/1.1 404") && !answer.contains("not for"), "{outside}: {answer}");
    }
    assert!(server.ask("POST /index.html").starts_with("HTTP/1.1 405"));
}

/// A link inside the folder is a file like others; one that leads out of it is not there.
#[cfg(unix)]
#[test]
fn links_out_of_the_folder_are_not_followed() {
    use std::os::unix::fs::symlink;
    let folder = app();
    symlink(folder.join("secret"), folder.join("app/leak")).unwrap();
    symlink(folder.path(), folder.join("app/out")).unwrap();
    symlink("index.html", folder.join("app/page.html")).unwrap();
    let server = Server::start(&folder);
    for outside in ["/leak", "/out/secret", "/out/app/index.html/../../../secret"] {
        let answer = server.ask(&format!("GET {outside}"));
        assert!(answer.starts_with("HTTP/1.1 404") && !answer.contains("not for"), "{outside}: {answer}");
    }
    assert!(server.ask("GET /page.html").starts_with("HTTP/1.1 200"));
}

/// Another name for this machine is an attack through the browser (DNS rebinding).
#[test]
fn other_names_are_sent_away() {
    let folder = app();
    let server = Server::start(&folder);
    for host in ["evil.example", "evil.example:8090", "127.0.0.1.evil.example"] {
        let answer = server.send(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 421") && !answer.contains("<title>"), "{host}: {answer}");
    }
    assert!(server.send("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400"));
}

/// A body is never read into memory, whatever its length is said to be.
#[test]
fn a_huge_content_length() {
    let folder = app();
    let server = Server::start(&folder);
    for length in ["99999999999999", "18446744073709551615", "-1", "many"] {
        let answer = server
            .send(&format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\nbody"));
        assert!(answer.starts_with("HTTP/1.1 405"), "{length}: {answer}");
        assert_served(&server);
    }
}

#[test]
fn giant_heads() {
    let folder = app();
    let server = Server::start(&folder);
    let long = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    assert!(server.send(&long).starts_with("HTTP/1.1 431"));
    // A line without end: the server hangs up long before all of it is sent.
    let mut endless = server.connect();
    let block = vec![b'a'; 1 << 20];
    let sent = (0..1000).take_while(|_| endless.write_all(&block).is_ok()).count();
    assert!(sent < 1000);
    assert_served(&server);
}

/// Clients that send a head byte by byte, or ask and never read, hold up nobody else.
#[test]
fn slow_clients_hold_up_nobody() {
    let folder = app();
    std::fs::write(folder.join("app/large.bin"), vec![7; 32 << 20]).unwrap();
    let server = Server::start(&folder);
    let slow: Vec<TcpStream> = (0..20)
        .map(|number| {
            let mut stream = server.connect();
            let request: &[u8] = match number % 2 {
                0 => b"GET / HT",
                _ => b"GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n",
            };
            stream.write_all(request).unwrap();
            stream
        })
        .collect();
    assert_served(&server);
    let mut reader = server.connect();
    reader.write_all(b"GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    reader.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(&[7; 1000]) && answer.len() > 32 << 20, "{}", answer.len());
    drop(slow);
}

/// More connections than the server takes: the rest are closed, and the next one is served when there is room.
#[test]
fn very_many_connections() {
    let folder = app();
    let server = Server::start(&folder);
    let many: Vec<TcpStream> = (0..300).map(|_| server.connect()).collect();
    let closed = many.iter().filter(|stream| {
        let mut stream: &TcpStream = stream;
        stream.set_read_timeout(Some(std::time::Duration::from_millis(20))).unwrap();
        matches!(stream.read(&mut [0]), Ok(0)) || stream.write(b"x").is_err()
    });
    assert!(closed.count() > 0);
    drop(many);
    // The server needs a moment to see that they are gone.
    let served = (0..1000).any(|_| server.ask("GET /").starts_with("HTTP/1.1 200"));
    assert!(served);
}

/// A server that takes one request, answers it with these bytes, and gives what it was asked.
fn one_answer(bytes: &'static [u8]) -> (String, std::thread::JoinHandle<String>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut asked, mut block) = (Vec::new(), [0; 4096]);
        while !asked.ends_with(b"the body") {
            let count = stream.read(&mut block).unwrap();
            asked.extend_from_slice(&block[..count]);
        }
        stream.write_all(bytes).unwrap();
        String::from_utf8(asked).unwrap()
    });
    (address, asked)
}

/// Calls of the Fleet API go to the Flower server, signatures and all, and come back; nothing else does.
#[test]
fn calls_of_the_fleet_api_are_handed_on() {
    let (flower, asked) = one_answer(
        b"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: 13\r\nConnection: close\r\n\r\n{\"code\": 2007",
    );
    let folder = app();
    let server = Server::start_with(&folder, &["--flower", &flower]);
    assert_served(&server);
    let call = |target: &str, more: &str| {
        server.send(&format!(
            "POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/protobuf\r\nContent-Length: 8\r\n\
             flwr-signature: abc=\r\nCookie: secret\r\n{more}\r\nthe body"
        ))
    };
    for (target, more, status) in [
        ("/v1/control/start-run", "", "405"),
        ("/v1/fleet/../control/start-run", "", "404"),
        ("/v1/fleet/pull-object", "Origin: http://evil.example\r\n", "403"),
    ] {
        let answer = call(target, more);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")) && !answer.contains("2007"), "{answer}");
    }
    let answer = call("/v1/fleet/pull-object", "Origin: http://localhost\r\n");
    assert!(answer.starts_with("HTTP/1.1 403") && answer.ends_with("{\"code\": 2007"), "{answer}");
    assert!(answer.contains("Content-Type: application/json\r\n"), "{answer}");
    let asked = asked.join().unwrap().to_lowercase();
    assert!(asked.starts_with("post /v1/fleet/pull-object http/1.1\r\n"), "{asked}");
    assert!(asked.contains("flwr-signature: abc=") && !asked.contains("secret"), "{asked}");
    // Nobody listens there any more.
    let answer = call("/v1/fleet/pull-object", "");
    assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("no answer from"), "{answer}");
}

#[test]
fn an_address_that_is_none_is_refused() {
    let folder = app();
    for address in ["127.0.0.1:8000", "ftp://x", "http://", "http://a/b"] {
        let message = error(
            folder.path(),
            &["serve", "--folder", "app", "--no-open", "--port", "0", "--flower", address],
        );
        assert!(message.contains("--flower") && message.contains(address), "{message}");
    }
}

#[test]
fn a_folder_that_is_not_the_app_is_refused() {
    let folder = Folder::new("serve-nothing");
    let message = error(folder.path(), &["serve", "--folder", ".", "--no-open"]);
    assert!(message.contains("no index.html"), "{message}");
}

/// The room in which tabs find each other: a WebSocket, whose first message is a member's number.
#[test]
fn rooms_are_served() {
    let folder = app();
    let server = Server::start(&folder);
    let mut stream = server.connect();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    let ask = "GET /room/blue HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
               Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream.write_all(ask.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut block = [0; 1024];
    while !String::from_utf8_lossy(&answer).contains("IdAssigned") {
        let count = stream.read(&mut block).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&block[..count]);
    }
    let answer = String::from_utf8_lossy(&answer);
    // The answer to that key is RFC 6455's own example.
    assert!(
        answer.starts_with("HTTP/1.1 101") && answer.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        "{answer}"
    );
    assert!(server.ask("GET /room/blue").starts_with("HTTP/1.1 426"));
}

/// Other machines come by addresses and by names that were given, and by no others.
#[test]
fn other_machines_where_the_user_says_so() {
    let folder = app();
    let server = Server::start_with(&folder, &["--listen", "0.0.0.0", "--name", "lab.example"]);
    for (host, status) in [("192.168.1.7:8090", "200"), ("lab.example", "200"), ("evil.example", "421")] {
        let answer = server.send(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {answer}");
    }
    let server = Server::start(&folder);
    assert!(server.send("GET / HTTP/1.1\r\nHost: 192.168.1.7\r\n\r\n").starts_with("HTTP/1.1 421"));
}
