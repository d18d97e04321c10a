//! Training together with other tabs: the links are JavaScript's (data channels of WebRTC), everything else is the library's.
//!
//! What happens on the links is handed over by [`peers_event`]; [`peers_tick`] is the clock, to be called twice a second or more
//! often. All of this is a part of the module by itself.

use crate::handles::argument;
use crate::layers::parameter;
use crate::slab::Slab;
use flambeau::Result as Fallible;
use flambeau::group::peers::{LinkEvent, Links, PeerId, PeerNews};
use flambeau::group::{Group, Peers, PeersOptions};
use flambeau::nn::Parameter;
use flambeau::train::{Compression, Diloco, DilocoOptions};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// The links of a room, as the package has them.
    pub type RoomLinks;

    /// Hands bytes over to a peer.
    #[wasm_bindgen(method)]
    fn send(this: &RoomLinks, peer: &str, bytes: &[u8]);

    /// Ends the link to a peer.
    #[wasm_bindgen(method)]
    fn close(this: &RoomLinks, peer: &str);
}

/// A UUID, as rooms write it.
fn written(peer: PeerId) -> String {
    let digits = format!("{:032x}", peer.0);
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

fn read(text: &str) -> Fallible<PeerId> {
    let digits: String = text.chars().filter(|&c| c != '-').collect();
    let number = if digits.len() == 32 { u128::from_str_radix(&digits, 16).ok() } else { None };
    number.map(PeerId).ok_or_else(|| argument("peers", format!("{text:?} is no number of a peer")))
}

/// The links as the library sees them.
struct Channels {
    own: PeerId,
    links: RoomLinks,
    events: RefCell<VecDeque<LinkEvent>>,
    now: Cell<Duration>,
    waker: RefCell<Option<Waker>>,
}

impl fmt::Debug for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Channels({})", self.own)
    }
}

