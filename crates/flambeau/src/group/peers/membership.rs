//! How members agree on who is in the next epoch.
//!
//! ```text
//! every member            → all          Ready    done with this epoch; with whom it cannot work
//! the oldest, the leader  → the proposed Propose  epoch + 1, and its members: those who are left, then those who want to come
//! each of them            → the leader   Answer   yes, or with whom it cannot work: then there is another proposal
//! the leader              → the proposed Commit
//! ```
//!
//! Whom a member has lost (link closed, silent, late, refused) is no leader for it: the next oldest is. Every wait has an end, after which
//! the one that was waited for is late. An epoch is only begun after all its members have accepted it, so messages of two groups
//! cannot be mixed up; those of another epoch are dropped.

use super::links::PeerId;
use super::state::{Peer, State, View, separate};
use super::wire::{Frame, LeftOut};
use super::{Membership, Peers};
use crate::error::{Error, Result};
use std::time::Duration;

/// What a member hears while it waits for a leader.
enum Heard {
    Gone,
    Proposed(View),
    Begins,
    LeftOut(LeftOut),
}

impl Peers {
    /// Waits to be let in, or begins a group where nobody was before.
    pub(super) async fn enter(&self) -> Result<Membership> {
        let begun = self.links.now();
        {
            let mut state = self.state.borrow_mut();
            (state.view, state.accepted) = (None, None);
            let hello = state.hello();
            let open: Vec<PeerId> =
                state.peers.iter().filter(|(_, known)| known.is_open).map(|(peer, _)| *peer).collect();
            for peer in open {
                state.outgoing.push((peer, hello.clone()));
            }
        }
        let options = &self.options;
        let end = begun + 3 * options.patience;
        loop {
            let heard = self.wait_for(end, |state, now| state.hear_as_newcomer(begun, now)).await;
            let mut state = self.state.borrow_mut();
            match heard {
                Some((leader, Heard::Proposed(view))) => state.answer(leader, view, self.links.now()),
                Some((_, Heard::Begins)) => {
                    let accepted = state.accepted.take();
                    // Nobody has accepted anything in a room where nobody was before.
                    let (epoch, own) = (state.top + 1, state.own);
                    let founded = View { epoch, members: vec![own], stayed: 0 };
                    let view = accepted.map_or(founded, |(_, view)| view);
                    drop(state);
                    return self.begin(view);
                }
                Some((_, Heard::Gone)) => state.accepted = None,
                Some((_, Heard::LeftOut(_))) => {
                    return Err(Error::argument(
                        "Peers::join",
                        "those in the room have agreed on something else: another model, other settings or another version",
                    ));
                }
                None => return Err(Error::Timeout { op: "Peers::join", waited: 3 * options.patience }),
            }
        }
    }

    /// Waits until all members are done with this epoch or lost, and begins the next.
    pub(super) async fn next_epoch(&self) -> Result<Membership> {
        self.pump();
        let Some(view) = self.state.borrow().view.clone() else {
            return Err(Error::argument("regroup", "this member is in no group; let it enter the room anew"));
        };
        loop {
            self.say_ready(&view);
            let leader = self.state.borrow().leader(&view, self.links.now());
            let next = match leader == self.own() {
                true => Some(self.lead(&view).await),
                false => self.follow(leader, &view).await?,
            };
            if let Some(next) = next {
                return self.begin(next);
            }
        }
    }

    fn begin(&self, view: View) -> Result<Membership> {
        let mut state = self.state.borrow_mut();
        let own = state.own;
        let size = view.members.len();
        let rank = view.members.iter().position(|&member| member == own);
        let rank = rank.ok_or_else(|| Error::argument("regroup", "a group without this member"))?;
        let joined = size - view.stayed;
        state.install(view);
        drop(state);
        self.restart();
        Ok(Membership { rank, size, joined })
    }

    /// Tells all members that this one is done with the epoch.
    fn say_ready(&self, view: &View) {
        let mut state = self.state.borrow_mut();
        let now = self.links.now();
        let broken = state.broken_of(&view.members, now);
        let others: Vec<PeerId> =
            view.members.iter().copied().filter(|&member| !state.is_lost(member, now)).collect();
        let ready = Frame::Ready { epoch: view.epoch, repeats: state.troubled, broken };
        state.outgoing.extend(others.into_iter().map(|other| (other, ready.clone())));
    }

