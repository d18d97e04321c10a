//! Rounds of DiLoCo among members who do not trust each other ([`Group::is_trusted`]).
//!
//! 1. Each sends its update to all, and judges what it gets: its length, that it is finite, its norm. Who sends something else is
//!    refused by name.
//! 2. Each adds up, and tells all a digest of every update that it has got and of the model that they lead to. Only if all
//!    have said the same does it go on from that model. So a member that sends different updates to different members is found, and
//!    after a round is made all who stay have the same model.
//! 3. A member may be lost while the digests travel: some have then gone on, others not. But they are *prepared*: who has seen all digests
//!    knows that all others have all updates. Before the next round all say what they hold and what they are prepared for, and go on
//!    from what most have. So no round is lost, and nobody who has taken part ever takes a model from somebody else; only
//!    newcomers do, and they check it against the digest that most have said.

use super::diloco::{Diloco, Outer};
use crate::error::{Error, Result};
use crate::group::peers::digest;
use crate::group::{Group, Membership};
use std::collections::BTreeMap;

type Digest = [u8; 16];

/// What all members have sent.
pub(super) struct Exchanged {
    pub mean: Vec<f32>,
    /// What compression has kept of this member's update.
    pub kept: Vec<f32>,
    /// Of the bytes of each member's update.
    pub digests: Vec<Digest>,
}

/// The Euclidean norm.
pub(super) fn norm(numbers: &[f32]) -> f64 {
    numbers.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt()
}

impl Outer {
    fn digest(&self) -> Digest {
        let numbers = [&self.start[..], &self.velocity].concat();
        let mut bytes = self.rounds.to_le_bytes().to_vec();
        numbers.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
        digest(&bytes)
    }
}

/// A member has sent what it must not.
fn refused(group: &dyn Group, op: &'static str, rank: usize, why: String) -> Error {
    group.refuse(rank, &why);
    Error::group(op, rank, why)
}

/// Tells the others what this one has got and what it leads to; an error if anybody says something else.
pub(super) async fn confirm(group: &dyn Group, digests: &[Digest], next: &Outer) -> Result<()> {
    const OP: &str = "Diloco::round";
    let own = [digests, &[next.digest()][..]].concat();
    let all = group.gather(own.concat()).await?;
    let (size, rank) = (group.size(), group.rank());
    let mut said: Vec<Vec<Digest>> = Vec::with_capacity(size);
    for (rank, bytes) in all.iter().enumerate() {
        let (digests, rest) = bytes.as_chunks::<16>();
        if digests.len() != size + 1 || !rest.is_empty() {
            return Err(refused(group, OP, rank, "has not said what it has got".into()));
        }
        said.push(digests.to_vec());
    }
    // Who says something else than most, about each member's update and, last, about the model.
    let mut first = None;
    for about in 0..=size {
        let claims: Vec<Digest> = said.iter().map(|digests| digests[about]).collect();
        let common = most_common(&claims);
        for other in (0..size).filter(|&other| claims[other] != common) {
            let sender = if about < size {
                about
            } else {
                claims.iter().position(|x| *x == common).unwrap_or_default()
            };
            match (sender == rank, other == rank) {
                (true, true) => {}
                (true, false) => {
                    group.refuse(other, "says that it has got something else than was sent to it")
                }
                (false, true) => group.refuse(sender, "has sent different updates to different members"),
                (false, false) => group.doubt(sender, other),
            }
            first.get_or_insert(if sender == rank { other } else { sender });
        }
    }
    match first {
        None => Ok(()),
        Some(rank) => Err(Error::group(OP, rank, "and another member say different things about its update")),
    }
}

/// What is said most often; of several, what the first of their members says.
fn most_common<T: PartialEq + Copy>(said: &[T]) -> T {
    let count = |x: &T| said.iter().filter(|y| *y == x).count();
    let mut best = said[0];
    for x in said {
        if count(x) > count(&best) {
            best = *x;
        }
    }
    best
}

/// What a member holds, and what it is prepared for.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Status {
    rounds: u64,
    held: Digest,
    prepared: Option<Digest>,
}