impl Channels {
    fn wake(&self) {
        let waker = self.waker.take();
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Links for Channels {
    fn own(&self) -> PeerId {
        self.own
    }

    fn send(&self, to: PeerId, bytes: &[u8]) {
        self.links.send(&written(to), bytes);
    }

    fn close(&self, peer: PeerId) {
        self.links.close(&written(peer));
    }

    fn next_event(&self) -> Option<LinkEvent> {
        self.events.borrow_mut().pop_front()
    }

    fn now(&self) -> Duration {
        self.now.get()
    }

    /// The clock's ticks end every wait in time.
    fn wait(&self, at_most: Duration) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        let begun = self.now();
        Box::pin(poll_fn(move |context| {
            if !self.events.borrow().is_empty() || self.now() > begun || at_most.is_zero() {
                return Poll::Ready(());
            }
            self.waker.replace(Some(context.waker().clone()));
            Poll::Pending
        }))
    }
}

/// A room, and what is trained in it.
struct Room {
    channels: Rc<Channels>,
    peers: RefCell<Option<Rc<Peers>>>,
    /// None while a round is being made.
    together: RefCell<Option<Diloco>>,
    rounds: Cell<u64>,
}

thread_local! {
    static ROOMS: Slab<Room> = const { Slab::new("room") };
}

fn room(number: u32) -> Fallible<Rc<Room>> {
    ROOMS.with(|rooms| rooms.get(number))
}

/// The member with this number of its own, at the time `now` in milliseconds.
#[wasm_bindgen]
pub fn peers_new(own: &str, links: RoomLinks, now: f64) -> Result<u32, JsError> {
    let channels = Channels {
        own: read(own)?,
        links,
        events: RefCell::default(),
        now: Cell::new(Duration::from_secs_f64(now.max(0.0) / 1e3)),
        waker: RefCell::default(),
    };
    let room = Room {
        channels: Rc::new(channels),
        peers: RefCell::default(),
        together: RefCell::default(),
        rounds: Cell::new(0),
    };
    Ok(ROOMS.with(|rooms| rooms.add(room)))
}

/// What has happened on a link: "coming" and "older" (a link is being made, to one who came later or was there before), "opened",
/// "received", "closed".
#[wasm_bindgen]
pub fn peers_event(number: u32, kind: &str, peer: &str, bytes: Vec<u8>) -> Result<(), JsError> {
    let (room, peer) = (room(number)?, read(peer)?);
    let event = match kind {
        "coming" => LinkEvent::Coming { peer, older: false },
        "older" => LinkEvent::Coming { peer, older: true },
        "opened" => LinkEvent::Opened { peer },
        "received" => LinkEvent::Received { peer, bytes },
        "closed" => LinkEvent::Closed { peer },
        other => return Err(argument("peers", format!("there is no event {other}")).into()),
    };
    room.channels.events.borrow_mut().push_back(event);
    room.channels.wake();
    Ok(())
}

/// The clock goes on; what has arrived is taken in, and the others hear that this member is alive.
#[wasm_bindgen]
pub fn peers_tick(number: u32, now: f64) -> Result<(), JsError> {
    let room = room(number)?;
    let now = Duration::from_secs_f64(now.max(0.0) / 1e3);
    room.channels.now.set(room.channels.now.get().max(now));
    if let Some(peers) = room.peers.borrow().clone() {
        peers.tick();
    }
    room.channels.wake();
    Ok(())
}

/// What is set by name, as JSON.
fn options(json: &str) -> Fallible<DilocoOptions> {
    let given: Value = serde_json::from_str(json).unwrap_or_default();
    let mut options = DilocoOptions { compression: Compression::INT8, ..DilocoOptions::default() };
    let number = |name: &str, value: &Value| {
        value.as_f64().ok_or_else(|| argument("together", format!("{name} must be a number, not {value}")))
    };
    for (name, value) in given.as_object().into_iter().flatten() {
        match name.as_str() {
            "innerSteps" => options.inner_steps = number(name, value)? as u64,
            "outerRate" => options.outer_rate = number(name, value)?,
            "outerMomentum" => options.outer_momentum = number(name, value)?,
            "largestNorm" => options.largest_norm = number(name, value)?,
            "compression" => {
                options.compression = match (value.as_str(), value["topK"].as_f64()) {
                    (Some("none"), _) => Compression::None,
                    (Some("int8"), _) => Compression::INT8,
                    (None, Some(share)) => Compression::TopK { share },
                    _ => {
                        let message =
                            format!("compression is \"none\", \"int8\" or {{ topK: share }}, not {value}");
                        return Err(argument("together", message));
                    }
                }
            }
            other => return Err(argument("together", format!("there is no option {other}"))),
        }
    }
    Ok(options)
}

/// Lets this member in, or begins a group; then its parameters are the group's.
#[wasm_bindgen]
pub async fn peers_join(number: u32, slots: Vec<u32>, settings: String) -> Result<(), JsError> {
    let room = room(number)?;
    let options = options(&settings)?;
    let parameters = slots.iter().map(|&number| parameter(number)).collect::<Fallible<Vec<Parameter>>>()?;
    // Parameters lie at multiples of 128 numbers.
    let numbers: usize =
        parameters.iter().map(|parameter| parameter.value().numel().next_multiple_of(128)).sum();
    let agreement = Diloco::agreement(&parameters, &options);
    let known = room.peers.borrow().clone();
    let peers = match known {
        Some(peers) => {
            peers.join_again().await?;
            peers
        }
        None => {
            let links = room.channels.clone();
            Rc::new(Peers::join(links, PeersOptions::new(agreement, numbers)).await?)
        }
    };
    room.peers.replace(Some(peers.clone()));
    let together = Diloco::join(parameters, options, &peers).await?;
    room.rounds.set(together.rounds());
    room.together.replace(Some(together));
    Ok(())
}

/// Makes a round with all who are there.
#[wasm_bindgen]
pub async fn peers_meet(number: u32) -> Result<(), JsError> {
    let room = room(number)?;
    let peers = room.peers.borrow().clone();
    let (Some(mut together), Some(peers)) = (room.together.take(), peers) else {
        return Err(argument("together", "a round is under way already, or the member has left").into());
    };
    let met = together.meet(&peers).await;
    room.rounds.set(together.rounds());
    // Who has left meanwhile stays so.
    if room.peers.borrow().is_some() {
        room.together.replace(Some(together));
    }
    met?;
    Ok(())
}

/// As JSON: rounds, the members' numbers by rank, and what has happened since this was asked last.
#[wasm_bindgen]
pub fn peers_state(number: u32) -> Result<String, JsError> {
    let room = room(number)?;
    let peers = room.peers.borrow().clone();
    let members: Vec<String> = peers.iter().flat_map(|peers| peers.members()).map(written).collect();
    let told = |news: PeerNews| match news {
        PeerNews::Came { peer } => json!({ "kind": "came", "peer": written(peer), "why": "" }),
        PeerNews::Left { peer, why } => json!({ "kind": "left", "peer": written(peer), "why": why }),
        PeerNews::Refused { peer, why } => json!({ "kind": "refused", "peer": written(peer), "why": why }),
    };
    let news: Vec<Value> = peers.iter().flat_map(|peers| peers.take_news()).map(told).collect();
    let rank = peers.as_ref().map_or(0, |peers| peers.rank());
    Ok(json!({ "rounds": room.rounds.get(), "rank": rank, "members": members, "news": news }).to_string())
}

/// Leaves: the links end, and a round that is under way with them.
#[wasm_bindgen]
pub fn peers_leave(number: u32) -> Result<(), JsError> {
    let room = room(number)?;
    room.together.take();
    room.peers.take();
    ROOMS.with(|rooms| rooms.remove(number));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_peers_are_uuids() {
        let text = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        assert_eq!(written(read(text).unwrap()), text);
        for wrong in ["", "67e55044", "g7e55044-10b1-426f-9247-bb680e5fe0c8"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn options_by_name() {
        let wanted = DilocoOptions {
            inner_steps: 7,
            compression: Compression::TopK { share: 0.1 },
            ..DilocoOptions::default()
        };
        assert_eq!(options(r#"{"innerSteps":7,"compression":{"topK":0.1}}"#).unwrap(), wanted);
        for wrong in [r#"{"inner":7}"#, r#"{"innerSteps":"7"}"#, r#"{"compression":"zip"}"#] {
            assert!(options(wrong).is_err(), "{wrong}");
        }
    }
}
