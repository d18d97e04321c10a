//! Rooms: where browsers that want to talk to each other find each other. A member connects by WebSocket to `/room/<name>`,
//! is told a number of its own, and hears who comes and who goes; what it sends to another member is handed on unread. This is
//! matchbox's protocol of signalling (<https://docs.rs/matchbox_protocol>), so its clients can meet here, too. Once two
//! members have found each other they talk directly, and nothing of that passes here.
//!
//! Everything has a limit ([`RoomLimits`]): rooms, members, the size and the number of messages, and how long a member may be silent.

use crate::request::{Status, Upgrade};
use matchbox_protocol::{JsonPeerEvent, JsonPeerRequest, PeerEvent, PeerId, PeerRequest};
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Message, WebSocket};
use uuid::Uuid;

/// What the members of rooms may take of the server.
#[derive(Debug, Clone, Copy)]
pub struct RoomLimits {
    /// Rooms at a time.
    pub rooms: usize,
    /// Members of one room.
    pub members: usize,
    /// Members of all rooms.
    pub all_members: usize,
    /// Bytes of a message.
    pub message: usize,
    /// Messages of a member at once; as many come back to it every minute.
    pub messages: u32,
    /// How long a member may be silent. It is asked for a sign of life three times meanwhile, which browsers answer by themselves.
    pub silence: Duration,
}

impl Default for RoomLimits {
    fn default() -> RoomLimits {
        RoomLimits {
            rooms: 64,
            members: 16,
            all_members: 96,
            message: 64 << 10,
            messages: 1200,
            silence: Duration::from_secs(30),
        }
    }
}

/// Messages that wait for a member; one that does not take them in has to go.
const QUEUE: usize = 256;
/// How long a member is listened to before what waits for it is sent.
const TURN: Duration = Duration::from_millis(20);
/// The time in which a member must take a message in.
const SENDING: Duration = Duration::from_secs(5);
/// The longest name of a room.
const NAME: usize = 64;

/// Whoever asks for a room without a WebSocket.
pub(crate) const UPGRADE: Status = Status(426, "Upgrade Required");
const FOREIGN: Status = Status(403, "Forbidden");
const FULL: Status = Status(503, "Service Unavailable");

/// All rooms of a server.
#[derive(Debug, Clone)]
pub struct Rooms {
    limits: RoomLimits,
    rooms: Arc<Mutex<BTreeMap<String, Members>>>,
}

type Members = BTreeMap<PeerId, SyncSender<String>>;

/// The name of the room that a path leads to: `room/<name>`, with letters, digits, `-` and `_`.
pub(crate) fn name_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix("room/")?;
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    ((1..=NAME).contains(&name.len()) && name.bytes().all(is_good)).then_some(name)
}

impl Rooms {
    /// No rooms yet: each begins with its first member, and ends with its last.
    pub fn new(limits: RoomLimits) -> Rooms {
        Rooms { limits, rooms: Arc::default() }
    }

    /// Makes a connection a member's, and serves it to its end. An error is what it must be told instead.
    pub(crate) fn serve(
        &self,
        stream: &mut TcpStream,
        name: &str,
        upgrade: Option<&Upgrade>,
    ) -> Result<(), Status> {
        let upgrade = upgrade.ok_or(UPGRADE)?;
        if !upgrade.is_from_here {
            return Err(FOREIGN);
        }
        let (mailbox, mail) = sync_channel(QUEUE);
        let id = PeerId(Uuid::new_v4());
        let membership = self.enter(name, id, mailbox)?;
        let accepted = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
            derive_accept_key(upgrade.key.as_bytes())
        );
        let mut stream = Turns::new(stream);
        if stream.write_all(accepted.as_bytes()).is_ok() {
            // However it ends, the member is gone.
            _ = membership.run(stream, &mail);
        }
        Ok(())
    }

    /// Takes a member in, and tells the others.
    fn enter(&self, name: &str, id: PeerId, mailbox: SyncSender<String>) -> Result<Membership<'_>, Status> {
        let mut rooms = self.lock();
        let all: usize = rooms.values().map(BTreeMap::len).sum();
        let there = rooms.get(name).map_or(0, BTreeMap::len);
        let limits = &self.limits;
        if all >= limits.all_members || there >= limits.members || (there == 0 && rooms.len() >= limits.rooms)
        {
            return Err(FULL);
        }
        // It is empty: there is room.
        _ = mailbox.try_send(text(&PeerEvent::IdAssigned(id)));
        let members = rooms.entry(name.to_owned()).or_default();
        tell_all(members, &PeerEvent::NewPeer(id));
        members.insert(id, mailbox);
        drop(rooms);
        Ok(Membership { rooms: self, name: name.to_owned(), id })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Members>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An event as it travels.