impl Status {
    fn encode(&self) -> Vec<u8> {
        let prepared = self.prepared.as_ref().map(|digest| &digest[..]).unwrap_or_default();
        [&self.rounds.to_le_bytes()[..], &self.held, prepared].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Status> {
        let (rounds, rest) = bytes.split_first_chunk::<8>()?;
        let (held, rest) = rest.split_first_chunk::<16>()?;
        let prepared = if rest.is_empty() { None } else { Some(rest.try_into().ok()?) };
        // Nobody has made so many.
        let rounds = Some(u64::from_le_bytes(*rounds)).filter(|&rounds| rounds < 1 << 48)?;
        Some(Status { rounds, held: *held, prepared })
    }

    /// The models that it can go on from, with the number of rounds behind each.
    fn reaches(&self) -> impl Iterator<Item = (u64, Digest)> {
        let prepared = self.prepared.map(|digest| (self.rounds.saturating_add(1), digest));
        [(self.rounds, self.held)].into_iter().chain(prepared)
    }
}

impl Diloco {
    /// Makes a round with all who stay, then lets members leave and join: what a member of a group of strangers calls after its inner steps. A round in
    /// which a member is lost or refused is made again without it.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::group::{Group, Threads};
    /// use flambeau::{nn::Linear, train::{Diloco, DilocoOptions}};
    /// # flambeau::block_on(async {
    /// let group = Threads::group(1).remove(0); // in a page: `Peers`
    /// let model = Linear::new(2, 1, &Device::cpu());
    /// let mut together = Diloco::start(model.parameters(), DilocoOptions::default(), &group).await?;
    /// for _round in 0..3 {
    ///     // … `together.options().inner_steps` steps of an optimizer of one's own …
    ///     together.meet(&group).await?;
    /// }
    /// assert_eq!(together.rounds(), 3);
    /// # Ok::<(), Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn meet(&mut self, group: &dyn Group) -> Result<Membership> {
        let due = self.outer.rounds + 1;
        loop {
            match self.round(group).await {
                Ok(()) => {}
                Err(Error::Group { rank, message, .. }) => {
                    log::info!("a round is made again without member {rank}, which {message}");
                }
                Err(error) => return Err(error),
            }
            let membership = self.regroup_until_settled(group).await?;
            // Others may have gone on with what this member was prepared for.
            if self.outer.rounds >= due {
                return Ok(membership);
            }
        }
    }

    /// What all must have agreed on to train together, in words.
    pub fn agreement(parameters: &[crate::nn::Parameter], options: &super::DilocoOptions) -> String {
        let shapes: Vec<String> =
            parameters.iter().map(|parameter| parameter.value().shape().to_string()).collect();
        format!("flambeau rounds 1; {options:?}; {}", shapes.join(" "))
    }

    /// How many numbers an update has.
    pub fn numbers(&self) -> usize {
        self.outer.start.len()
    }

    /// A newcomer's way to the others' model.
    pub(super) async fn enter(&mut self, group: &dyn Group) -> Result<()> {
        match self.settle_judged(group).await {
            Err(Error::Group { .. }) => self.regroup_until_settled(group).await.map(|_| ()),
            settled => settled,
        }
    }

