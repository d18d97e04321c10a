//! Sums of vectors of which nobody learns the parts: secure aggregation after Bonawitz et al., "Practical Secure Aggregation for
//! Privacy-Preserving Machine Learning" (CCS 2017), for clients and a server that are both of this crate. (Flower's own SecAgg+ makes
//! its masks from 32 bits; this is not it, and does not talk to it.)
//!
//! Every client adds masks to its vector: one for each other client, of a key that both agree on and that cancels in the sum, and one
//! of its own. Keys and seeds are shared out among all, so that the server can take out the masks of those who drop out on the
//! way, by the help of `threshold` others. Of a client they give either the key (it dropped out) or the seed (its vector is in the sum);
//! both together would show its vector, and a client that is asked for both refuses.
//!
//! | round | a client sends | the server sends on |
//! |---|---|---|
//! | 1 | [`Advertised`]: two public keys (X25519) | all of them |
//! | 2 | for each other client, encrypted: shares of its key and of its seed | each what is for it |
//! | 3 | its vector under all masks | who is still there: [`Question`] |
//! | 4 | [`Revealed`]: shares of others' keys or seeds | the sum |
//!
//! Messages are plain data; who carries them is left open. The server follows the protocol but is curious, as may be fewer than
//! `threshold` of the clients together with it: take more than half of all clients as the threshold. A server that shows clients different
//! keys than they sent is beyond this; it would need keys that clients know beforehand.
//!
//! ```
//! use flambeau_flower::secure::{Client, FixedPoint, Server};
//! use std::collections::BTreeMap;
//! let numbers = [[0.5f32, -1.0], [0.25, 2.0], [1.0, 1.0]];
//! let fixed = FixedPoint::new(4.0, 3)?;
//! let mut clients: Vec<Client> = (0..3).map(|id| Client::new(id, 2)).collect::<Result<_, _>>()?;
//! let advertised: BTreeMap<u8, _> = clients.iter().map(|client| (client.id(), client.advertise())).collect();
//! let mut server = Server::new(2, advertised.clone())?;
//! // Round 2: each client's parcels go to those they are for.
//! let mut parcels = BTreeMap::new();
//! for client in &mut clients {
//!     for (to, parcel) in client.share(&advertised)? {
//!         parcels.entry(to).or_insert_with(BTreeMap::new).insert(client.id(), parcel);
//!     }
//! }
//! // Round 3: the last client drops out after it has shared.
//! for (client, numbers) in clients.iter_mut().zip(&numbers).take(2) {
//!     let masked = client.mask(&fixed.encode(numbers)?, parcels.remove(&client.id()).unwrap_or_default())?;
//!     server.take(client.id(), masked)?;
//! }
//! // Round 4.
//! let question = server.question()?;
//! let revealed = clients.iter_mut().take(2).map(|client| Ok((client.id(), client.reveal(&question)?)));
//! let sum = server.sum(&revealed.collect::<flambeau_flower::Result<_>>()?)?;
//! assert_eq!(fixed.decode(&sum), [0.75, 1.0]);
//! # Ok::<(), flambeau_flower::FlowerError>(())
//! ```

mod client;
mod fixed;
mod keys;
mod server;
mod shamir;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use fixed::FixedPoint;
pub use server::Server;

use crate::error::FlowerError;
use std::collections::{BTreeMap, BTreeSet};

/// A client's public keys: one to encrypt what is for it, one for masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advertised {
    /// For encryption.
    pub cipher: [u8; 32],
    /// For masks.
    pub mask: [u8; 32],
}

/// Who is still there, as the server says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// Clients whose vectors are in the sum: their seeds are wanted.
    pub present: BTreeSet<u8>,
    /// Clients that shared, and then dropped out: their keys are wanted.
    pub dropped: BTreeSet<u8>,
}

/// Shares of a client's answer, by the client that they are of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Revealed {
    /// Of seeds.
    pub seeds: BTreeMap<u8, [u8; 32]>,
    /// Of keys.
    pub keys: BTreeMap<u8, [u8; 32]>,
}

fn refused(message: impl Into<String>) -> FlowerError {
    FlowerError::Argument { what: "secure aggregation", message: message.into() }
}
