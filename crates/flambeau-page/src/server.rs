//! A server of files for the browsers of this machine, and, where it is told so, of others; with rooms (feature `rooms`) in which they find
//! each other. It knows GET and HEAD, takes no bodies and ends every connection
//! after one answer; heads, connections and the time for each have limits, so that no client can hold up another.

use super::request::{self, NOT_FOUND, Status};
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

/// The slowest that a client may read, in bytes a second, once it had the idle time.
const SLOWEST: u64 = 16 << 10;
/// What is sent, or read and thrown away, at once.
const BLOCK: usize = 64 << 10;
/// The most that is read of what nobody asked for, so that the answer arrives before the connection is reset.
const DRAINED: usize = 1 << 20;
/// Stacks of the threads, which call nothing deep.
const STACK: usize = 256 << 10;

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

/// Serves until the listener fails, a thread for each connection.
pub fn run(listener: &TcpListener, site: Site, limits: Limits) -> std::io::Result<()> {
    let (site, open) = (Arc::new(site), Arc::new(AtomicUsize::new(0)));
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
        let site = site.clone();
        let serve = move || {
            let _place = place;
            serve(stream, &site, limits);
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

fn serve(mut stream: TcpStream, site: &Site, limits: Limits) {
    let asked = match request::read_head(&mut stream, limits.head) {
        Ok(None) => return,
        Ok(Some(head)) => request::parse(&head, &site.names),
        Err(status) => Err(status),
    };
    #[cfg(feature = "rooms")]
    let asked = match asked {
        Ok(asked) if !asked.head_only && rooms::name_of(&asked.path).is_some() => {
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
        Ok(asked) => match site.files.open(&asked.path) {
            Some((content, size)) => send(&mut stream, &asked, content, size, limits),
            None => refuse(&mut stream, NOT_FOUND, limits),
        },
        Err(status) => refuse(&mut stream, status, limits),
    };
    finish(&mut stream, limits);
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
