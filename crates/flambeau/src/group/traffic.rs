//! What a member has sent and waited for.

use std::cell::Cell;
use web_time::{Duration, Instant};

/// Counts what a member sends and how long it waits. An implementation of [`Group`](super::Group) has one and hands it out.
#[derive(Debug, Default)]
pub struct Traffic {
    transmitted: Cell<Transmitted>,
    /// How many things were done together: on the wire, so that members notice when they do different ones.
    sequence: Cell<u32>,
}

/// What a member has sent and waited for so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Transmitted {
    /// Bytes sent to other members.
    pub bytes: u64,
    /// Messages sent to other members.
    pub messages: u64,
    /// Time spent waiting for messages.
    pub waited: Duration,
    /// Time from the first message of each reduction of gradients to its end. What of it was not waited was used: for reading
    /// back what is sent next, and for adding up.
    pub reducing: Duration,
}

impl Traffic {
    /// Nothing yet.
    pub fn new() -> Traffic {
        Traffic::default()
    }

    /// The counts so far.
    pub fn transmitted(&self) -> Transmitted {
        self.transmitted.get()
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.change(|now| {
            now.bytes += bytes as u64;
            now.messages += 1;
        });
    }

    pub(super) fn waited_since(&self, start: Instant) {
        self.change(|now| now.waited += start.elapsed());
    }

    pub(super) fn reduced_since(&self, start: Instant) {
        self.change(|now| now.reducing += start.elapsed());
    }

    /// The number of the next thing that is done together.
    pub(super) fn next(&self) -> u32 {
        let number = self.sequence.get().wrapping_add(1);
        self.sequence.set(number);
        number
    }

    /// Counts from the beginning again: with members that have just joined.
    pub(super) fn restart(&self) {
        self.sequence.set(0);
    }

    fn change(&self, change: impl FnOnce(&mut Transmitted)) {
        let mut now = self.transmitted.get();
        change(&mut now);
        self.transmitted.set(now);
    }
}
