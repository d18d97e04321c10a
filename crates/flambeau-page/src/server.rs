//! A server of files for the browsers of this machine, and, where it is told so, of others; with rooms (feature `rooms`) in which they find
//! each other. It knows GET and HEAD and ends every connection after one answer; heads, connections and the time for each have
//! limits, so that no client can hold up another. It takes no bodies, but for POSTs below one address, where it was given something that
//! answers them ([`Posts`]).

pub use super::request::PostRules;
use super::request::{self, Asked, NOT_FOUND, PostHead, Status};
#[cfg(feature = "rooms")]
use super::rooms::{self, RoomLimits, Rooms};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

pub use super::request::Names;

/// What a client may take of the server.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Connections at a time; further ones are turned away.
    pub connections: usize,
    /// The time for a request's head.
    pub head: Duration,
    /// The time in which a client must take in at least something.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connections: 128, head: Duration::from_secs(10), idle: Duration::from_secs(20) }
    }
}

/// The most bodies that are in memory at a time.
const BODIES: usize = 8;
/// The slowest that a client may read or send, in bytes a second, once it had the idle time.
const SLOWEST: u64 = 16 << 10;
/// What is sent, or read and thrown away, at once.
const BLOCK: usize = 64 << 10;
/// The most that is read of what nobody asked for, so that the answer arrives before the connection is reset.
const DRAINED: usize = 1 << 20;
/// Stacks of the threads: what answers POSTs may call TLS.
const STACK: usize = 1 << 20;

/// Where files come from.
pub enum Files {
    /// Names and contents inside the program.
    Inside(&'static [(&'static str, &'static [u8])]),
    /// A folder, whose name is its real one, without links.
    Folder(PathBuf),
}

impl Files {
    /// What lies in a folder.
    pub fn folder(folder: &Path) -> std::io::Result<Files> {
        Ok(Files::Folder(folder.canonicalize()?))
    }

    /// The content at an address, and its size; nothing outside, by `..` or by links.
    fn open(&self, path: &str) -> Option<(Content, u64)> {
        match self {
            Files::Inside(files) => {
                let (_, bytes) = files.iter().find(|(name, _)| *name == path)?;
                Some((Content::Bytes(bytes), bytes.len() as u64))
            }
            Files::Folder(folder) => {
                let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
                let real = inside.then(|| folder.join(path).canonicalize().ok())??;
                // Before it is opened: opening a pipe would wait for its writer.
                let is_file = real.starts_with(folder) && real.metadata().ok()?.is_file();
                let file = is_file.then(|| File::open(&real).ok())??;
                let size = file.metadata().ok()?.len();
                Some((Content::File(file), size))
            }
        }
    }
}

/// What a server has.
pub struct Site {
    /// What GET gives.
    pub files: Files,
    /// The names under which it may be asked for.
    pub names: Names,
    /// What answers POSTs, if anything does.
    pub posts: Option<Box<dyn Posts>>,
    /// The rooms under `/room/`.
    #[cfg(feature = "rooms")]
    pub rooms: Rooms,
}

impl Site {
    /// Files for this machine, under its own names; rooms with the usual limits.
    pub fn new(files: Files) -> Site {
        Site {
            files,
            names: Names::default(),
            posts: None,
            #[cfg(feature = "rooms")]
            rooms: Rooms::new(RoomLimits::default()),
        }
    }
}

enum Content {
    Bytes(&'static [u8]),
    File(File),
}

impl Read for Content {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Content::Bytes(bytes) => bytes.read(to),
            Content::File(file) => file.read(to),
        }
    }
}

/// Answers POSTs below one address: for pages that talk to a server elsewhere, which does not know them.
pub trait Posts: Send + Sync {
    /// The address that they lie below, between slashes; what bodies are; how the names of headers begin that are handed on beside
    /// `content-type` and `accept`; and the most bytes of a body.
    fn rules(&self) -> PostRules;

    /// The answer to a body. An error is what prevented one.
    fn post(&self, post: Post) -> Result<Answer, String>;
}

/// A request with a body.
pub struct Post {
    /// The name below the address.
    pub call: String,
    /// The headers that are handed on, by names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// An answer with a body.
pub struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// What the body is.
    pub content_type: String,
    /// The body.
    pub body: Vec<u8>,
}

/// What a connection is served from.
struct Served {
    site: Site,
    /// Bodies that are in memory.
    bodies: Arc<AtomicUsize>,
}

/// Serves until the listener fails, a thread for each connection.
pub fn run(listener: &TcpListener, site: Site, limits: Limits) -> std::io::Result<()> {
    let (served, open) = (Arc::new(Served { site, bodies: Arc::default() }), Arc::new(AtomicUsize::new(0)));
    loop {
        let (stream, _) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if is_passing(&error) => continue,
            Err(error) => return Err(error),
        };
        let place = Place::take(&open);
        if place.number > limits.connections {
            continue;
        }
        let served = served.clone();
        let serve = move || {
            let _place = place;
            serve(stream, &served, limits);
        };
        // Without memory for a thread the connection is closed, and the next one tried.
        _ = std::thread::Builder::new().stack_size(STACK).spawn(serve);
    }
}

