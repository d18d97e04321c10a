//! Members that come and go and trust nobody: peers in browsers' tabs, who have found each other in a room.
//!
//! A [`Peers`] is a [`Group`] over any [`Links`]. What arrives on them is judged before it is used: who sends bytes that are no
//! message, more than was agreed, or an update that is not finite or too large, is refused by name, and the round is made again without it
//! ([`Diloco::meet`](crate::train::Diloco::meet)). Sums are not made by members for each other: each gets the numbers of all, and
//! adds them up itself.
//!
//! It needs no threads and never blocks, so it runs in a browser as it does natively; time is that of the links' clock.

mod inbox;
mod links;
mod membership;
mod state;
mod wire;

pub use links::{LinkEvent, Links, PeerId};

use super::{Group, Membership, Reduce, Traffic, Waiting, collective};
use crate::error::{Error, Result};
use sha2::{Digest as _, Sha256};
use state::State;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use wire::{Digest, Frame};

/// What members of a room agree on, and how long they wait for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeersOptions {
    /// What all must have agreed on, in words: the model, how it is trained, how updates travel. Who says something else is not
    /// let in.
    pub agreement: String,
    /// Bytes of the largest message that anybody may send.
    pub largest_message: usize,
    /// Members at most, up to 64.
    pub most_members: usize,
    /// How long one waits for the slowest member to come to the end of a round.
    pub patience: Duration,
    /// How long one waits for an answer that takes no work.
    pub answer: Duration,
    /// How long a member may give no sign of life.
    pub silence: Duration,
    /// How long a newcomer waits for others before it begins a group of its own.
    pub settle: Duration,
}

impl PeersOptions {
    /// For updates of so many numbers: at most 16 members; patience of 60 s, answers within 10 s, silence of 30 s at most, and 2 s
    /// until a group begins.
    pub fn new(agreement: impl Into<String>, numbers: usize) -> PeersOptions {
        PeersOptions {
            agreement: agreement.into(),
            // What is largest is what newcomers get: parameters and velocity.
            largest_message: 8 * numbers + 4096,
            most_members: 16,
            patience: Duration::from_secs(60),
            answer: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            settle: Duration::from_secs(2),
        }
    }
}

/// Who came and who is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerNews {
    /// A member has come into the group.
    Came {
        /// Who.
        peer: PeerId,
    },
    /// A member is no longer in the group.
    Left {
        /// Who.
        peer: PeerId,
        /// Why, as far as it is known.
        why: String,
    },
    /// A member has sent what it must not, and is not listened to any more.
    Refused {
        /// Who.
        peer: PeerId,
        /// What it has sent.
        why: String,
    },
}

/// How often members say that they are alive, if they have nothing else to say.
const BEAT: Duration = Duration::from_secs(2);

/// A member of a group of peers; see the [module](self).
///
/// ```
/// use flambeau::group::peers::{LinkEvent, Links, PeerId};
/// use flambeau::group::{Group, Peers, PeersOptions};
/// use std::{pin::Pin, rc::Rc, time::Duration};
///
/// /// The links of a member in a room where nobody else is: real ones send, and tell what has happened.
/// #[derive(Debug)]
/// struct Nobody;
///
/// impl Links for Nobody {
///     fn own(&self) -> PeerId {
///         PeerId(7)
///     }
///     fn send(&self, _to: PeerId, _bytes: &[u8]) {}
///     fn close(&self, _peer: PeerId) {}
///     fn next_event(&self) -> Option<LinkEvent> {
///         None
///     }
///     fn now(&self) -> Duration {
///         Duration::ZERO
///     }
///     fn wait(&self, _at_most: Duration) -> Pin<Box<dyn Future<Output = ()> + '_>> {
///         Box::pin(std::future::ready(()))
///     }
/// }
///
/// let options = PeersOptions { settle: Duration::ZERO, ..PeersOptions::new("a model of two weights", 2) };
/// let peers = flambeau::block_on(Peers::join(Rc::new(Nobody), options))?;
/// assert_eq!((peers.rank(), peers.members()), (0, vec![PeerId(7)]));
/// # Ok::<(), flambeau::Error>(())
/// ```
#[derive(Debug)]
pub struct Peers {
    links: Rc<dyn Links>,
    options: PeersOptions,
    state: RefCell<State>,
    traffic: Traffic,
}

impl Peers {
    /// Bytes of what is handed to [`Links::send`] at most.
    pub const LARGEST: usize = wire::LARGEST;

