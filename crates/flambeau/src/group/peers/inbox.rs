//! The messages of one peer in one epoch, put together from their parts. Parts come in order, so whatever is not the next one was not
//! sent by an honest member; nor is more than was agreed.

use std::collections::VecDeque;

/// What has arrived and was not yet asked for.
#[derive(Debug, Default)]
pub struct Inbox {
    epoch: u64,
    /// The message that is under way: its number, its parts so far.
    number: u32,
    partial: Vec<u8>,
    messages: VecDeque<Vec<u8>>,
    /// Bytes of all of `messages`.
    waiting: usize,
}

/// Messages that may wait: of a round a member sends a handful before it needs an answer.
const MOST_WAITING: usize = 32;

impl Inbox {
    /// Forgets messages of epochs before this one.
    pub fn begin(&mut self, epoch: u64) {
        if self.epoch < epoch {
            *self = Inbox { epoch, ..Inbox::default() };
        }
    }

    /// Takes a part of an epoch that has begun; what is wrong with it otherwise. `largest` is what a message may have at most.
    pub fn take(
        &mut self,
        (number, total, at): (u32, u32, u32),
        body: &[u8],
        largest: usize,
    ) -> Result<(), String> {
        if total as usize > largest {
            return Err(format!("announced a message of {total} bytes; {largest} were agreed on"));
        }
        if (number, at as usize) != (self.number, self.partial.len()) {
            return Err("sent the parts of a message out of order, or one of them twice".into());
        }
        let is_progress = !body.is_empty() || total == 0;
        if !is_progress || self.partial.len() + body.len() > total as usize {
            return Err("sent a part that does not fit its message".into());
        }
        self.partial.extend_from_slice(body);
        if self.partial.len() == total as usize {
            self.number = self.number.wrapping_add(1);
            self.waiting += self.partial.len();
            self.messages.push_back(std::mem::take(&mut self.partial));
        }
        match self.waiting > 2 * largest || self.messages.len() > MOST_WAITING {
            true => Err("sent more messages than a round has".into()),
            false => Ok(()),
        }
    }

    /// The next message of an epoch.
    pub fn next(&mut self, epoch: u64) -> Option<Vec<u8>> {
        let message = if self.epoch == epoch { self.messages.pop_front() } else { None };
        self.waiting -= message.as_ref().map_or(0, Vec::len);
        message
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Inbox { epoch: self.epoch, number: self.number, ..Inbox::default() };
    }
}