/// Errors of one connection, or of a moment in which there are too many files open.
fn is_passing(error: &std::io::Error) -> bool {
    const TOO_MANY_FILES: [i32; 2] = [23, 24];
    if error.raw_os_error().is_some_and(|code| TOO_MANY_FILES.contains(&code)) {
        std::thread::sleep(Duration::from_millis(50));
        return true;
    }
    matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted)
}

/// A connection among those that are open.
struct Place {
    open: Arc<AtomicUsize>,
    number: usize,
}

impl Place {
    fn take(open: &Arc<AtomicUsize>) -> Place {
        Place { number: open.fetch_add(1, SeqCst) + 1, open: open.clone() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.fetch_sub(1, SeqCst);
    }
}

fn serve(mut stream: TcpStream, served: &Served, limits: Limits) {
    let site = &served.site;
    let rules = site.posts.as_ref().map(|posts| posts.rules());
    let asked = match request::read_head(&mut stream, limits.head) {
        Ok(None) => return,
        Ok(Some((head, body))) => {
            request::parse(&head, &site.names, rules.as_ref()).map(|asked| (asked, body))
        }
        Err(status) => Err(status),
    };
    #[cfg(feature = "rooms")]
    let asked = match asked {
        Ok((Asked::File(asked), _)) if !asked.head_only && rooms::name_of(&asked.path).is_some() => {
            let name = rooms::name_of(&asked.path).unwrap_or_default();
            match site.rooms.serve(&mut stream, name, asked.upgrade.as_ref()) {
                Ok(()) => return finish(&mut stream, limits),
                Err(status) => Err(status),
            }
        }
        asked => asked,
    };
    // A browser that goes away before it has everything is no error of ours.
    _ = match asked {
        Ok((Asked::File(asked), _)) => match site.files.open(&asked.path) {
            Some((content, size)) => send(&mut stream, &asked, content, size, limits),
            None => refuse(&mut stream, NOT_FOUND, limits),
        },
        Ok((Asked::Post(head), body)) => post(&mut stream, head, body, served, limits),
        Err(status) => refuse(&mut stream, status, limits),
    };
    finish(&mut stream, limits);
}

/// Reads the rest of a body, hands it on, and sends the answer.
fn post(
    stream: &mut TcpStream,
    head: PostHead,
    begun: Vec<u8>,
    served: &Served,
    limits: Limits,
) -> std::io::Result<()> {
    let place = Place::take(&served.bodies);
    let Some(posts) = served.site.posts.as_ref().filter(|_| place.number <= BODIES) else {
        return refuse(stream, request::BUSY, limits);
    };
    let deadline = Instant::now() + limits.idle + Duration::from_secs(head.length as u64 / SLOWEST);
    let body = match request::read_body(stream, begun, head.length, deadline) {
        Ok(body) => body,
        Err(status) => return refuse(stream, status, limits),
    };
    let answer = match posts.post(Post { call: head.call, headers: head.headers, body }) {
        Ok(answer) => answer,
        Err(message) => {
            let Status(status, _) = request::GATEWAY;
            Answer { status, content_type: "text/plain".into(), body: message.into_bytes() }
        }
    };
    // What the other side says a body is must not become further headers.
    let content_type: String = answer.content_type.chars().filter(|c| (' '..='~').contains(c)).collect();
    let head = format!(
        "HTTP/1.1 {} \r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        answer.status,
        answer.body.len()
    );
    let deadline = Instant::now() + limits.idle + Duration::from_secs(answer.body.len() as u64 / SLOWEST);
    write(stream, head.as_bytes(), deadline)?;
    write(stream, &answer.body, deadline)
}

fn refuse(stream: &mut TcpStream, status: Status, limits: Limits) -> std::io::Result<()> {
    let Status(number, reason) = status;
    let allow = match number {
        405 => "Allow: GET, HEAD\r\n",
        426 => "Upgrade: websocket\r\n",
        _ => "",
    };
    let answer = format!(
        "HTTP/1.1 {number} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n{allow}Connection: close\r\n\r\n\
         {reason}",
        reason.len()
    );
    write(stream, answer.as_bytes(), Instant::now() + limits.idle)
}

fn send(
    stream: &mut TcpStream,
    asked: &request::Request,
    content: Content,
    size: u64,
    limits: Limits,
) -> std::io::Result<()> {
    // The names of files change with what is in them, but for the page itself.
    let caching = if asked.path.starts_with("assets/") { "max-age=31536000, immutable" } else { "no-cache" };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {size}\r\nCache-Control: {caching}\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        content_type(&asked.path)
    );
    let deadline = Instant::now() + limits.idle + Duration::from_secs(size / SLOWEST);
    write(stream, head.as_bytes(), deadline.min(Instant::now() + limits.idle))?;
    if asked.head_only {
        return Ok(());
    }
    // A file that grows meanwhile is sent as long as it was said to be.
    let (mut content, mut block) = (content.take(size), vec![0; BLOCK]);
    loop {
        let count = content.read(&mut block)?;
        if count == 0 {
            return Ok(());
        }
        write(stream, &block[..count], deadline.min(Instant::now() + limits.idle))?;
    }
}

