//! The head of a request, read with a limit and a deadline; of HTTP/1.1, what a server of files needs, and one that hands on POSTs
//! below one address.

use std::io::{ErrorKind, Read};
use std::net::{IpAddr, TcpStream};
use std::time::{Duration, Instant};

/// The most bytes that a request's head may have.
pub const MAX_HEAD: usize = 16 << 10;

/// What a head asks for.
#[derive(Debug, PartialEq)]
pub enum Asked {
    /// A file, or a room.
    File(Request),
    /// That a body is handed on.
    Post(PostHead),
}

/// A request whose body is still to be read.
#[derive(Debug, PartialEq)]
pub struct PostHead {
    /// The name below the address of POSTs.
    pub call: String,
    /// The length of the body.
    pub length: usize,
    /// The headers that are handed on, by names in small letters.
    pub headers: Vec<(String, String)>,
}

/// A request for a file, or for a room.
#[derive(Debug, PartialEq)]
pub struct Request {
    /// HEAD instead of GET: only the answer's own head is wanted.
    pub head_only: bool,
    /// The path, without the first slash, the query and the fragment.
    pub path: String,
    /// The connection shall become a WebSocket.
    pub upgrade: Option<Upgrade>,
}

/// What a browser says when it opens a WebSocket (RFC 6455, version 13).
#[derive(Debug, PartialEq)]
pub struct Upgrade {
    /// What the server shows that it has understood with.
    pub key: String,
    /// No page of another site asks, as far as its browser says: such a page must not talk with what listens on this machine.
    pub is_from_here: bool,
}

/// The names under which a server may be asked for: a browser that was told that some other name is this machine's (DNS
/// rebinding) is sent away.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Addresses in numbers, which no one can redirect.
    pub addresses: bool,
    /// Names beside this machine's own.
    pub others: Vec<String>,
}

impl Names {
    /// Is this host, whose port may be another's who forwards to ours, one of them?
    fn have(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        let is_own = ["localhost", "127.0.0.1", "[::1]"].iter().any(|own| name.eq_ignore_ascii_case(own));
        is_own
            || (self.addresses && address.parse::<IpAddr>().is_ok())
            || self.others.iter().any(|other| name.eq_ignore_ascii_case(other))
    }
}

/// An answer without a file: number and reason.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Status(pub u16, pub &'static str);

/// What is taken at one address by POST, and nowhere else.
#[derive(Debug, Clone, Copy)]
pub struct PostRules {
    /// The address that calls lie below, between slashes.
    pub prefix: &'static str,
    /// What bodies are.
    pub content_type: &'static str,
    /// How the names of further headers begin that are handed on.
    pub headers: &'static str,
    /// The most bytes of a body.
    pub body: usize,
}

pub const BAD_REQUEST: Status = Status(400, "Bad Request");
pub const FOREIGN: Status = Status(403, "Forbidden");
pub const NOT_FOUND: Status = Status(404, "Not Found");
pub const METHOD: Status = Status(405, "Method Not Allowed");
pub const TIMEOUT: Status = Status(408, "Request Timeout");
pub const LENGTH: Status = Status(411, "Length Required");
pub const BODY: Status = Status(413, "Content Too Large");
pub const MEDIA: Status = Status(415, "Unsupported Media Type");
pub const OTHER_HOST: Status = Status(421, "Misdirected Request");
pub const TOO_LARGE: Status = Status(431, "Request Header Fields Too Large");
pub const GATEWAY: Status = Status(502, "Bad Gateway");
pub const BUSY: Status = Status(503, "Service Unavailable");
pub const VERSION: Status = Status(505, "HTTP Version Not Supported");

/// The bytes of a head, and those that were read behind it.
pub type Parted = (Vec<u8>, Vec<u8>);

/// The bytes of a head, up to the empty line, and those of a body that came with them; none if the client has gone without a word.
pub fn read_head(stream: &mut TcpStream, time: Duration) -> Result<Option<Parted>, Status> {
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
            let body = head.split_off(end + 4);
            head.truncate(end);
            return if head.len() > MAX_HEAD { Err(TOO_LARGE) } else { Ok(Some((head, body))) };
        }
        if head.len() > MAX_HEAD {
            return Err(TOO_LARGE);
        }
    }
}