    /// Waits for what the leader says; none if it is lost.
    async fn follow(&self, leader: PeerId, view: &View) -> Result<Option<View>> {
        let end = self.links.now() + 3 * self.options.patience;
        loop {
            let heard = self.wait_for(end, |state, now| state.hear(leader, view.epoch, now)).await;
            let mut state = self.state.borrow_mut();
            match heard {
                Some(Heard::Gone) => {
                    state.accepted = None;
                    return Ok(None);
                }
                Some(Heard::LeftOut(_)) => {
                    state.view = None;
                    let rank = view.members.iter().position(|&member| member == leader).unwrap_or_default();
                    let message = "has gone on without this member, which was late or could not work with another one; join again";
                    return Err(Error::group("regroup", rank, message));
                }
                Some(Heard::Proposed(next)) => state.answer(leader, next, self.links.now()),
                Some(Heard::Begins) => return Ok(state.accepted.take().map(|(_, view)| view)),
                None => {
                    state.accepted = None;
                    state
                        .give_up(leader, format!("has led nobody on within {:?}", 3 * self.options.patience));
                    return Ok(None);
                }
            }
        }
    }

    /// Proposes groups until one is accepted by all its members.
    async fn lead(&self, view: &View) -> View {
        let patience = self.options.patience;
        let end = self.links.now() + patience;
        let all_there = |state: &mut State, now: Duration| {
            let late = state.others(view).find(|&member| {
                let is_ready = |known: &Peer| known.ready.as_ref().is_some_and(|r| r.epoch >= view.epoch);
                !state.is_lost(member, now) && !state.peers.get(&member).is_some_and(is_ready)
            });
            late.is_none().then_some(())
        };
        if self.wait_for(end, all_there).await.is_none() {
            let mut state = self.state.borrow_mut();
            let late: Vec<PeerId> = state.others(view).collect();
            for member in late {
                let known = state.peers.get(&member);
                if known.is_some_and(|known| {
                    known.ready.as_ref().is_none_or(|ready| ready.epoch < view.epoch) && !known.wants
                }) {
                    state.give_up(
                        member,
                        format!("was not done with the round {patience:?} after this member"),
                    );
                }
            }
        }
        loop {
            let next = self.state.borrow_mut().propose(view, self.links.now());
            let others: Vec<PeerId> =
                next.members.iter().copied().filter(|&member| member != self.own()).collect();
            let end = self.links.now() + self.options.answer;
            let answered = |state: &mut State, now: Duration| {
                let has_answered = |member: &PeerId| {
                    let answer = state.peers.get(member).and_then(|known| known.answer.as_ref());
                    state.broken(*member, now).is_some()
                        || answer.is_some_and(|(epoch, _)| *epoch == next.epoch)
                };
                others.iter().all(has_answered).then_some(())
            };
            _ = self.wait_for(end, answered).await;
            let mut state = self.state.borrow_mut();
            if state.accepted_by(&others, &next, self.links.now()) {
                let commit = Frame::Commit { epoch: next.epoch };
                let left: Vec<PeerId> =
                    view.members.iter().copied().filter(|member| !next.members.contains(member)).collect();
                let leave = Frame::Leave { epoch: next.epoch, why: LeftOut::Missing };
                state.outgoing.extend(others.iter().map(|&other| (other, commit.clone())));
                state.outgoing.extend(left.iter().map(|&other| (other, leave.clone())));
                return next;
            }
        }
    }
}

impl State {
    /// The oldest of an epoch who is not lost.
    fn leader(&self, view: &View, now: Duration) -> PeerId {
        let is_there = |&&member: &&PeerId| member == self.own || !self.is_lost(member, now);
        view.members.iter().find(is_there).copied().unwrap_or(self.own)
    }

    fn others(&self, view: &View) -> impl Iterator<Item = PeerId> + use<> {
        let own = self.own;
        view.members.clone().into_iter().filter(move |&member| member != own)
    }

    /// What a leader has said that this member has not yet answered.
    fn hear(&self, leader: PeerId, epoch: u64, now: Duration) -> Option<Heard> {
        if let Some((epoch_then, why)) = self.peers.get(&leader).and_then(|known| known.left_out)
            && epoch_then > epoch
        {
            return Some(Heard::LeftOut(why));
        }
        if self.is_lost(leader, now) {
            return Some(Heard::Gone);
        }
        let known = self.peers.get(&leader)?;
        let accepted = self.accepted.as_ref().filter(|(of, _)| *of == leader).map(|(_, view)| view.epoch);
        if accepted.is_some() && known.commit == accepted {
            return Some(Heard::Begins);
        }
        let answered = epoch.max(accepted.unwrap_or_default());
        known.proposal.clone().filter(|proposal| proposal.epoch > answered).map(Heard::Proposed)
    }

