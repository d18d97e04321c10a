//! A network inside of one thread, for peers: it delays messages, lets those of different pairs overtake each other, and cuts members off. Time is
//! its own, and all chance comes from a seed, so a run is the same every time.

use flambeau::group::peers::{LinkEvent, Links, PeerId};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Numbers from a seed (xorshift64*).
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    pub fn milliseconds(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to - from))
    }
}

#[derive(Debug, Default)]
struct Member {
    events: VecDeque<LinkEvent>,
    open: BTreeSet<PeerId>,
}

#[derive(Debug)]
struct Shared {
    now: Duration,
    chance: Chance,
    members: BTreeMap<PeerId, Member>,
    /// What arrives when, at whom.
    coming: BTreeMap<(Duration, u64), (PeerId, LinkEvent)>,
    /// The last arrival of each pair: messages of a pair keep their order.
    last: BTreeMap<(PeerId, PeerId), Duration>,
    count: u64,
    /// When who wants to be woken.
    timers: BTreeSet<(Duration, PeerId)>,
    /// Some of what was sent, for those who want to send it again.
    overheard: VecDeque<Vec<u8>>,
}

impl Shared {
    fn deliver(&mut self, from: PeerId, to: PeerId, event: LinkEvent) {
        let delay = self.chance.milliseconds(1, 40);
        let last = self.last.get(&(from, to)).copied().unwrap_or_default();
        let at = (self.now + delay).max(last);
        self.last.insert((from, to), at);
        self.count += 1;
        self.coming.insert((at, self.count), (to, event));
    }
}

/// The network, and the tasks that run in it.
#[derive(Clone)]
pub struct Network(Rc<RefCell<Shared>>);

/// A member's view of the network.
#[derive(Clone)]
pub struct Wire {
    own: PeerId,
    shared: Rc<RefCell<Shared>>,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Wire({})", self.own)
    }
}

impl Network {
    pub fn new(seed: u64) -> Network {
        Network(Rc::new(RefCell::new(Shared {
            now: Duration::ZERO,
            chance: Chance::new(seed),
            members: BTreeMap::new(),
            coming: BTreeMap::new(),
            last: BTreeMap::new(),
            count: 0,
            timers: BTreeSet::new(),
            overheard: VecDeque::new(),
        })))
    }

    pub fn now(&self) -> Duration {
        self.0.borrow().now
    }

    pub fn chance<T>(&self, draw: impl FnOnce(&mut Chance) -> T) -> T {
        draw(&mut self.0.borrow_mut().chance)
    }

    /// A new member, whose links to all others open soon.
    pub fn enter(&self, own: PeerId) -> Wire {
        let mut shared = self.0.borrow_mut();
        let others: Vec<PeerId> = shared.members.keys().copied().collect();
        shared.members.insert(own, Member::default());
        for other in others {
            shared.deliver(other, own, LinkEvent::Coming { peer: other, older: true });
            shared.deliver(own, other, LinkEvent::Coming { peer: own, older: false });
            shared.deliver(other, own, LinkEvent::Opened { peer: other });
            shared.deliver(own, other, LinkEvent::Opened { peer: own });
            shared.members.get_mut(&own).unwrap().open.insert(other);
            shared.members.get_mut(&other).unwrap().open.insert(own);
        }
        Wire { own, shared: self.0.clone() }
    }

    /// Cuts a member off. The others are told, unless it goes without a word.
    pub fn kill(&self, gone: PeerId, is_silent: bool) {
        let mut shared = self.0.borrow_mut();
        let Some(member) = shared.members.remove(&gone) else { return };
        for other in member.open {
            if let Some(known) = shared.members.get_mut(&other) {
                known.open.remove(&gone);
            }
            if !is_silent {
                shared.deliver(gone, other, LinkEvent::Closed { peer: gone });
            }
        }
    }

    /// Something that was sent lately.
    pub fn overheard(&self) -> Option<Vec<u8>> {
        let mut shared = self.0.borrow_mut();
        let count = shared.overheard.len() as u64;
        let place = (count > 0).then(|| shared.chance.below(count))?;
        shared.overheard.get(place as usize).cloned()
    }

    /// Lets time go on to the next thing that happens; false if nothing will.
    pub fn advance(&self) -> bool {
        let mut shared = self.0.borrow_mut();
        let arrival = shared.coming.first_key_value().map(|((at, _), _)| *at);
        let timer = shared.timers.first().map(|(at, _)| *at);
        let Some(at) = arrival.into_iter().chain(timer).min() else { return false };
        shared.now = shared.now.max(at);
        while let Some(entry) = shared.coming.first_entry().filter(|entry| entry.key().0 <= at) {
            let (to, event) = entry.remove();
            if let Some(member) = shared.members.get_mut(&to) {
                member.events.push_back(event);
            }
        }
        let now = shared.now;
        shared.timers.retain(|(then, _)| *then > now);
        true
    }

    /// Runs a task until nothing more can be done at this moment; its result, if it has ended.
    pub fn poll<T>(&self, task: &mut Pin<Box<dyn Future<Output = T>>>) -> Option<T> {
        match task.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }
}

struct Wait<'w> {
    wire: &'w Wire,
    end: Duration,
    is_for_events: bool,
}

impl Future for Wait<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let mut shared = self.wire.shared.borrow_mut();
        let own = self.wire.own;
        let has_events = shared.members.get(&own).is_some_and(|member| !member.events.is_empty());
        if shared.now >= self.end || (self.is_for_events && has_events) {
            return Poll::Ready(());
        }
        shared.timers.insert((self.end, own));
        Poll::Pending
    }
}

impl Wire {
    /// What a member does by itself takes time.
    pub async fn work(&self, time: Duration) {
        Wait { wire: self, end: self.now() + time, is_for_events: false }.await;
    }
}

impl Links for Wire {
    fn own(&self) -> PeerId {
        self.own
    }

    fn send(&self, to: PeerId, bytes: &[u8]) {
        let mut shared = self.shared.borrow_mut();
        let is_open = shared.members.get(&self.own).is_some_and(|member| member.open.contains(&to));
        if is_open {
            shared.overheard.push_back(bytes.to_vec());
            if shared.overheard.len() > 64 {
                shared.overheard.pop_front();
            }
            shared.deliver(self.own, to, LinkEvent::Received { peer: self.own, bytes: bytes.to_vec() });
        }
    }

    fn close(&self, peer: PeerId) {
        let mut shared = self.shared.borrow_mut();
        let own = self.own;
        let was_open = shared.members.get_mut(&own).is_some_and(|member| member.open.remove(&peer));
        if was_open && let Some(other) = shared.members.get_mut(&peer) {
            other.open.remove(&own);
            shared.deliver(own, peer, LinkEvent::Closed { peer: own });
        }
    }

    fn next_event(&self) -> Option<LinkEvent> {
        self.shared.borrow_mut().members.get_mut(&self.own)?.events.pop_front()
    }

    fn now(&self) -> Duration {
        self.shared.borrow().now
    }

    fn wait(&self, at_most: Duration) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(Wait { wire: self, end: self.now() + at_most, is_for_events: true })
    }
}