    /// Waits to be let in by those in the room, who do so between two rounds; where there is nobody, begins a group.
    pub async fn join(links: Rc<dyn Links>, options: PeersOptions) -> Result<Peers> {
        if !(1..=wire::MOST_MEMBERS).contains(&options.most_members) {
            return Err(Error::argument(
                "Peers::join",
                format!("{} members; take 2 to 64", options.most_members),
            ));
        }
        let agreement = digest(options.agreement.as_bytes());
        let state = RefCell::new(State::new(links.own(), options.clone(), agreement));
        let peers = Peers { links, options, state, traffic: Traffic::new() };
        peers.enter().await?;
        Ok(peers)
    }

    /// Asks to be let in again, after the others have gone on without this member.
    pub async fn join_again(&self) -> Result<Membership> {
        self.enter().await
    }

    /// This member's number in the room.
    pub fn own(&self) -> PeerId {
        self.links.own()
    }

    /// The members by rank: the oldest first.
    pub fn members(&self) -> Vec<PeerId> {
        self.state.borrow().view.as_ref().map(|view| view.members.clone()).unwrap_or_default()
    }

    /// What has happened since this was asked last.
    pub fn take_news(&self) -> Vec<PeerNews> {
        std::mem::take(&mut self.state.borrow_mut().news)
    }

    /// Messages that were dropped: those of other epochs, of strangers, and of members that were refused.
    pub fn dropped(&self) -> u64 {
        self.state.borrow().dropped
    }

    /// Takes in what has arrived and gives a sign of life: to be called every second or so while this member computes.
    pub fn tick(&self) {
        self.pump();
    }

    /// Takes in what has arrived, and sends what that asks for.
    fn pump(&self) {
        let now = self.links.now();
        let mut state = self.state.borrow_mut();
        while let Some(event) = self.links.next_event() {
            state.handle(event, now);
        }
        let outgoing = std::mem::take(&mut state.outgoing);
        for (peer, frame) in outgoing {
            if let Some(known) = state.peers.get_mut(&peer).filter(|known| known.is_open) {
                known.told = now;
                self.links.send(peer, &frame.encode());
            }
        }
        for (peer, known) in state.peers.iter_mut().filter(|(_, known)| known.is_open) {
            if now.saturating_sub(known.told) >= BEAT {
                known.told = now;
                self.links.send(*peer, &Frame::Alive.encode());
            }
        }
        for peer in std::mem::take(&mut state.closing) {
            self.links.close(peer);
        }
    }

    /// Waits until `look` finds something; none when the time is over.
    async fn wait_for<T>(
        &self,
        end: Duration,
        mut look: impl FnMut(&mut State, Duration) -> Option<T>,
    ) -> Option<T> {
        loop {
            self.pump();
            let now = self.links.now();
            if let Some(found) = look(&mut self.state.borrow_mut(), now) {
                return Some(found);
            }
            if now >= end {
                return None;
            }
            self.links.wait((end - now).min(BEAT)).await;
        }
    }

    fn restart(&self) {
        self.traffic.restart();
        self.pump();
    }

    /// The member with this rank, and the epoch.
    fn member(&self, rank: usize) -> Result<(PeerId, u64)> {
        let state = self.state.borrow();
        let Some(view) = &state.view else {
            return Err(Error::argument("Group", "this member is in no group; let it join again"));
        };
        let member = view.members.get(rank).copied().ok_or_else(|| {
            Error::argument(
                "Group",
                format!("there is no member {rank} in a group of {}", view.members.len()),
            )
        })?;
        Ok((member, view.epoch))
    }

    fn failed(&self, op: &'static str, rank: usize, why: impl Into<String>) -> Error {
        self.state.borrow_mut().troubled = true;
        Error::group(op, rank, why)
    }

    /// The next message of a member, or why there is none.
    async fn take_from(&self, from: usize) -> Result<Vec<u8>> {
        let (peer, epoch) = self.member(from)?;
        let end = self.links.now() + self.options.patience;
        let look = |state: &mut State, now: Duration| {
            let known = state.peers.get_mut(&peer);
            if let Some(message) = known.and_then(|known| known.inbox.next(epoch)) {
                return Some(Ok(message));
            }
            if let Some(why) = state.broken(peer, now) {
                return Some(Err(why));
            }
            let known = state.peers.get(&peer)?;
            let is_over = known.wants || known.ready.as_ref().is_some_and(|ready| ready.epoch >= epoch);
            let is_left = known.left_out.is_some_and(|(then, _)| then > epoch);
            (is_over || is_left).then(|| Err("has given this round up".into()))
        };
        match self.wait_for(end, look).await {
            Some(Ok(message)) => Ok(message),
            Some(Err(why)) => Err(self.failed("receive", from, why)),
            None => {
                let why = format!("has sent nothing within {:?}", self.options.patience);
                self.state.borrow_mut().give_up(peer, why.clone());
                Err(self.failed("receive", from, why))
            }
        }
    }
}