/// A body of so many bytes, some of which have been read, before a deadline.
pub fn read_body(
    stream: &mut TcpStream,
    mut body: Vec<u8>,
    length: usize,
    deadline: Instant,
) -> Result<Vec<u8>, Status> {
    let mut block = vec![0; 64 << 10];
    while body.len() < length {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return Err(TIMEOUT);
        }
        match stream.read(&mut block) {
            Ok(0) => return Err(BAD_REQUEST),
            Ok(count) => body.extend_from_slice(&block[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(TIMEOUT),
        }
    }
    body.truncate(length);
    Ok(body)
}

/// What a head asks for, from a server of these names; POSTs only where there are rules for them.
pub fn parse(head: &[u8], names: &Names, posts: Option<&PostRules>) -> Result<Asked, Status> {
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
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(BAD_REQUEST)?;
        if name.is_empty() || name.contains([' ', '\t']) {
            return Err(BAD_REQUEST);
        }
        headers.push((name, value.trim()));
    }
    let headers = Headers(headers);
    match headers.all("host")[..] {
        [host] if names.have(host) => {}
        [_] => return Err(OTHER_HOST),
        _ => return Err(BAD_REQUEST),
    }
    let head_only = match (method, posts) {
        ("GET", _) => false,
        ("HEAD", _) => true,
        ("POST", Some(rules)) => return post(target, &headers, rules).map(Asked::Post),
        _ => return Err(METHOD),
    };
    let path = target.strip_prefix('/').ok_or(BAD_REQUEST)?;
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = if path.is_empty() { "index.html".into() } else { path.to_owned() };
    Ok(Asked::File(Request { head_only, path, upgrade: headers.upgrade(names) }))
}

/// What a POST asks for. Only pages of this very server may ask: browsers say whose page it is, and let no other page send bodies of
/// this type.
fn post(target: &str, headers: &Headers, rules: &PostRules) -> Result<PostHead, Status> {
    let call = target.strip_prefix(rules.prefix).ok_or(METHOD)?;
    if call.is_empty() || !call.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') {
        return Err(NOT_FOUND);
    }
    let host = headers.all("host").concat();
    if headers.all("origin").iter().any(|origin| *origin != format!("http://{host}")) {
        return Err(FOREIGN);
    }
    if headers.all("content-type") != [rules.content_type] {
        return Err(MEDIA);
    }
    let length = match headers.all("content-length")[..] {
        // (`parse` would take a sign.)
        [length] if length.bytes().all(|byte| byte.is_ascii_digit()) && !length.is_empty() => length,
        _ => return Err(LENGTH),
    };
    if !headers.all("transfer-encoding").is_empty() {
        return Err(LENGTH);
    }
    let length = length.parse().map_err(|_| BODY)?;
    if length > rules.body {
        return Err(BODY);
    }
    let named = headers.0.iter().map(|(name, value)| (name.to_ascii_lowercase(), (*value).to_owned()));
    let handed_on = |(name, _): &(String, String)| {
        name == "accept" || name == "content-type" || name.starts_with(rules.headers)
    };
    Ok(PostHead { call: call.to_owned(), length, headers: named.filter(handed_on).collect() })
}

/// Names and values.
struct Headers<'h>(Vec<(&'h str, &'h str)>);

