//! Two members who find each other, and members who want more than they may have.

use super::*;
use crate::server::{self, Files, Limits, Site};
use serde_json::{Value, json};
use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use tungstenite::client::IntoClientRequest;

type Client = WebSocket<TcpStream>;

/// The longest that anything takes that must happen.
const PATIENCE: Duration = Duration::from_secs(20);

fn start(limits: RoomLimits) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let files = Files::Inside(&[("index.html", b"page")]);
    let site = Site { rooms: Rooms::new(limits), ..Site::new(files) };
    std::thread::spawn(move || server::run(&listener, site, Limits::default()));
    address
}

fn try_connect(address: SocketAddr, room: &str, origin: Option<&str>) -> Result<Client, u16> {
    let mut request = format!("ws://{address}/room/{room}").into_client_request().unwrap();
    if let Some(origin) = origin {
        request.headers_mut().insert("origin", origin.parse().unwrap());
    }
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    match tungstenite::client(request, stream) {
        Ok((client, _)) => Ok(client),
        Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
            Err(answer.status().as_u16())
        }
        Err(error) => panic!("{error}"),
    }
}

/// The next event; pings are answered on the way.
fn event(client: &mut Client) -> Value {
    loop {
        if let Message::Text(text) = client.read().expect("an event") {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

/// A member, and its number.
fn member(address: SocketAddr, room: &str) -> (Client, Value) {
    let mut client = try_connect(address, room, None).unwrap();
    let id = event(&mut client)["IdAssigned"].clone();
    assert!(id.is_string());
    (client, id)
}

fn say(client: &mut Client, request: &Value) {
    client.send(Message::text(request.to_string())).unwrap();
}

/// Does the server end the connection?
fn is_ended(client: &mut Client) -> bool {
    loop {
        match client.read() {
            Ok(Message::Close(_)) => return true,
            Ok(_) => {}
            Err(tungstenite::Error::Io(error))
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
            {
                return false;
            }
            Err(_) => return true,
        }
    }
}

/// Two members can still meet.
fn assert_serves(address: SocketAddr, room: &str) {
    let (mut first, _) = member(address, room);
    let (_second, id) = member(address, room);
    assert_eq!(event(&mut first), json!({ "NewPeer": id }));
}

#[test]
fn members_find_each_other_and_hear_who_leaves() {
    let address = start(RoomLimits::default());
    let (mut a, a_id) = member(address, "one");
    let (mut b, b_id) = member(address, "one");
    let (mut other, _) = member(address, "two");
    assert_eq!(event(&mut a), json!({ "NewPeer": b_id }));
    say(&mut a, &json!({ "Signal": { "receiver": b_id, "data": { "Offer": "v=0 …" } } }));
    assert_eq!(event(&mut b), json!({ "Signal": { "sender": a_id, "data": { "Offer": "v=0 …" } } }));
    say(&mut b, &json!("KeepAlive"));
    // Neither somebody of another room nor nobody gets a signal.
    say(&mut other, &json!({ "Signal": { "receiver": a_id, "data": "from another room" } }));
    say(&mut b, &json!({ "Signal": { "receiver": "00000000-0000-0000-0000-000000000000", "data": 1 } }));
    say(&mut b, &json!({ "Signal": { "receiver": a_id, "data": { "Answer": "v=0 …" } } }));
    assert_eq!(event(&mut a), json!({ "Signal": { "sender": b_id, "data": { "Answer": "v=0 …" } } }));
    drop(b);
    assert_eq!(event(&mut a), json!({ "PeerLeft": b_id }));
}

#[test]
fn what_is_no_message_ends_its_sender_alone() {
    let address = start(RoomLimits { message: 1000, ..RoomLimits::default() });
    let (mut witness, _) = member(address, "r");
    let deep = "[".repeat(900);
    let foreign = [
        Message::text("no JSON"),
        Message::text("{}"),
        Message::text(r#"{"Signal":{"receiver":"nobody","data":1}}"#),
        Message::text(deep),
        Message::text("x".repeat(1001)),
    ];
    for message in foreign {
        let (mut hostile, id) = member(address, "r");
        assert_eq!(event(&mut witness), json!({ "NewPeer": id }));
        _ = hostile.send(message.clone());
        assert!(is_ended(&mut hostile), "{message}");
        assert_eq!(event(&mut witness), json!({ "PeerLeft": id }), "{message}");
    }
}

#[test]
fn frames_that_promise_too_much_are_not_waited_for() {
    let address = start(RoomLimits::default());
    // A masked text frame of 2⁶² bytes; one that is not masked; one with a reserved bit; a fragment that never ends.
    let huge = [&[0x81, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0][..], &[0; 4]].concat();
    for frame in [huge, vec![0x81, 0x02, b'{', b'}'], vec![0xc1, 0x80, 0, 0, 0, 0]] {
        let (mut hostile, _) = member(address, "r");
        hostile.get_mut().write_all(&frame).unwrap();
        assert!(is_ended(&mut hostile), "{frame:?}");
    }
    assert_serves(address, "other");
}

#[test]
fn who_gives_no_sign_of_life_is_gone() {
    let silence = Duration::from_millis(400);
    let address = start(RoomLimits { silence, ..RoomLimits::default() });
    let (silent, id) = member(address, "r");
    let (mut witness, _) = member(address, "r");
    // The witness answers the server's pings while it waits; the silent one never reads.
    assert_eq!(event(&mut witness), json!({ "PeerLeft": id }));
    drop(silent);
}

#[test]
fn a_flood_of_messages_ends_its_sender() {
    let address = start(RoomLimits { messages: 50, ..RoomLimits::default() });
    let (mut hostile, _) = member(address, "r");
    let sent = (0..100_000).take_while(|_| hostile.send(Message::text("\"KeepAlive\"")).is_ok()).count();
    assert!(sent < 100_000 || is_ended(&mut hostile));
    assert_serves(address, "r");
}

/// One who takes nothing in loses its place, and holds nobody up who writes to it.
#[test]
fn a_full_mailbox_ends_its_owner() {
    let address = start(RoomLimits { messages: 100_000, ..RoomLimits::default() });
    let (stalled, stalled_id) = member(address, "r");
    let (mut sender, _) = member(address, "r");
    let signal = json!({ "Signal": { "receiver": stalled_id, "data": "x".repeat(60_000) } });
    let left = json!({ "PeerLeft": stalled_id });
    for _ in 0..2000 {
        say(&mut sender, &signal);
    }
    assert_eq!(event(&mut sender), left);
    drop(stalled);
}

#[test]
fn rooms_and_members_are_limited() {
    let address = start(RoomLimits { rooms: 2, members: 2, all_members: 3, ..RoomLimits::default() });
    let refused = |room: &str| try_connect(address, room, None).err();
    let (_a, (_b, _)) = (member(address, "one"), member(address, "one"));
    assert_eq!(refused("one"), Some(503), "the room is full");
    let (mut c, _) = member(address, "two");
    assert_eq!(refused("two"), Some(503), "all places are taken");
    assert_eq!(refused("three"), Some(503));
    c.close(None).unwrap();
    while c.read().is_ok() {}
    let again = (0..1000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(5));
        try_connect(address, "three", None).ok()
    });
    assert!(again.is_some(), "a room without members is gone");
}

#[test]
fn what_is_no_room_and_no_member() {
    let address = start(RoomLimits::default());
    let ask = |request: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(format!("{request}\r\nHost: localhost\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(ask("GET /room/a HTTP/1.1").starts_with("HTTP/1.1 426"));
    assert!(ask("GET /room/ HTTP/1.1").starts_with("HTTP/1.1 404"));
    assert!(ask("GET / HTTP/1.1").ends_with("page"));
    for room in ["", "a/b", "a.b", "ä", &"x".repeat(65)] {
        assert_eq!(name_of(&format!("room/{room}")), None, "{room}");
    }
    assert_eq!(name_of("room/Blue_fish-7"), Some("Blue_fish-7"));
    assert_eq!(try_connect(address, "a", Some("https://evil.example")).err(), Some(403));
    assert!(try_connect(address, "a", Some("http://localhost:5173")).is_ok());
}
