//! What members do together, made of messages from one to another.
//!
//! A sum over n members of L numbers: each member owns a segment of L/n, gets it from all others, adds up in the order of
//! ranks, and sends the result to all. A member sends 2 (n − 1)/n · L numbers, as in a ring, in 2 (n − 1) messages, none of
//! which has to wait for another member's but the sums.

use super::{Group, Reduce};
use crate::error::{Error, Result};
use std::ops::Range;
use web_time::Instant;

/// Bytes of a broadcast in one message.
const PIECE: usize = 64 << 20;

/// What a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Broadcast = 1,
    Gather,
    Barrier,
    AllReduce,
}

const KINDS: [Kind; 4] = [Kind::Broadcast, Kind::Gather, Kind::Barrier, Kind::AllReduce];

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Broadcast => "broadcast",
            Kind::Gather => "gather",
            Kind::Barrier => "barrier",
            Kind::AllReduce => "all_reduce",
        }
    }
}

/// What stands at the end of every message: three words (kind, number, label).
const TRAILER: usize = 12;

/// One thing that is done together.
#[derive(Clone, Copy)]
struct Doing<'g, G: ?Sized> {
    group: &'g G,
    kind: Kind,
    /// How many there were before.
    number: u32,
    /// What the numbers are of, where that may differ.
    label: u32,
}

impl<'g, G: Group + ?Sized> Doing<'g, G> {
    fn new(group: &'g G, kind: Kind, label: u32) -> Self {
        Doing { group, kind, number: group.traffic().next(), label }
    }

    /// Ranks of the others, in order.
    fn others(&self) -> impl Iterator<Item = usize> + use<G> {
        let own = self.group.rank();
        (0..self.group.size()).filter(move |&rank| rank != own)
    }

    fn send(&self, to: usize, body: &[u8]) -> Result<()> {
        let mut message = Vec::with_capacity(body.len() + TRAILER);
        message.extend_from_slice(body);
        for word in [self.kind as u32, self.number, self.label] {
            message.extend_from_slice(&word.to_le_bytes());
        }
        self.group.traffic().sent(message.len());
        self.group.send(to, message)
    }

    async fn receive(&self, from: usize) -> Result<Vec<u8>> {
        let start = Instant::now();
        let received = self.group.receive(from).await;
        self.group.traffic().waited_since(start);
        let op = self.kind.name();
        let mut message = received.map_err(|error| match error {
            Error::Group { rank, message, .. } => Error::Group { op, rank, message },
            other => other,
        })?;
        let wrong = |message: String| {
            self.group.refuse(from, &message);
            Err(Error::group(op, from, message))
        };
        let Some(length) = message.len().checked_sub(TRAILER) else {
            return wrong(format!("sent {} bytes, which are no message", message.len()));
        };
        let word = |k: usize| {
            let bytes = &message[length + 4 * k..length + 4 * k + 4];
            u32::from_le_bytes(bytes.try_into().expect("four bytes"))
        };
        let (kind, number, label) = (word(0), word(1), word(2));
        if (kind, number) != (self.kind as u32, self.number) {
            let theirs =
                KINDS.iter().find(|known| **known as u32 == kind).map_or("nothing known", |k| k.name());
            let message = format!(
                "is at another point of the program: it does {theirs} number {number}, here it is {op} number {}; all members \
                 must do the same things in the same order",
                self.number
            );
            return wrong(message);
        }
        if label != self.label {
            return wrong(
                "has gradients for other parameters than this member; all must have them for the same ones"
                    .into(),
            );
        }
        message.truncate(length);
        Ok(message)
    }

    async fn receive_numbers(&self, from: usize, count: usize) -> Result<Vec<f32>> {
        let bytes = self.receive(from).await?;
        if bytes.len() != 4 * count {
            let message = format!("sent {} numbers where {count} were expected", bytes.len() / 4);
            return Err(Error::group(self.kind.name(), from, message));
        }
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }
}