impl<'h> Headers<'h> {
    fn all(&self, name: &str) -> Vec<&'h str> {
        let named = self.0.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| *value).collect()
    }

    fn lists(&self, name: &str, wanted: &str) -> bool {
        let mut words = self.all(name).into_iter().flat_map(|value| value.split(','));
        words.any(|word| word.trim().eq_ignore_ascii_case(wanted))
    }

    fn upgrade(&self, names: &Names) -> Option<Upgrade> {
        let is_asked = self.lists("upgrade", "websocket") && self.lists("connection", "upgrade");
        let ([key], ["13"]) = (&self.all("sec-websocket-key")[..], &self.all("sec-websocket-version")[..])
        else {
            return None;
        };
        let host = |origin: &'h str| origin.split_once("://").map(|(_, host)| host);
        let is_from_here =
            self.all("origin").into_iter().all(|origin| host(origin).is_some_and(|host| names.have(host)));
        is_asked.then(|| Upgrade { key: (*key).to_owned(), is_from_here })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for() {
        let path = |line: &str| {
            parse(format!("{line} HTTP/1.1\r\nHost: localhost:80").as_bytes(), &Names::default(), None)
        };
        let file =
            |path: &str, head_only| Ok(Asked::File(Request { head_only, path: path.into(), upgrade: None }));
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
        let own = Names::default();
        let ask = |headers: &str| parse(format!("GET / HTTP/1.1{headers}").as_bytes(), &own, None);
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
        assert_eq!(parse(b"GET / HTTP/3\r\nHost: localhost", &own, None), Err(VERSION));
        assert_eq!(parse(b"\xff\xfe", &own, None), Err(BAD_REQUEST));
    }

    #[test]
    fn addresses_and_further_names_where_they_are_allowed() {
        let names = Names { addresses: true, others: vec!["lab.example".into()] };
        let ask = |host: &str| parse(format!("GET / HTTP/1.1\r\nHost: {host}").as_bytes(), &names, None);
        for host in ["192.168.1.7:8090", "[fe80::1]:8090", "localhost", "Lab.Example:443"] {
            assert!(ask(host).is_ok(), "{host}");
        }
        for host in ["evil.example", "192.168.1.7.evil.example", "1.2.3", "other.lab.example"] {
            assert_eq!(ask(host), Err(OTHER_HOST), "{host}");
        }
    }

    #[test]
    fn websockets_of_other_sites_are_known() {
        let upgrade = |more: &str| {
            let head = format!(
                "GET /room/a HTTP/1.1\r\nHost: localhost:8090\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
                 Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: abc{more}"
            );
            match parse(head.as_bytes(), &Names::default(), None) {
                Ok(Asked::File(request)) => request.upgrade,
                other => panic!("{other:?}"),
            }
        };
        let from_here = |more: &str| upgrade(more).unwrap().is_from_here;
        assert!(from_here("") && from_here("\r\nOrigin: http://localhost:5173"));
        assert!(!from_here("\r\nOrigin: https://evil.example") && !from_here("\r\nOrigin: null"));
        assert_eq!(upgrade("\r\nSec-WebSocket-Key: two"), None);
    }

    #[test]
    fn posts_only_where_they_are_taken() {
        let rules = PostRules {
            prefix: "/v1/fleet/",
            content_type: "application/protobuf",
            headers: "flwr-",
            body: 100,
        };
        let ask = |target: &str, headers: &str| {
            let head = format!("POST {target} HTTP/1.1\r\nHost: localhost:80\r\n{headers}");
            parse(head.as_bytes(), &Names::default(), Some(&rules))
        };
        let good = "Content-Type: application/protobuf\r\nContent-Length: 7";
        let more = format!("{good}\r\nOrigin: http://localhost:80\r\nFlwr-Timestamp: now\r\nCookie: secret");
        let headers = [("content-type", "application/protobuf"), ("flwr-timestamp", "now")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let expected = PostHead { call: "pull-object".into(), length: 7, headers };
        assert_eq!(ask("/v1/fleet/pull-object", &more), Ok(Asked::Post(expected)));
        assert_eq!(
            parse(b"POST /v1/fleet/x HTTP/1.1\r\nHost: localhost", &Names::default(), None),
            Err(METHOD)
        );
        for (target, status) in [
            ("/", METHOD),
            ("/index.html", METHOD),
            ("/v1/control/start-run", METHOD),
            ("/v1/fleet", METHOD),
            ("/v1/fleet/", NOT_FOUND),
            ("/v1/fleet/../control/x", NOT_FOUND),
            ("/v1/fleet/a?b", NOT_FOUND),
            ("/v1/fleet/a%2fb", NOT_FOUND),
            ("/v1/fleet/A", NOT_FOUND),
            ("http://localhost/v1/fleet/a", METHOD),
        ] {
            assert_eq!(ask(target, good), Err(status), "{target}");
        }
        let media = "Content-Type: application/protobuf";
        for (headers, status) in [
            (format!("{good}\r\nOrigin: http://evil.example"), FOREIGN),
            (format!("{good}\r\nOrigin: null"), FOREIGN),
            (format!("{good}\r\nOrigin: http://localhost:81"), FOREIGN),
            ("Content-Length: 7".into(), MEDIA),
            ("Content-Type: text/plain\r\nContent-Length: 7".into(), MEDIA),
            (media.into(), LENGTH),
            (format!("{media}\r\nContent-Length: -1"), LENGTH),
            (format!("{media}\r\nContent-Length: +1"), LENGTH),
            (format!("{media}\r\nContent-Length:"), LENGTH),
            (format!("{good}\r\nContent-Length: 7"), LENGTH),
            (format!("{good}\r\nTransfer-Encoding: chunked"), LENGTH),
            (format!("{media}\r\nContent-Length: 101"), BODY),
            (format!("{media}\r\nContent-Length: 99999999999999999999"), BODY),
        ] {
            assert_eq!(ask("/v1/fleet/x", &headers), Err(status), "{headers}");
        }
    }
}
