//! A client's side.

use super::keys::{self, Secrets};
use super::{Advertised, Question, Revealed, refused, shamir};
use crate::error::Result;
use chacha20::ChaCha20Rng;
use std::collections::{BTreeMap, BTreeSet};

/// A client of one sum. It is used once: keys and masks are for one vector.
pub struct Client {
    id: u8,
    threshold: usize,
    secrets: Secrets,
    random: ChaCha20Rng,
    /// Everybody's public keys, this client's too, once they are known.
    all: BTreeMap<u8, Advertised>,
    /// What others have shared with this client: of their keys, of their seeds.
    held: BTreeMap<u8, ([u8; 32], [u8; 32])>,
    masked: bool,
    answered: Option<Question>,
}

impl Client {
    /// The client of that number, below 255; `threshold` others can take out the masks of one who drops out.
    pub fn new(id: u8, threshold: usize) -> Result<Client> {
        Client::with_random(id, threshold, keys::random()?)
    }

    /// As [`Client::new`], of this randomness: for tests.
    pub(super) fn with_random(id: u8, threshold: usize, mut random: ChaCha20Rng) -> Result<Client> {
        if id == u8::MAX || threshold < 2 {
            return Err(refused(format!(
                "client {id} with threshold {threshold}; there are numbers to 254, and thresholds from 2"
            )));
        }
        let secrets = Secrets::draw(&mut random);
        let (all, held) = Default::default();
        Ok(Client { id, threshold, secrets, random, all, held, masked: false, answered: None })
    }

    /// This client's number.
    pub fn id(&self) -> u8 {
        self.id
    }

    /// Round 1.
    pub fn advertise(&self) -> Advertised {
        self.secrets.public()
    }

    /// Round 2: shares of this client's key and seed, encrypted for each of the others.
    pub fn share(&mut self, all: &BTreeMap<u8, Advertised>) -> Result<BTreeMap<u8, Vec<u8>>> {
        if !self.all.is_empty() {
            return Err(refused("this client has shared its keys; each sum has clients of its own"));
        }
        if all.get(&self.id) != Some(&self.advertise()) {
            return Err(refused("the server does not have this client's own keys"));
        }
        if all.len() < self.threshold || all.contains_key(&u8::MAX) {
            return Err(refused(format!("{} clients, and {} are needed", all.len(), self.threshold)));
        }
        let distinct: BTreeSet<[u8; 32]> = all.values().flat_map(|keys| [keys.cipher, keys.mask]).collect();
        if distinct.len() != 2 * all.len() {
            return Err(refused("two clients have the same key"));
        }
        let places: Vec<u8> = all.keys().map(|id| id + 1).collect();
        let keys = shamir::split(&self.secrets.mask.to_bytes(), self.threshold, &places, &mut self.random);
        let seeds = shamir::split(&self.secrets.seed, self.threshold, &places, &mut self.random);
        let mut parcels = BTreeMap::new();
        for ((&to, public), (key, seed)) in all.iter().zip(keys.into_iter().zip(seeds)) {
            if to == self.id {
                self.held.insert(to, (key, seed));
                continue;
            }
            let parcel = [key, seed].concat();
            parcels.insert(to, keys::seal(&self.secrets.cipher, &public.cipher, self.id, to, &parcel)?);
        }
        self.all = all.clone();
        Ok(parcels)
    }

    /// Round 3: the vector under all masks, given the parcels of all who have shared.
    pub fn mask(&mut self, vector: &[u32], parcels: BTreeMap<u8, Vec<u8>>) -> Result<Vec<u32>> {
        if self.masked || self.all.is_empty() {
            return Err(refused("a client shares its keys, and then masks one vector"));
        }
        if parcels.len() + 1 < self.threshold {
            return Err(refused(format!(
                "{} clients have shared, and {} are needed",
                parcels.len() + 1,
                self.threshold
            )));
        }
        let mut masked = vector.to_vec();
        for (from, parcel) in parcels {
            let public = self.all.get(&from).filter(|_| from != self.id);
            let public =
                public.ok_or_else(|| refused(format!("shares of client {from}, which nobody knows")))?;
            let parcel = keys::open(&self.secrets.cipher, &public.cipher, from, self.id, &parcel)?;
            let (key, seed) = parcel.split_at_checked(32).ok_or_else(|| refused("a parcel is too short"))?;
            let whole = |bytes: &[u8]| bytes.try_into().map_err(|_| refused("a parcel is not two shares"));
            self.held.insert(from, (whole(key)?, whole(seed)?));
            keys::add_shared(&mut masked, &self.secrets.mask, self.id, public, from)?;
        }
        keys::add(&mut masked, self.secrets.seed, true);
        self.masked = true;
        Ok(masked)
    }

    /// Round 4: shares of the seeds of those present and of the keys of those dropped. Of one client it is never both: not in one
    /// question, and not in two.
    pub fn reveal(&mut self, question: &Question) -> Result<Revealed> {
        if !self.masked {
            return Err(refused("there is nothing to reveal before the vector is masked"));
        }
        if let Some(both) = question.present.intersection(&question.dropped).next() {
            return Err(refused(format!(
                "the server asks for key and seed of client {both}: its vector would be seen"
            )));
        }
        if self.answered.as_ref().is_some_and(|answered| answered != question) {
            return Err(refused(
                "the server has asked another question before: together they could show a vector",
            ));
        }
        if question.present.len() < self.threshold {
            let message =
                format!("{} clients are left, and {} are needed", question.present.len(), self.threshold);
            return Err(refused(message));
        }
        if !question.present.contains(&self.id) {
            return Err(refused("the server asks this client, and says that it has gone"));
        }
        let held = |id: &u8| {
            let shares = self.held.get(id);
            shares.ok_or_else(|| refused(format!("client {id} has not shared with this client")))
        };
        let seeds = question.present.iter().map(|id| Ok((*id, held(id)?.1))).collect::<Result<_>>()?;
        let keys = question.dropped.iter().map(|id| Ok((*id, held(id)?.0))).collect::<Result<_>>()?;
        self.answered = Some(question.clone());
        Ok(Revealed { seeds, keys })
    }
}