/// The first 128 bits of SHA-256.
pub(crate) fn digest(bytes: &[u8]) -> Digest {
    let whole: [u8; 32] = Sha256::digest(bytes).into();
    let (half, _) = whole.split_first_chunk::<16>().expect("32 bytes");
    *half
}

impl Group for Peers {
    fn rank(&self) -> usize {
        let own = self.own();
        self.members().iter().position(|&member| member == own).unwrap_or_default()
    }

    fn size(&self) -> usize {
        self.members().len().max(1)
    }

    fn send(&self, to: usize, message: Vec<u8>) -> Result<()> {
        let (peer, epoch) = self.member(to)?;
        let largest = self.options.largest_message;
        if message.len() > largest {
            let message = format!("{} bytes are more than the {largest} that were agreed on", message.len());
            return Err(Error::argument("Group::send", message));
        }
        self.pump();
        let broken = self.state.borrow().broken(peer, self.links.now());
        if let Some(why) = broken {
            return Err(self.failed("send", to, why));
        }
        let mut state = self.state.borrow_mut();
        let Some(known) = state.peers.get_mut(&peer) else { return Ok(()) };
        for part in wire::parts(epoch, known.next_number, &message) {
            self.links.send(peer, &part);
        }
        known.next_number = known.next_number.wrapping_add(1);
        known.told = self.links.now();
        Ok(())
    }

    fn receive(&self, from: usize) -> Waiting<'_, Vec<u8>> {
        Box::pin(self.take_from(from))
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    fn regroup(&self) -> Waiting<'_, Membership> {
        Box::pin(self.next_epoch())
    }

    /// Each adds up what it gets from all others, in the order of ranks.
    fn all_reduce(&self, values: Vec<f32>, reduce: Reduce) -> Waiting<'_, Vec<f32>> {
        Box::pin(async move {
            let all = self.gather(bytemuck::cast_slice(&values).to_vec()).await?;
            let mut sums = vec![0.0_f64; values.len()];
            for (rank, bytes) in all.iter().enumerate() {
                let numbers: Vec<f32> = bytemuck::pod_collect_to_vec(&bytes[..bytes.len() / 4 * 4]);
                if bytes.len() != 4 * values.len() || !numbers.iter().all(|x| x.is_finite()) {
                    let why = format!(
                        "sent {} bytes where {} finite numbers were expected",
                        bytes.len(),
                        values.len()
                    );
                    self.refuse(rank, &why);
                    return Err(self.failed("all_reduce", rank, why));
                }
                sums.iter_mut().zip(numbers).for_each(|(sum, x)| *sum += f64::from(x));
            }
            let share = if reduce == Reduce::Mean { all.len() as f64 } else { 1.0 };
            Ok(sums.into_iter().map(|sum| (sum / share) as f32).collect())
        })
    }

    /// From the root itself: nobody hands on what is another's.
    fn broadcast(&self, root: usize, bytes: Vec<u8>) -> Waiting<'_, Vec<u8>> {
        Box::pin(async move {
            let own = if self.rank() == root { bytes } else { Vec::new() };
            let mut all = collective::gather(self, own).await?;
            match root < all.len() {
                true => Ok(all.swap_remove(root)),
                false => Err(Error::argument("broadcast", format!("there is no member {root}"))),
            }
        })
    }

    fn is_trusted(&self) -> bool {
        false
    }

    fn refuse(&self, rank: usize, why: &str) {
        if let Ok((peer, _)) = self.member(rank) {
            let mut state = self.state.borrow_mut();
            state.troubled = true;
            state.refuse(peer, why);
        }
    }

    fn doubt(&self, one: usize, other: usize) {
        if let (Ok((one, _)), Ok((other, _))) = (self.member(one), self.member(other)) {
            let mut state = self.state.borrow_mut();
            state.troubled = true;
            state.suspects.insert((one, other));
        }
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        let open: Vec<PeerId> = self.state.borrow().peers.keys().copied().collect();
        open.into_iter().for_each(|peer| self.links.close(peer));
    }
}