    /// The same for somebody who is in no group and takes any leader; with whose word it is.
    fn hear_as_newcomer(&self, begun: Duration, now: Duration) -> Option<(PeerId, Heard)> {
        if let Some((leader, _)) = &self.accepted {
            return self.hear(*leader, 0, now).map(|heard| (*leader, heard));
        }
        for (peer, known) in &self.peers {
            match self.hear(*peer, 0, now) {
                Some(Heard::Proposed(view)) => return Some((*peer, Heard::Proposed(view))),
                Some(Heard::LeftOut(LeftOut::Agreement)) if known.is_older => {
                    return Some((*peer, Heard::LeftOut(LeftOut::Agreement)));
                }
                _ => {}
            }
            if known.is_older && known.agrees == Some(false) {
                return Some((*peer, Heard::LeftOut(LeftOut::Agreement)));
            }
        }
        let is_coming = |known: &Peer| {
            !known.is_open
                && known.refused.is_none()
                && now.saturating_sub(known.since) < self.options.patience
        };
        let waits_for = |(peer, known): (&PeerId, &Peer)| {
            known.is_older && (is_coming(known) || self.broken(*peer, now).is_none())
        };
        let is_alone = now.saturating_sub(begun) >= self.options.settle && !self.peers.iter().any(waits_for);
        is_alone.then_some((self.own, Heard::Begins))
    }

    /// Accepts a proposal if this member can work with all that are in it.
    fn answer(&mut self, leader: PeerId, next: View, now: Duration) {
        let broken = self.broken_of(&next.members, now);
        let epoch = next.epoch;
        self.top = self.top.max(epoch);
        if let Some(known) = self.peers.get_mut(&leader) {
            known.proposal = None;
        }
        self.outgoing.push((leader, Frame::Answer { epoch, broken: broken.clone() }));
        if broken.is_empty() {
            self.accepted = Some((leader, next));
        }
    }

    /// Who shall be in the next epoch, as far as this member knows.
    fn propose(&mut self, view: &View, now: Duration) -> View {
        let here = |state: &State, member: PeerId| member == state.own || !state.is_lost(member, now);
        let stay: Vec<PeerId> = view.members.iter().copied().filter(|&member| here(self, member)).collect();
        let mut repeats = self.troubled;
        let mut pairs = self.suspects.clone();
        let mut epoch = self.top.max(view.epoch);
        for (peer, known) in &self.peers {
            if let Some(ready) = known.ready.as_ref().filter(|_| here(self, *peer)) {
                repeats |= ready.repeats && stay.contains(peer);
                epoch = epoch.max(ready.epoch);
                pairs.extend(ready.broken.iter().map(|&other| (*peer, other)));
            }
        }
        let mut members = separate(&stay, &pairs);
        let stayed = members.len();
        let mut newcomers: Vec<(Duration, PeerId)> = Vec::new();
        for (peer, known) in self.peers.iter().filter(|(peer, _)| !stay.contains(peer)) {
            // Somebody may be in an epoch whose leader was lost before this member heard of it.
            let was_ahead = known.ready.as_ref().is_some_and(|ready| ready.epoch > view.epoch);
            let comes = known.agrees == Some(true) && (was_ahead || (known.wants && !repeats));
            if comes && self.broken(*peer, now).is_none() {
                newcomers.push((known.since, *peer));
            }
        }
        newcomers.sort_unstable();
        for (_, peer) in newcomers {
            // Whoever comes has to get along with those who are there, not they with it.
            let is_pair = |&other: &PeerId| pairs.contains(&(peer, other)) || pairs.contains(&(other, peer));
            if members.len() < self.options.most_members && !members.iter().any(is_pair) {
                members.push(peer);
            }
        }
        self.top = epoch + 1;
        let next = View { epoch: self.top, members, stayed };
        let proposal =
            Frame::Propose { epoch: next.epoch, stayed: stayed as u8, members: next.members.clone() };
        let others: Vec<PeerId> = self.others(&next).collect();
        self.outgoing.extend(others.into_iter().map(|other| (other, proposal.clone())));
        // So that messages of those who hear of the commit sooner are kept.
        self.accepted = Some((self.own, next.clone()));
        next
    }

    /// Have all accepted? Who has not is late, and pairs that cannot work together are kept in mind.
    fn accepted_by(&mut self, others: &[PeerId], next: &View, now: Duration) -> bool {
        let mut all = true;
        for &other in others {
            if self.broken(other, now).is_some() {
                all = false;
                continue;
            }
            let known = self.peers.get(&other);
            match known.and_then(|known| known.answer.clone()).filter(|(epoch, _)| *epoch == next.epoch) {
                Some((_, broken)) if broken.is_empty() => {}
                Some((_, broken)) if broken.iter().all(|other| next.members.contains(other)) => {
                    all = false;
                    self.suspects.extend(broken.into_iter().map(|third| (other, third)));
                }
                Some(_) => {
                    all = false;
                    self.refuse(other, "cannot work with members whom nobody has proposed");
                }
                None => {
                    all = false;
                    self.give_up(other, format!("has not answered within {:?}", self.options.answer));
                }
            }
        }
        all
    }
}
