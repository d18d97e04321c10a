//! What a member knows of the others, and what their frames change of it. Nothing here waits or sends; frames that must be sent are
//! put into `outgoing`.

use super::inbox::Inbox;
use super::links::{LinkEvent, PeerId};
use super::wire::{Digest, Frame, LeftOut, MOST_MEMBERS};
use super::{PeerNews, PeersOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The members of an epoch, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    pub epoch: u64,
    pub members: Vec<PeerId>,
    /// How many of them were there in the epoch before.
    pub stayed: usize,
}

/// That a peer is done with a round.
#[derive(Debug, Clone)]
pub struct Ready {
    pub epoch: u64,
    pub repeats: bool,
    pub broken: Vec<PeerId>,
}

/// One other member of the room.
#[derive(Debug, Default)]
pub struct Peer {
    pub is_open: bool,
    pub is_older: bool,
    /// When it was first heard of, last heard, and last told something.
    pub since: Duration,
    pub heard: Duration,
    pub told: Duration,
    /// Why nothing more is done with it: for good, or until it asks to be let in anew.
    pub refused: Option<String>,
    pub late: Option<String>,
    /// Does it agree to the same, and does it want to be let in?
    pub agrees: Option<bool>,
    pub wants: bool,
    pub ready: Option<Ready>,
    pub proposal: Option<View>,
    pub answer: Option<(u64, Vec<PeerId>)>,
    pub commit: Option<u64>,
    pub left_out: Option<(u64, LeftOut)>,
    pub inbox: Inbox,
    /// The number of the next message to it.
    pub next_number: u32,
}

/// Everything that a member knows.
#[derive(Debug)]
pub struct State {
    pub own: PeerId,
    pub options: PeersOptions,
    pub agreement: Digest,
    pub peers: BTreeMap<PeerId, Peer>,
    pub view: Option<View>,
    /// What this member has accepted and waits to be committed, and whose proposal it is.
    pub accepted: Option<(PeerId, View)>,
    /// The highest epoch that was proposed, here or elsewhere.
    pub top: u64,
    /// The round has failed and must be made again.
    pub troubled: bool,
    /// Pairs of others of whom one has told something else than the other.
    pub suspects: BTreeSet<(PeerId, PeerId)>,
    pub outgoing: Vec<(PeerId, Frame)>,
    pub closing: Vec<PeerId>,
    pub news: Vec<PeerNews>,
    /// Frames that were nothing to do with.
    pub dropped: u64,
}

impl State {
    pub fn new(own: PeerId, options: PeersOptions, agreement: Digest) -> State {
        State {
            own,
            options,
            agreement,
            peers: BTreeMap::new(),
            view: None,
            accepted: None,
            top: 0,
            troubled: false,
            suspects: BTreeSet::new(),
            outgoing: Vec::new(),
            closing: Vec::new(),
            news: Vec::new(),
            dropped: 0,
        }
    }

    /// Why this member can do nothing with another one at present; none if it can.
    pub fn broken(&self, peer: PeerId, now: Duration) -> Option<String> {
        let Some(known) = self.peers.get(&peer) else { return Some("has no link with this member".into()) };
        if let Some(why) = known.refused.as_ref().or(known.late.as_ref()) {
            return Some(why.clone());
        }
        if !known.is_open {
            return Some("has left: its link is closed".into());
        }
        let silence = self.options.silence;
        (now.saturating_sub(known.heard) > silence).then(|| format!("has been silent for {silence:?}"))
    }

    /// Can this member work with the peer in the present epoch? A peer that asks to be let in has begun anew.
    pub fn is_lost(&self, peer: PeerId, now: Duration) -> bool {
        self.peers.get(&peer).is_none_or(|known| known.wants) || self.broken(peer, now).is_some()
    }

    /// Has nothing more to do with a peer, for good.
    pub fn refuse(&mut self, peer: PeerId, why: &str) {
        if let Some(known) = self.peers.get_mut(&peer).filter(|known| known.refused.is_none()) {
            known.refused = Some(why.to_owned());
            known.is_open = false;
            known.inbox.clear();
            known.proposal = None;
            self.closing.push(peer);
            self.news.push(PeerNews::Refused { peer, why: why.to_owned() });
        }
    }