pub(super) async fn gather<G: Group + ?Sized>(group: &G, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>> {
    gather_as(group, Kind::Gather, bytes).await
}

pub(super) async fn barrier<G: Group + ?Sized>(group: &G) -> Result<()> {
    gather_as(group, Kind::Barrier, Vec::new()).await.map(|_| ())
}

async fn gather_as<G: Group + ?Sized>(group: &G, kind: Kind, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>> {
    let doing = Doing::new(group, kind, 0);
    for to in doing.others() {
        doing.send(to, &bytes)?;
    }
    let mut all = vec![Vec::new(); group.size()];
    all[group.rank()] = bytes;
    for from in doing.others() {
        all[from] = doing.receive(from).await?;
    }
    Ok(all)
}

/// Along a binomial tree: in round k those 2ᵏ members that have the bytes send them on, in pieces.
pub(super) async fn broadcast<G: Group + ?Sized>(group: &G, root: usize, bytes: Vec<u8>) -> Result<Vec<u8>> {
    let doing = Doing::new(group, Kind::Broadcast, 0);
    let size = group.size();
    if root >= size {
        return Err(Error::argument("broadcast", format!("there is no member {root} in a group of {size}")));
    }
    let place = (group.rank() + size - root) % size;
    let rank_of = |place: usize| (place + root) % size;
    let mut bytes = bytes;
    // The highest bit of a place is the round in which its member gets the bytes.
    let first_round = match place {
        0 => 0,
        _ => place.ilog2() + 1,
    };
    if place > 0 {
        let from = rank_of(place - (1 << place.ilog2()));
        let length = doing.receive(from).await?;
        let length = length
            .try_into()
            .map(u64::from_le_bytes)
            .map_err(|_| Error::group("broadcast", from, "sent no length before the bytes"))?;
        bytes = Vec::new();
        while (bytes.len() as u64) < length {
            bytes.extend_from_slice(&doing.receive(from).await?);
        }
    }
    let receivers = (first_round..usize::BITS).map(|round| place.saturating_add(1 << round));
    for to in receivers.take_while(|&to| to < size).map(rank_of) {
        doing.send(to, &(bytes.len() as u64).to_le_bytes())?;
        bytes.chunks(PIECE).try_for_each(|piece| doing.send(to, piece))?;
    }
    Ok(bytes)
}

pub(super) async fn all_reduce<G: Group + ?Sized>(
    group: &G,
    values: Vec<f32>,
    reduce: Reduce,
) -> Result<Vec<f32>> {
    let mut reduction = Reduction::new(group, reduce, 0);
    reduction.add(values)?;
    Ok(reduction.finish().await?.pop().unwrap_or_default())
}

/// The part of `length` numbers that a member adds up.
fn segment(length: usize, rank: usize, size: usize) -> Range<usize> {
    let start = |rank: usize| length / size * rank + (length % size).min(rank);
    start(rank)..start(rank + 1)
}

/// A sum over all members of numbers that come in parts: each is under way as soon as it is there.
pub(crate) struct Reduction<'g, G: Group + ?Sized> {
    doing: Doing<'g, G>,
    reduce: Reduce,
    parts: Vec<Vec<f32>>,
    begun: Option<Instant>,
}

impl<'g, G: Group + ?Sized> Reduction<'g, G> {
    /// Members whose labels differ get an error.
    pub fn new(group: &'g G, reduce: Reduce, label: u32) -> Self {
        Reduction { doing: Doing::new(group, Kind::AllReduce, label), reduce, parts: Vec::new(), begun: None }
    }

    /// Sends the next part to those who add it up.
    pub fn add(&mut self, part: Vec<f32>) -> Result<()> {
        self.begun.get_or_insert_with(Instant::now);
        let size = self.doing.group.size();
        for to in self.doing.others() {
            self.doing.send(to, bytemuck::cast_slice(&part[segment(part.len(), to, size)]))?;
        }
        self.parts.push(part);
        Ok(())
    }

    /// Adds up what belongs to this member, and gets the other sums: the parts, reduced.
    pub async fn finish(mut self) -> Result<Vec<Vec<f32>>> {
        let (rank, size) = (self.doing.group.rank(), self.doing.group.size());
        if size == 1 {
            return Ok(self.parts);
        }
        let share = match self.reduce {
            Reduce::Sum => 1.0,
            Reduce::Mean => size as f64,
        };
        for part in &mut self.parts {
            let own = segment(part.len(), rank, size);
            let mut sums = vec![0.0_f64; own.len()];
            for from in 0..size {
                let received;
                let values = match from == rank {
                    true => &part[own.clone()],
                    false => {
                        received = self.doing.receive_numbers(from, own.len()).await?;
                        &received[..]
                    }
                };
                sums.iter_mut().zip(values).for_each(|(sum, &value)| *sum += f64::from(value));
            }
            let reduced = &mut part[own];
            reduced.iter_mut().zip(sums).for_each(|(value, sum)| *value = (sum / share) as f32);
            for to in self.doing.others() {
                self.doing.send(to, bytemuck::cast_slice(reduced))?;
            }
        }
        for part in &mut self.parts {
            for from in self.doing.others() {
                let theirs = segment(part.len(), from, size);
                let reduced = self.doing.receive_numbers(from, theirs.len()).await?;
                part[theirs].copy_from_slice(&reduced);
            }
        }
        if let Some(begun) = self.begun {
            self.doing.group.traffic().reduced_since(begun);
        }
        Ok(self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::segment;

    #[test]
    fn segments_cover_all_numbers_once() {
        for length in [0, 1, 2, 7, 100] {
            for size in 1..6 {
                let all: Vec<usize> = (0..size).flat_map(|rank| segment(length, rank, size)).collect();
                assert_eq!(all, (0..length).collect::<Vec<_>>(), "{length} numbers, {size} members");
            }
        }
    }
}
