//! Keys that two clients agree on, what is encrypted with them, and masks made of them.

use super::{Advertised, refused};
use crate::error::{FlowerError, Result};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{ChaCha20Poly1305, KeyInit};
use hkdf::Hkdf;
use sha2::Sha256;
use x25519_dalek::{PublicKey, StaticSecret};

/// What keys are derived for: each purpose has its own.
const CIPHER: &[u8] = b"flambeau secure aggregation 1: cipher";
const MASK: &[u8] = b"flambeau secure aggregation 1: mask";

/// A client's secret keys and the seed of its own mask.
pub struct Secrets {
    pub cipher: StaticSecret,
    pub mask: StaticSecret,
    pub seed: [u8; 32],
}

impl Secrets {
    pub fn draw(random: &mut ChaCha20Rng) -> Secrets {
        let mut draw = || {
            let mut bytes = [0; 32];
            random.fill_bytes(&mut bytes);
            bytes
        };
        Secrets { cipher: draw().into(), mask: draw().into(), seed: draw() }
    }

    pub fn public(&self) -> Advertised {
        Advertised {
            cipher: PublicKey::from(&self.cipher).to_bytes(),
            mask: PublicKey::from(&self.mask).to_bytes(),
        }
    }
}

/// A generator of the system's randomness.
pub fn random() -> Result<ChaCha20Rng> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| FlowerError::Randomness(error.to_string()))?;
    Ok(ChaCha20Rng::from_seed(seed))
}

/// The key of two clients for a purpose.
fn agree(own: &StaticSecret, other: &[u8; 32], purpose: &[u8]) -> Result<[u8; 32]> {
    let shared = own.diffie_hellman(&PublicKey::from(*other));
    if !shared.was_contributory() {
        return Err(refused("a public key is one of the few that make every agreement the same"));
    }
    let mut key = [0; 32];
    let expanded = Hkdf::<Sha256>::new(None, shared.as_bytes()).expand(purpose, &mut key);
    expanded.expect("32 bytes are fewer than HKDF can give");
    Ok(key)
}

/// Encrypts what one client has for another. A key of two clients encrypts one parcel each way, told apart by the sender's number.
pub fn seal(own: &StaticSecret, other: &[u8; 32], from: u8, to: u8, parcel: &[u8]) -> Result<Vec<u8>> {
    let key = agree(own, other, CIPHER)?;
    let payload = Payload { msg: parcel, aad: &[from, to] };
    let sealed = ChaCha20Poly1305::new(&key.into()).encrypt(&nonce(from).into(), payload);
    sealed.map_err(|_| refused("a parcel could not be encrypted"))
}

/// Reads what [`seal`] has encrypted.
pub fn open(own: &StaticSecret, other: &[u8; 32], from: u8, to: u8, sealed: &[u8]) -> Result<Vec<u8>> {
    let key = agree(own, other, CIPHER)?;
    let payload = Payload { msg: sealed, aad: &[from, to] };
    let opened = ChaCha20Poly1305::new(&key.into()).decrypt(&nonce(from).into(), payload);
    opened.map_err(|_| {
        refused(format!("what client {from} has shared with client {to} was changed on its way"))
    })
}

fn nonce(from: u8) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[0] = from;
    nonce
}

/// Adds the mask of two clients, or takes it away: the client with the lower number adds.
pub fn add_shared(
    vector: &mut [u32],
    own: &StaticSecret,
    own_id: u8,
    other: &Advertised,
    other_id: u8,
) -> Result<()> {
    add(vector, agree(own, &other.mask, MASK)?, own_id < other_id);
    Ok(())
}

/// Adds the numbers that a seed stands for, or takes them away.
pub fn add(vector: &mut [u32], seed: [u8; 32], plus: bool) {
    let mut numbers = ChaCha20Rng::from_seed(seed);
    for word in vector {
        let number = numbers.next_u32();
        *word = if plus { word.wrapping_add(number) } else { word.wrapping_sub(number) };
    }
}
