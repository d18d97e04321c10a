//! The server's side: it sees public keys, masked vectors and shares, and gives the sum.

use super::{Advertised, Question, Revealed, keys, refused, shamir};
use crate::error::Result;
use std::collections::BTreeMap;
use x25519_dalek::{PublicKey, StaticSecret};

/// The server of one sum.
pub struct Server {
    threshold: usize,
    /// Clients that take part, by number.
    all: BTreeMap<u8, Advertised>,
    /// The sum of the masked vectors so far, and whose they are.
    masked: Vec<u32>,
    present: std::collections::BTreeSet<u8>,
}

impl Server {
    /// A server for these clients, all of which have shared their keys with each other. (Who has not is left out here and in what
    /// others are given.)
    pub fn new(threshold: usize, all: BTreeMap<u8, Advertised>) -> Result<Server> {
        if threshold < 2 || all.len() < threshold || all.contains_key(&u8::MAX) {
            return Err(refused(format!(
                "{} clients with threshold {threshold}; take 2 to 255 clients",
                all.len()
            )));
        }
        Ok(Server { threshold, all, masked: Vec::new(), present: Default::default() })
    }

    /// Takes a masked vector. All have the same length.
    pub fn take(&mut self, id: u8, masked: Vec<u32>) -> Result<()> {
        if !self.all.contains_key(&id) {
            return Err(refused(format!("client {id} does not take part")));
        }
        if !self.present.is_empty() && masked.len() != self.masked.len() {
            let message = format!("client {id} has {} numbers, others {}", masked.len(), self.masked.len());
            return Err(refused(message));
        }
        if !self.present.insert(id) {
            return Err(refused(format!("client {id} has sent its vector before")));
        }
        if self.masked.is_empty() {
            self.masked = masked;
        } else {
            self.masked.iter_mut().zip(masked).for_each(|(sum, word)| *sum = sum.wrapping_add(word));
        }
        Ok(())
    }

    /// What those who are present are asked. With fewer than the threshold the masks cannot be taken out.
    pub fn question(&self) -> Result<Question> {
        if self.present.len() < self.threshold {
            let message = format!(
                "{} of {} clients are left, and {} are needed",
                self.present.len(),
                self.all.len(),
                self.threshold
            );
            return Err(refused(message));
        }
        let dropped = self.all.keys().filter(|id| !self.present.contains(id)).copied().collect();
        Ok(Question { present: self.present.clone(), dropped })
    }

    /// The sum of the vectors of all who are present, given the answers of at least `threshold` clients.
    pub fn sum(&self, revealed: &BTreeMap<u8, Revealed>) -> Result<Vec<u32>> {
        let question = self.question()?;
        if let Some(stranger) = revealed.keys().find(|id| !question.present.contains(id)) {
            return Err(refused(format!("an answer of client {stranger}, which is not present")));
        }
        let secret = |id: u8, shares: fn(&Revealed) -> &BTreeMap<u8, [u8; 32]>| {
            let of = revealed.iter().filter_map(|(from, answer)| Some((from + 1, *shares(answer).get(&id)?)));
            shamir::combine(&of.collect::<Vec<_>>(), self.threshold)
        };
        let mut sum = self.masked.clone();
        for &id in &question.present {
            keys::add(&mut sum, secret(id, |answer| &answer.seeds)?, false);
        }
        for &id in &question.dropped {
            let key = StaticSecret::from(secret(id, |answer| &answer.keys)?);
            if PublicKey::from(&key).to_bytes() != self.all[&id].mask {
                return Err(refused(format!("the shares of client {id}'s key do not give its key")));
            }
            // What the others have added for it, it would have taken away: it is its mask with each of them.
            for &other in &question.present {
                keys::add_shared(&mut sum, &key, id, &self.all[&other], other)?;
            }
        }
        Ok(sum)
    }
}