    /// Goes on without a peer that has not come in time.
    pub fn give_up(&mut self, peer: PeerId, why: String) {
        if let Some(known) = self.peers.get_mut(&peer) {
            known.late.get_or_insert(why);
            known.wants = false;
        }
    }

    pub fn hello(&self) -> Frame {
        Frame::Hello { agreement: self.agreement, wants: self.view.is_none() }
    }

    /// Everything that has to do with one event.
    pub fn handle(&mut self, event: LinkEvent, now: Duration) {
        match event {
            LinkEvent::Coming { peer, older } => {
                if peer != self.own && (self.peers.contains_key(&peer) || self.has_room()) {
                    let known = self.peers.entry(peer).or_default();
                    (known.is_older, known.since) = (older, now);
                }
            }
            LinkEvent::Opened { peer } => {
                if peer == self.own || !(self.peers.contains_key(&peer) || self.has_room()) {
                    return;
                }
                let hello = self.hello();
                let known = self.peers.entry(peer).or_default();
                (known.is_open, known.heard, known.told) = (true, now, now);
                self.outgoing.push((peer, hello));
            }
            LinkEvent::Closed { peer } => {
                if let Some(known) = self.peers.get_mut(&peer) {
                    known.is_open = false;
                    known.wants = false;
                    // What it said before it went may still be what a round needs; nobody else is kept in mind.
                    let is_member = self.view.as_ref().is_some_and(|view| view.members.contains(&peer));
                    if !is_member && known.refused.is_none() {
                        self.peers.remove(&peer);
                    }
                }
            }
            LinkEvent::Received { peer, bytes } => {
                let Some(known) = self.peers.get_mut(&peer) else { return self.dropped += 1 };
                if known.refused.is_some() || !known.is_open {
                    return self.dropped += 1;
                }
                known.heard = now;
                let taken = Frame::decode(&bytes).map_err(str::to_owned);
                if let Err(why) = taken.and_then(|frame| self.take(peer, frame, now)) {
                    self.refuse(peer, &why);
                }
            }
        }
    }

    /// Rooms are small; who comes to a full one is not kept in mind. Those who were refused do not count for long.
    fn has_room(&mut self) -> bool {
        if self.peers.len() >= 4 * MOST_MEMBERS {
            let gone = self.peers.iter().find(|(_, known)| known.refused.is_some() && !known.is_open);
            if let Some(peer) = gone.map(|(peer, _)| *peer) {
                self.peers.remove(&peer);
            }
        }
        self.peers.len() < 4 * MOST_MEMBERS
    }

    fn take(&mut self, from: PeerId, frame: Frame, now: Duration) -> Result<(), String> {
        let epoch_now = self.view.as_ref().map_or(0, |view| view.epoch);
        // Counting up by one, nobody comes so far.
        let is_far = |epoch: u64| epoch > epoch_now.saturating_add(1 << 32);
        let known = self.peers.get_mut(&from).ok_or("is unknown")?;
        match frame {
            Frame::Alive => {}
            Frame::Hello { agreement, wants } => {
                let agrees = agreement == self.agreement;
                if known.agrees.is_none() || wants {
                    known.since = now;
                }
                known.agrees = Some(agrees);
                known.wants = wants && agrees;
                if wants {
                    (known.late, known.ready, known.answer, known.left_out) = (None, None, None, None);
                }
                if wants && !agrees && self.view.is_some() {
                    self.outgoing.push((from, Frame::Leave { epoch: epoch_now, why: LeftOut::Agreement }));
                }
            }
            Frame::Ready { epoch, repeats, broken } if !is_far(epoch) => {
                known.wants = false;
                known.ready = Some(Ready { epoch, repeats, broken });
            }
            Frame::Propose { epoch, stayed, members } if !is_far(epoch) => {
                let stayed = usize::from(stayed);
                if members.len() > self.options.most_members || stayed > members.len() {
                    return Err("proposed a group of a size that was not agreed on".into());
                }
                if !members.contains(&self.own) || !members.contains(&from) {
                    return Err("proposed a group without itself or this member".into());
                }
                // Who proposes is in a group.
                known.wants = false;
                if known.proposal.as_ref().is_none_or(|last| last.epoch < epoch) {
                    known.proposal = Some(View { epoch, members, stayed });
                }
            }
            Frame::Answer { epoch, broken } => known.answer = Some((epoch, broken)),
            Frame::Commit { epoch } => known.commit = Some(epoch),
            Frame::Leave { epoch, why } => known.left_out = Some((epoch, why)),
            Frame::Part { epoch, number, total, at, body } => {
                let of_view = |view: &View| view.epoch == epoch && view.members.contains(&from);
                let is_due = self.view.as_ref().is_some_and(of_view)
                    || self.accepted.as_ref().is_some_and(|(_, view)| of_view(view));
                if !is_due {
                    self.dropped += 1;
                    return Ok(());
                }
                known.inbox.begin(epoch);
                known.inbox.take((number, total, at), &body, self.options.largest_message)?;
            }
            Frame::Ready { .. } | Frame::Propose { .. } => {
                return Err("counts epochs that nobody has come to".into());
            }
        }
        Ok(())
    }

