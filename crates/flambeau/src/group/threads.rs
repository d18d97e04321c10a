//! Members in one process, a thread each.

use super::{Group, Membership, Traffic, Waiting};
use crate::error::{Error, Result};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a message is waited for, unless told otherwise.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A member of a group whose members are threads of one process: for several adapters of one machine, and for tests. Waiting
/// blocks the thread that polls. A member that is dropped has left: those who wait for it get an error at once.
///
/// Members may leave and join between two rounds, in [`regroup`](Group::regroup).
#[derive(Debug)]
pub struct Threads {
    room: Room,
    id: u64,
    /// The members of the present round, by rank.
    members: RefCell<Vec<u64>>,
    rank: Cell<usize>,
    traffic: Traffic,
}

/// Where the members of a [`Threads`] group meet: a new one joins here.
#[derive(Debug, Clone)]
pub struct Room {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    timeout: Duration,
}

#[derive(Debug, Default)]
struct State {
    next_id: u64,
    /// The members of the present round, by rank.
    members: Vec<u64>,
    /// How many of them were not there in the round before.
    joined: usize,
    /// Messages by sender and receiver.
    mail: HashMap<(u64, u64), VecDeque<Vec<u8>>>,
    gone: HashSet<u64>,
    /// Those who wait for the next round.
    waiting: HashSet<u64>,
    /// Those who join in the next round.
    joining: Vec<u64>,
    round: u64,
}

impl State {
    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Those of the present round who neither wait for the next nor have gone, by rank.
    fn busy(&self) -> Vec<usize> {
        let is_busy = |id: &u64| !self.waiting.contains(id) && !self.gone.contains(id);
        (0..self.members.len()).filter(|&rank| is_busy(&self.members[rank])).collect()
    }

    /// Begins the next round if nobody is busy with the present one.
    fn advance(&mut self) -> bool {
        let ready = self.busy().is_empty() && (!self.waiting.is_empty() || !self.joining.is_empty());
        if ready {
            let stay = std::mem::take(&mut self.waiting);
            self.members.retain(|id| stay.contains(id));
            self.joined = self.joining.len();
            self.members.append(&mut self.joining);
            self.mail.clear();
            self.gone.clear();
            self.round += 1;
        }
        ready
    }
}

impl Threads {
    /// A group of so many members, each to be moved to a thread of its own.
    ///
    /// # Panics
    /// With no members.
    pub fn group(size: usize) -> Vec<Threads> {
        Threads::group_with_timeout(size, TIMEOUT)
    }

    /// [`group`](Threads::group) with the longest time that a message is waited for (120 seconds if not set).
    ///
    /// # Panics
    /// With no members.
    pub fn group_with_timeout(size: usize, timeout: Duration) -> Vec<Threads> {
        assert!(size > 0, "a group has at least one member");
        let mut state = State::default();
        state.members = (0..size).map(|_| state.new_id()).collect();
        let members = state.members.clone();
        let room =
            Room { shared: Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), timeout }) };
        members.iter().map(|&id| room.member(id, &members)).collect()
    }

    /// Where others can join.
    pub fn room(&self) -> Room {
        self.room.clone()
    }

    fn id_of(&self, rank: usize) -> Result<u64> {
        let members = self.members.borrow();
        members.get(rank).copied().ok_or_else(|| {
            Error::argument("Group", format!("there is no member {rank} in a group of {}", members.len()))
        })
    }
}

impl Room {
    /// A new member; returns when those who are there have let it in with [`regroup`](Group::regroup).
    pub fn join(&self) -> Result<Threads> {
        let mut state = self.lock();
        let id = state.new_id();
        state.joining.push(id);
        state.advance();
        self.shared.changed.notify_all();
        let deadline = Instant::now() + self.shared.timeout;
        while !state.members.contains(&id) {
            let Some(next) = self.wait(state, deadline) else {
                let mut state = self.lock();
                state.joining.retain(|&waiting| waiting != id);
                return Err(Error::Timeout { op: "Room::join", waited: self.shared.timeout });
            };
            state = next;
        }
        Ok(self.member(id, &state.members))
    }

    fn member(&self, id: u64, members: &[u64]) -> Threads {
        let rank = members.iter().position(|&member| member == id).unwrap_or_default();
        let (members, rank) = (RefCell::new(members.to_vec()), Cell::new(rank));
        Threads { room: self.clone(), id, members, rank, traffic: Traffic::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something has changed; `None` when the time is over.
    fn wait<'a>(&'a self, state: MutexGuard<'a, State>, deadline: Instant) -> Option<MutexGuard<'a, State>> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        let waited = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        Some(waited.0)
    }

    /// The next message of the member `from`, which has this rank.
    fn receive(&self, from: u64, rank: usize, to: u64) -> Result<Vec<u8>> {
        let deadline = Instant::now() + self.shared.timeout;
        let mut state = self.lock();
        loop {
            if let Some(message) = state.mail.get_mut(&(from, to)).and_then(VecDeque::pop_front) {
                return Ok(message);
            }
            if state.gone.contains(&from) {
                return Err(Error::group("receive", rank, "has left: its thread ended or failed"));
            }
            state = self.wait(state, deadline).ok_or_else(|| {
                Error::group("receive", rank, format!("has sent nothing within {:?}", self.shared.timeout))
            })?;
        }
    }

    /// Waits until all members of this round are here or gone, and the next one begins.
    fn next_round(&self, id: u64) -> Result<(Vec<u64>, usize)> {
        let deadline = Instant::now() + self.shared.timeout;
        let mut state = self.lock();
        let round = state.round;
        state.waiting.insert(id);
        loop {
            if state.round == round && !state.advance() {
                let busy = state.busy();
                state = match self.wait(state, deadline) {
                    Some(state) => state,
                    None => {
                        self.lock().waiting.remove(&id);
                        let late = busy.first().copied().unwrap_or_default();
                        let message = format!("has not come within {:?}", self.shared.timeout);
                        return Err(Error::group("regroup", late, message));
                    }
                };
                continue;
            }
            self.shared.changed.notify_all();
            return Ok((state.members.clone(), state.joined));
        }
    }
}

impl Group for Threads {
    fn rank(&self) -> usize {
        self.rank.get()
    }

    fn size(&self) -> usize {
        self.members.borrow().len()
    }

    fn send(&self, to: usize, message: Vec<u8>) -> Result<()> {
        let id = self.id_of(to)?;
        let mut state = self.room.lock();
        if state.gone.contains(&id) {
            return Err(Error::group("send", to, "has left: its thread ended or failed"));
        }
        state.mail.entry((self.id, id)).or_default().push_back(message);
        self.room.shared.changed.notify_all();
        Ok(())
    }

    fn receive(&self, from: usize) -> Waiting<'_, Vec<u8>> {
        Box::pin(async move { self.room.receive(self.id_of(from)?, from, self.id) })
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    fn regroup(&self) -> Waiting<'_, Membership> {
        Box::pin(async move {
            let (members, joined) = self.room.next_round(self.id)?;
            self.rank.set(members.iter().position(|&id| id == self.id).unwrap_or_default());
            let size = members.len();
            self.members.replace(members);
            self.traffic.restart();
            Ok(Membership { rank: self.rank(), size, joined })
        })
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let mut state = self.room.lock();
        state.gone.insert(self.id);
        state.waiting.remove(&self.id);
        state.advance();
        self.room.shared.changed.notify_all();
    }
}