    /// Every turn but the last loses a member, so this ends.
    async fn regroup_until_settled(&mut self, group: &dyn Group) -> Result<Membership> {
        loop {
            let membership = group.regroup().await?;
            let settled = match group.is_trusted() {
                true => self.settle(group).await,
                false => self.settle_judged(group).await,
            };
            match settled {
                Ok(()) => return Ok(membership),
                Err(Error::Group { rank, message, .. }) => {
                    log::info!("the members meet again without member {rank}, which {message}");
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends this member's update to all, and judges theirs.
    pub(super) async fn exchange(&self, group: &dyn Group, update: &[f32]) -> Result<Exchanged> {
        const OP: &str = "Diloco::round";
        let (compression, length) = (self.options.compression, update.len());
        let all = group.gather(compression.pack(update)).await?;
        let mut sums = vec![0.0_f64; length];
        let mut kept = Vec::new();
        for (rank, bytes) in all.iter().enumerate() {
            let sent = compression.unpack(bytes, length).ok_or_else(|| {
                let why = format!("sent {} bytes that are no update of {length} numbers", bytes.len());
                refused(group, OP, rank, why)
            })?;
            if !sent.iter().all(|x| x.is_finite()) {
                return Err(refused(group, OP, rank, "sent an update that is not finite".into()));
            }
            let (norm, most) = (norm(&sent), self.options.largest_norm);
            if norm > most {
                let why = format!("sent an update of norm {norm:.3e}; {most:.3e} was agreed on at most");
                return Err(refused(group, OP, rank, why));
            }
            sums.iter_mut().zip(&sent).for_each(|(sum, &x)| *sum += f64::from(x));
            if rank == group.rank() {
                kept = update.iter().zip(&sent).map(|(update, sent)| update - sent).collect();
            }
        }
        let size = all.len() as f64;
        let mean = sums.into_iter().map(|sum| (sum / size) as f32).collect();
        Ok(Exchanged { mean, kept, digests: all.iter().map(|bytes| digest(bytes)).collect() })
    }

    /// Goes on from what most hold or are prepared for; newcomers get it from one who does.
    async fn settle_judged(&mut self, group: &dyn Group) -> Result<()> {
        const OP: &str = "regroup";
        let own = Status {
            rounds: self.outer.rounds,
            held: self.outer.digest(),
            prepared: self.prepared.as_ref().map(Outer::digest),
        };
        let mut all = Vec::with_capacity(group.size());
        for (rank, bytes) in group.gather(own.encode()).await?.iter().enumerate() {
            let status = Status::decode(bytes);
            all.push(status.ok_or_else(|| refused(group, OP, rank, "has not said what it holds".into()))?);
        }
        if all.iter().all(|status| status.rounds == 0) {
            // Those who were here before are gone, and with them what they had: the oldest newcomer begins.
            all[0].rounds = 1;
            self.outer.rounds = self.outer.rounds.max(u64::from(group.rank() == 0));
        }
        let goal = goal(&all);
        let rank = group.rank();
        if all[rank].rounds > 0 {
            self.keep_up(group, &all, goal)?;
        }
        let root = all.iter().position(|status| status.rounds > 0 && status.reaches().any(|at| at == goal));
        let Some(root) = root else { return Ok(()) };
        if rank == root {
            let model = [&self.outer.start[..], &self.outer.velocity].concat();
            for newcomer in (0..all.len()).filter(|&other| all[other].rounds == 0) {
                group.send(newcomer, bytemuck::cast_slice(&model).to_vec())?;
            }
        } else if all[rank].rounds == 0 {
            let bytes = group.receive(root).await?;
            let numbers: Vec<f32> = bytemuck::pod_collect_to_vec(&bytes[..bytes.len() / 4 * 4]);
            let length = self.outer.start.len();
            if bytes.len() != 8 * length {
                let why = format!("has a model of {} bytes, this member one of {}", bytes.len(), 8 * length);
                return Err(refused(group, OP, root, why));
            }
            let (start, velocity) = numbers.split_at(length);
            let (start, velocity) = (start.to_vec(), velocity.to_vec());
            let outer = Outer { start, velocity, kept: vec![0.0; length], rounds: goal.0 };
            // (The first model of all has no round behind it yet: its digest is that of a newcomer's.)
            let as_said =
                [outer.rounds, outer.rounds - 1].map(|rounds| Outer { rounds, ..outer.clone() }.digest());
            if !as_said.contains(&goal.1) || !numbers.iter().all(|x| x.is_finite()) {
                return Err(refused(group, OP, root, "sent another model than it has said it holds".into()));
            }
            self.take(outer)?;
        }
        Ok(())
    }

    /// Goes to the model that most can go on from. Who cannot has another one, and one of both must go: it is never taken over.
    fn keep_up(&mut self, group: &dyn Group, all: &[Status], goal: (u64, Digest)) -> Result<()> {
        let own = &all[group.rank()];
        if goal == (own.rounds, own.held) {
            self.prepared = None;
        } else if own.reaches().any(|at| at == goal) {
            let next = self.prepared.take().unwrap_or_default();
            self.take(next)?;
        }
        let reaches = |rank: usize| all[rank].reaches().any(|at| at == goal);
        let mut wrong = None;
        let root = (0..all.len()).find(|&rank| all[rank].rounds > 0 && reaches(rank));
        for other in (0..all.len()).filter(|&other| all[other].rounds > 0 && !reaches(other)) {
            let root = root.unwrap_or_default();
            let why = "holds another model than the other members";
            match (other == group.rank(), root == group.rank()) {
                (true, _) => group.refuse(root, why),
                (_, true) => group.refuse(other, why),
                _ => group.doubt(root, other),
            }
            wrong = Some(if other == group.rank() { root } else { other });
        }
        wrong.map_or(Ok(()), |rank| {
            Err(Error::group("regroup", rank, "holds another model than the other members"))
        })
    }
}

/// What most of those who have made rounds can go on from; of several the one with most rounds, then the oldest member's.
fn goal(all: &[Status]) -> (u64, Digest) {
    let mut votes: BTreeMap<(u64, Digest), usize> = BTreeMap::new();
    let veterans = || all.iter().filter(|status| status.rounds > 0);
    for at in veterans().flat_map(Status::reaches) {
        *votes.entry(at).or_default() += 1;
    }
    let mut best = (0, (0, [0; 16]));
    for at in veterans().flat_map(Status::reaches) {
        let vote = (votes[&at], at.0);
        if vote > (best.0, best.1.0) {
            best = (vote.0, at);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(rounds: u64, held: u8, prepared: Option<u8>) -> Status {
        Status { rounds, held: [held; 16], prepared: prepared.map(|digest| [digest; 16]) }
    }

    #[test]
    fn a_round_that_somebody_has_made_is_made_by_all() {
        let all = [status(4, 1, Some(2)), status(5, 2, None), status(4, 1, Some(2))];
        assert_eq!(goal(&all), (5, [2; 16]));
    }

    #[test]
    fn a_round_that_not_all_are_prepared_for_was_made_by_nobody() {
        let all = [status(4, 1, Some(2)), status(4, 1, None), status(0, 9, None)];
        assert_eq!(goal(&all), (4, [1; 16]));
    }

    #[test]
    fn one_who_claims_many_rounds_has_one_vote() {
        let all = [status(u64::MAX, 7, Some(8)), status(4, 1, None), status(4, 1, None)];
        assert_eq!(goal(&all), (4, [1; 16]));
    }

    #[test]
    fn what_is_said_comes_back() {
        assert_eq!(Status::decode(&status(u64::MAX, 1, None).encode()), None);
        for said in [status(3, 1, None), status(1 << 40, 2, Some(3))] {
            assert_eq!(Status::decode(&said.encode()), Some(said));
            assert_eq!(Status::decode(&said.encode()[1..]), None);
        }
        assert_eq!(most_common(&[1, 2, 2, 3]), 2);
        assert_eq!(most_common(&[1, 2, 2, 1]), 1);
    }
}