fn text(event: &JsonPeerEvent) -> String {
    event.to_string()
}

/// Those whose mail is not taken in find their mailbox closed, and end.
fn tell_all(members: &mut Members, event: &JsonPeerEvent) {
    let text = text(event);
    members.retain(|_, mailbox| mailbox.try_send(text.clone()).is_ok());
}

/// A member of a room; when it is dropped, the others are told that it has left.
struct Membership<'r> {
    rooms: &'r Rooms,
    name: String,
    id: PeerId,
}

impl Drop for Membership<'_> {
    fn drop(&mut self) {
        let mut rooms = self.rooms.lock();
        if let Some(members) = rooms.get_mut(&self.name) {
            members.remove(&self.id);
            tell_all(members, &PeerEvent::PeerLeft(self.id));
            if members.is_empty() {
                rooms.remove(&self.name);
            }
        }
    }
}

impl Membership<'_> {
    fn run(&self, stream: Turns<'_>, mail: &Receiver<String>) -> tungstenite::Result<()> {
        let limits = &self.rooms.limits;
        let config = WebSocketConfig::default()
            .read_buffer_size(4 << 10)
            .write_buffer_size(4 << 10)
            .max_message_size(Some(limits.message))
            .max_frame_size(Some(limits.message));
        let mut socket = WebSocket::from_raw_socket(stream, Role::Server, Some(config));
        let (mut heard, mut asked) = (Instant::now(), Instant::now());
        let mut allowance = Allowance::new(limits.messages);
        loop {
            socket.get_mut().begin();
            loop {
                match mail.try_recv() {
                    Ok(text) => socket.send(Message::text(text))?,
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return socket.close(None),
                }
            }
            if heard.elapsed() > limits.silence {
                return socket.close(None);
            }
            if asked.elapsed() > limits.silence / 4 {
                asked = Instant::now();
                socket.send(Message::Ping(Vec::new().into()))?;
            }
            socket.get_mut().begin();
            match socket.read() {
                Ok(message) if allowance.takes_one() => {
                    heard = Instant::now();
                    if let Message::Text(text) = message
                        && !self.forward(&text)
                    {
                        return socket.close(None);
                    }
                }
                Ok(_) => return socket.close(None),
                Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Hands a signal on; false if that is none. One for a member who has just gone is nobody's fault.
    fn forward(&self, text: &str) -> bool {
        match text.parse() {
            Ok(JsonPeerRequest::Signal { receiver, data }) => {
                let mut rooms = self.rooms.lock();
                if let Some(members) = rooms.get_mut(&self.name)
                    && let Some(mailbox) = members.get(&receiver)
                {
                    let event: JsonPeerEvent = PeerEvent::Signal { sender: self.id, data };
                    if mailbox.try_send(self::text(&event)).is_err() {
                        members.remove(&receiver);
                    }
                }
                true
            }
            Ok(PeerRequest::KeepAlive) => true,
            Err(_) => false,
        }
    }
}

/// Messages that a member may still send.
struct Allowance {
    most: f64,
    left: f64,
    counted: Instant,
}

impl Allowance {
    fn new(most: u32) -> Allowance {
        Allowance { most: f64::from(most), left: f64::from(most), counted: Instant::now() }
    }

    fn takes_one(&mut self) -> bool {
        let back = self.counted.elapsed().as_secs_f64() * self.most / 60.0;
        self.counted = Instant::now();
        self.left = (self.left + back).min(self.most) - 1.0;
        self.left >= 0.0
    }
}

/// A connection that is read from and written to in turns of a known length, however slowly the other side goes on.
struct Turns<'s> {
    stream: &'s mut TcpStream,
    /// When reading ends, and when what is written must have been taken in.
    ends: Instant,
    sent: Instant,
}

impl Turns<'_> {
    fn new(stream: &mut TcpStream) -> Turns<'_> {
        let now = Instant::now();
        Turns { stream, ends: now + TURN, sent: now + SENDING }
    }

    fn begin(&mut self) {
        (self.ends, self.sent) = (Instant::now() + TURN, Instant::now() + SENDING);
    }
}

/// The time until then; after it, an error of this kind.
fn left(end: Instant, kind: ErrorKind) -> std::io::Result<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(kind.into()) } else { Ok(left) }
}

/// Systems call it by two names when time is over.
fn over(error: Error, kind: ErrorKind) -> Error {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => kind.into(),
        _ => error,
    }
}

impl Read for Turns<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.ends, ErrorKind::WouldBlock)?))?;
        self.stream.read(to).map_err(|error| over(error, ErrorKind::WouldBlock))
    }
}

impl Write for Turns<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.sent, ErrorKind::TimedOut)?))?;
        self.stream.write(bytes).map_err(|error| over(error, ErrorKind::TimedOut))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests;
