//! Threads that make batches ahead.
//!
//! Worker w of W makes the batches w, w + W, w + 2W, … and puts each into a channel of its own with room for a few.
//! The loader takes from the channels in turn, so the order does not depend on who is faster, and no worker gets
//! further ahead than its channel allows.

use super::Maker;
use super::share::Cut;
use crate::data::dataset::Item;
use crate::error::{Error, Result};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// The most batches a channel has room for, which is taken at once.
const MAX_PREFETCH: usize = 1 << 16;

/// Which batches are to be made.
#[derive(Clone)]
pub(super) struct Plan {
    pub indices: Arc<Vec<usize>>,
    pub cut: Cut,
    /// Pieces that each batch comes in.
    pub pieces: usize,
    /// The numbers of the pieces, those of all batches one after the other.
    pub remaining: Range<usize>,
}

impl Plan {
    fn batch(&self, number: usize) -> &[usize] {
        let cut = match self.pieces {
            1 => self.cut,
            pieces => Cut { rank: number % pieces, size: pieces, ..self.cut },
        };
        &self.indices[cut.items(number / self.pieces, self.indices.len())]
    }
}

/// The threads of one epoch. Dropping it ends them, each after the batch it is at.
pub(super) struct Workers {
    channels: Vec<Receiver<Result<Item>>>,
    threads: Vec<JoinHandle<()>>,
    turn: usize,
}

impl Workers {
    pub fn start(maker: &Arc<Maker>, plan: Plan, count: usize, prefetch: usize) -> Result<Workers> {
        let mut workers = Workers { channels: Vec::new(), threads: Vec::new(), turn: 0 };
        for worker in 0..count.min(plan.remaining.len()) {
            let (sender, receiver) = sync_channel(prefetch.min(plan.remaining.len()).min(MAX_PREFETCH));
            let (maker, plan) = (maker.clone(), plan.clone());
            let body = move || work(&maker, &plan, worker, count, &sender);
            let thread = Builder::new().name(format!("flambeau-data-{worker}")).spawn(body);
            let thread = thread.map_err(|error| {
                Error::argument("DataLoader", format!("worker {worker} cannot be started: {error}"))
            })?;
            workers.channels.push(receiver);
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// The arrays of the next batch in order. One that is not there in time may be asked for again.
    pub fn next(&mut self, timeout: Option<Duration>) -> Result<Item> {
        let channel = &self.channels[self.turn % self.channels.len()];
        let received = match timeout {
            None => channel.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(timeout) => channel.recv_timeout(timeout),
        };
        match received {
            Ok(made) => {
                self.turn += 1;
                made
            }
            Err(RecvTimeoutError::Timeout) => {
                Err(Error::Timeout { op: "DataLoader", waited: timeout.unwrap_or_default() })
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(Error::argument("DataLoader", "a worker ended without a word"))
            }
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.channels.clear();
        for thread in self.threads.drain(..) {
            // Panics of the data set were caught and reported; there is nothing more to learn here.
            let _ = thread.join();
        }
    }
}

fn work(maker: &Maker, plan: &Plan, worker: usize, count: usize, sender: &SyncSender<Result<Item>>) {
    for number in plan.remaining.clone().skip(worker).step_by(count) {
        let made = maker.make(plan.batch(number));
        let failed = made.is_err();
        // Nobody listens any more when the epoch was given up.
        if sender.send(made).is_err() || failed {
            return;
        }
    }
}
