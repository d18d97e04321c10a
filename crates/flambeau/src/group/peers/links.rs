//! What carries messages between peers: what a [`Peers`](super::Peers) asks of it.

use std::fmt::{self, Debug, Display};
use std::pin::Pin;
use std::time::Duration;

/// A member of a room, by the number that the room has given it: the 128 bits of a UUID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u128);

impl Display for PeerId {
    /// The first eight digits, which tell the members of a room apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0 >> 96)
    }
}

impl Debug for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What happens on the links to other members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkEvent {
    /// A link is being made.
    Coming {
        /// To whom.
        peer: PeerId,
        /// Was that member in the room before this one?
        older: bool,
    },
    /// A link can be used.
    Opened {
        /// To whom.
        peer: PeerId,
    },
    /// Bytes have arrived, as they were sent.
    Received {
        /// From whom.
        peer: PeerId,
        /// At most [`Peers::LARGEST`](super::Peers::LARGEST) from an honest member.
        bytes: Vec<u8>,
    },
    /// A link has ended, or could not be made.
    Closed {
        /// To whom.
        peer: PeerId,
    },
}

/// Links to the other members of a room: in browsers data channels of WebRTC, which are reliable and ordered. Messages of one
/// member keep their order, those of different members need not. Nobody can send in another's name.
pub trait Links: Debug {
    /// This member.
    fn own(&self) -> PeerId;

    /// Hands bytes over; they are lost if the link is not open. Does not wait.
    fn send(&self, to: PeerId, bytes: &[u8]);

    /// Ends a link.
    fn close(&self, peer: PeerId);

    /// What has happened next; `None` if nothing has.
    fn next_event(&self) -> Option<LinkEvent>;

    /// A clock.
    fn now(&self) -> Duration;

    /// Waits until something may have happened, or for this long.
    fn wait(&self, at_most: Duration) -> Pin<Box<dyn Future<Output = ()> + '_>>;
}
