//! The head of a request, read with a limit and a deadline; of HTTP/1.1, what a server of files needs.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The most bytes that a request's head may have.
pub const MAX_HEAD: usize = 16 << 10;

/// A request for a file.
#[derive(Debug, PartialEq)]
pub struct Request {
    /// HEAD instead of GET: only the answer's own head is wanted.
    pub head_only: bool,
    /// The path, without the first slash, the query and the fragment.
    pub path: String,
}

/// An answer without a file: number and reason.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Status(pub u16, pub &'static str);

pub const BAD_REQUEST: Status = Status(400, "Bad Request");
pub const NOT_FOUND: Status = Status(404, "Not Found");
pub const METHOD: Status = Status(405, "Method Not Allowed");
pub const TIMEOUT: Status = Status(408, "Request Timeout");
pub const OTHER_HOST: Status = Status(421, "Misdirected Request");
pub const TOO_LARGE: Status = Status(431, "Request Header Fields Too Large");
pub const VERSION: Status = Status(505, "HTTP Version Not Supported");

/// The bytes of a head, up to the empty line; none if the client has gone without a word.
pub fn read_head(stream: &mut TcpStream, time: Duration) -> Result<Option<Vec<u8>>, Status> {
    let deadline = Instant::now() + time;
    let (mut head, mut block) = (Vec::new(), [0; 2048]);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return Err(TIMEOUT);
        }
        match stream.read(&mut block) {
            Ok(0) if head.is_empty() => return Ok(None),
            Ok(0) => return Err(BAD_REQUEST),
            Ok(count) => head.extend_from_slice(&block[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(TIMEOUT);
            }
            Err(_) => return Ok(None),
        }
        if let Some(end) = head.windows(4).position(|window| window == b"\r\n\r\n") {
            head.truncate(end);
            return if head.len() > MAX_HEAD { Err(TOO_LARGE) } else { Ok(Some(head)) };
        }
        if head.len() > MAX_HEAD {
            return Err(TOO_LARGE);
        }
    }
}

/// What a head asks for. A browser that was told that some other name is this machine's (DNS rebinding) is sent away.
pub fn parse(head: &[u8]) -> Result<Request, Status> {
    let text = std::str::from_utf8(head).map_err(|_| BAD_REQUEST)?;
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(BAD_REQUEST);
    };
    if !matches!(version, "HTTP/1.0" | "HTTP/1.1") {
        return Err(VERSION);
    }
    let mut hosts = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(BAD_REQUEST)?;
        if name.is_empty() || name.contains([' ', '\t']) {
            return Err(BAD_REQUEST);
        }
        if name.eq_ignore_ascii_case("host") {
            hosts.push(value.trim());
        }
    }
    match hosts[..] {
        [host] if is_this_machine(host) => {}
        [_] => return Err(OTHER_HOST),
        _ => return Err(BAD_REQUEST),
    }
    let head_only = match method {
        "GET" => false,
        "HEAD" => true,
        _ => return Err(METHOD),
    };
    let path = target.strip_prefix('/').ok_or(BAD_REQUEST)?;
    let path = path.split(['?', '#']).next().unwrap_or_default();
    Ok(Request { head_only, path: if path.is_empty() { "index.html".into() } else { path.to_owned() } })
}

/// Is this one of this machine's own names? The port may be another's, who forwards to ours.
fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|own| name.eq_ignore_ascii_case(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for() {
        let path = |line: &str| parse(format!("{line} HTTP/1.1\r\nHost: localhost:80").as_bytes());
        let file = |path: &str, head_only| Ok(Request { head_only, path: path.into() });
        assert_eq!(path("GET /"), file("index.html", false));
        assert_eq!(path("HEAD /a/b.js?x=1"), file("a/b.js", true));
        assert_eq!(path("GET //secret"), file("/secret", false));
        assert_eq!(path("POST /"), Err(METHOD));
        assert_eq!(path("GET http://localhost/"), Err(BAD_REQUEST));
        assert_eq!(path("GET"), Err(BAD_REQUEST));
        assert_eq!(path("GET  /"), Err(BAD_REQUEST));
    }

    #[test]
    fn only_this_machines_names() {
        let ask = |headers: &str| parse(format!("GET / HTTP/1.1{headers}").as_bytes());
        for host in ["localhost", "LOCALHOST:8090", "127.0.0.1:1", "[::1]", "[::1]:8090"] {
            assert!(ask(&format!("\r\nAccept: */*\r\nHost: {host}")).is_ok(), "{host}");
        }
        for host in
            ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "", "::1", "localhost:x"]
        {
            assert_eq!(ask(&format!("\r\nHost: {host}")), Err(OTHER_HOST), "{host}");
        }
        assert_eq!(ask(""), Err(BAD_REQUEST));
        assert_eq!(ask("\r\nHost: localhost\r\nHost: evil.example"), Err(BAD_REQUEST));
        assert_eq!(ask("\r\nHost : localhost"), Err(BAD_REQUEST));
        assert_eq!(ask("\r\nno header"), Err(BAD_REQUEST));
        assert_eq!(parse(b"GET / HTTP/3\r\nHost: localhost"), Err(VERSION));
        assert_eq!(parse(b"\xff\xfe"), Err(BAD_REQUEST));
    }
}