    /// Those of `members` with whom this one cannot work.
    pub fn broken_of(&self, members: &[PeerId], now: Duration) -> Vec<PeerId> {
        let others = members.iter().copied().filter(|&member| member != self.own);
        others.filter(|&member| self.broken(member, now).is_some()).collect()
    }

    /// Begins an epoch.
    pub fn install(&mut self, view: View) {
        let before = self.view.as_ref().map(|view| view.members.clone()).unwrap_or_default();
        for (peer, known) in &mut self.peers {
            known.inbox.begin(view.epoch);
            known.next_number = 0;
            known.ready = known.ready.take().filter(|ready| ready.epoch >= view.epoch);
            known.proposal = known.proposal.take().filter(|proposal| proposal.epoch > view.epoch);
            known.answer = None;
            known.commit = None;
            known.left_out = None;
            if view.members.contains(peer) {
                known.wants = false;
                if !before.contains(peer) {
                    self.news.push(PeerNews::Came { peer: *peer });
                }
            }
        }
        for &gone in before.iter().filter(|member| !view.members.contains(member)) {
            let known = self.peers.get(&gone);
            // Of those who were refused there was news at once.
            if known.is_none_or(|known| known.refused.is_none()) {
                let why = known.and_then(|known| known.late.clone());
                self.news.push(PeerNews::Left { peer: gone, why: why.unwrap_or_else(|| "has left".into()) });
            }
            if known.is_some_and(|known| !known.is_open && known.refused.is_none()) {
                self.peers.remove(&gone);
            }
        }
        self.top = self.top.max(view.epoch);
        self.view = Some(view);
        self.accepted = None;
        self.troubled = false;
        self.suspects.clear();
    }
}

/// Leaves out as few members as it needs so that all who stay can work with each other: again and again the one with most broken
/// pairs, of several the youngest.
pub fn separate(members: &[PeerId], broken: &BTreeSet<(PeerId, PeerId)>) -> Vec<PeerId> {
    let mut kept = members.to_vec();
    loop {
        let is_pair = |a: PeerId, b: PeerId| broken.contains(&(a, b)) || broken.contains(&(b, a));
        let pairs = |&a: &PeerId| kept.iter().filter(|&&b| a != b && is_pair(a, b)).count();
        let most = kept.iter().map(pairs).max().unwrap_or_default();
        let Some(place) = kept.iter().rposition(|member| most > 0 && pairs(member) == most) else {
            return kept;
        };
        kept.remove(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_with_most_broken_pairs_goes_and_of_two_the_younger() {
        let [a, b, c, d] = [1, 2, 3, 4].map(PeerId);
        let left = |pairs: &[(PeerId, PeerId)]| separate(&[a, b, c, d], &pairs.iter().copied().collect());
        assert_eq!(left(&[]), [a, b, c, d]);
        assert_eq!(left(&[(b, c)]), [a, b, d]);
        assert_eq!(left(&[(a, b), (a, c)]), [b, c, d]);
        assert_eq!(left(&[(b, a), (c, d)]), [a, c], "two pairs, two go");
        assert_eq!(left(&[(a, b), (a, b), (b, a)]), [a, c, d]);
        assert_eq!(left(&[(a, PeerId(9))]), [a, b, c, d], "who is not there has no pairs");
    }
}