/// Writes all before a deadline, however little the client takes at once.
fn write(stream: &mut TcpStream, mut bytes: &[u8], deadline: Instant) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Ends a connection. What the client still sends is read for a moment: closing at once would reset the connection, and
/// the client might not see the answer.
fn finish(stream: &mut TcpStream, limits: Limits) {
    let deadline = Instant::now() + limits.idle.min(Duration::from_secs(1));
    _ = stream.shutdown(Shutdown::Write);
    let (mut block, mut drained) = ([0; 4096], 0);
    while drained < DRAINED {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return;
        }
        match stream.read(&mut block) {
            Ok(0) | Err(_) => return,
            Ok(count) => drained += count,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { connections: 4, head: Duration::from_millis(200), idle: Duration::from_millis(300) };
    static LARGE: [u8; 16 << 20] = [7; 16 << 20];
    static FILES: &[(&str, &[u8])] = &[("index.html", b"page"), ("large.bin", &LARGE)];

    /// Answers with what it was sent.
    struct Echo;

    impl Posts for Echo {
        fn rules(&self) -> PostRules {
            PostRules {
                prefix: "/echo/",
                content_type: "application/protobuf",
                headers: "flwr-",
                body: 1 << 20,
            }
        }

        fn post(&self, post: Post) -> Result<Answer, String> {
            if post.call == "fail" {
                return Err("nobody is there".into());
            }
            let headers: Vec<String> =
                post.headers.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let content_type = format!("{}\r\nEvil: yes", headers.join(";"));
            Ok(Answer { status: 218, content_type, body: post.body })
        }
    }

    #[test]
    fn posts_are_handed_on() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let posts: Option<Box<dyn Posts>> = Some(Box::new(Echo));
            run(&listener, Site { posts, ..Site::new(Files::Inside(FILES)) }, LIMITS)
        });
        let ask = |target: &str, headers: &str, body: &str| {
            let head = format!(
                "POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/protobuf\r\n{headers}\r\n"
            );
            let mut stream = connect(address, head.as_bytes());
            _ = stream.write_all(body.as_bytes());
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        let answer =
            ask("/echo/a", "Content-Length: 5\r\nFlwr-X: 1\r\nCookie: secret\r\n", "hello, and more");
        assert!(answer.starts_with("HTTP/1.1 218") && answer.ends_with("\r\n\r\nhello"), "{answer}");
        assert!(
            answer.contains("Content-Type: content-type=application/protobuf;flwr-x=1Evil: yes\r\n"),
            "{answer}"
        );
        let answer = ask("/echo/fail", "Content-Length: 0\r\n", "");
        assert!(answer.starts_with("HTTP/1.1 502") && answer.ends_with("nobody is there"), "{answer}");
        assert!(ask("/echo/a", "Content-Length: 9\r\n", "short").starts_with("HTTP/1.1 408"));
        assert!(ask("/echo/a", "Content-Length: 9999999\r\n", "").starts_with("HTTP/1.1 413"));
        assert!(ask("/index.html", "Content-Length: 0\r\n", "").starts_with("HTTP/1.1 405"));
        let long = "x".repeat(1 << 20);
        assert!(ask("/echo/a", "Content-Length: 1048576\r\n", &long).ends_with(&long));
    }

    /// A server that lives as long as the tests.
    fn start() -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || run(&listener, Site::new(Files::Inside(FILES)), LIMITS));
        address
    }

    fn connect(address: std::net::SocketAddr, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    }

    /// A head that never ends is answered when its time is over.
    #[test]
    fn slow_heads_are_cut_off() {
        let address = start();
        for beginning in [&b""[..], b"GET / HTTP/1.1\r\nHost: "] {
            let mut answer = String::new();
            connect(address, beginning).read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
        }
    }

    /// A client that takes nothing in loses its connection, and its place: the next ones are served.
    #[test]
    fn clients_that_do_not_read_are_cut_off() {
        let address = start();
        let ask = b"GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let stalled: Vec<TcpStream> = (0..LIMITS.connections).map(|_| connect(address, ask)).collect();
        let served = (0..10_000).any(|_| {
            let mut answer = String::new();
            let mut stream = TcpStream::connect(address).unwrap();
            _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
            _ = stream.read_to_string(&mut answer);
            std::thread::sleep(Duration::from_millis(1));
            answer.ends_with("page")
        });
        assert!(served);
        for mut stream in stalled {
            let mut received = Vec::new();
            _ = stream.read_to_end(&mut received);
            assert!(received.len() < LARGE.len(), "{}", received.len());
        }
    }
}
