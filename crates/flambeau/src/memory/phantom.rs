//! Phantoms: buffers of a rehearsal, which are entered in a ledger and have no memory.
//!
//! While a thread rehearses, its evaluations make their plans and enter what they would allocate and free, in the order in which
//! the device would; nothing is computed. Each device has a ledger of its own for that, which begins with what the device has
//! in use.

use super::{Ledger, MemoryStats};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;

/// A buffer that is not there.
#[derive(Debug)]
pub(crate) struct Phantom {
    bytes: u64,
    /// Bytes that the device would take for it.
    capacity: u64,
    ledger: Arc<Ledger>,
    /// The buffer this one is a part of, and the byte it starts at there.
    within: Option<(Arc<Phantom>, u64)>,
}

impl Phantom {
    pub fn new(ledger: &Arc<Ledger>, bytes: u64, capacity: u64) -> Arc<Phantom> {
        ledger.created(capacity);
        Arc::new(Phantom { bytes, capacity, ledger: ledger.clone(), within: None })
    }

    /// A part that shares the memory of the whole.
    pub fn part(whole: &Arc<Phantom>, start: u64, bytes: u64) -> Arc<Phantom> {
        let (home, start) = match &whole.within {
            Some((home, before)) => (home, before + start),
            None => (whole, start),
        };
        let (ledger, within) = (home.ledger.clone(), Some((home.clone(), start)));
        Arc::new(Phantom { bytes, capacity: 0, ledger, within })
    }

    /// A part that has memory of its own.
    pub fn copied(&self, bytes: u64) -> Arc<Phantom> {
        Phantom::new(&self.ledger, bytes, bytes)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The buffer it is a part of, and the byte it starts at there.
    pub fn within(&self) -> Option<&(Arc<Phantom>, u64)> {
        self.within.as_ref()
    }
}

impl Drop for Phantom {
    fn drop(&mut self) {
        if self.within.is_none() {
            self.ledger.destroyed_in_use(self.capacity);
        }
    }
}

/// What a thread rehearses.
#[derive(Default)]
struct Rehearsing {
    depth: usize,
    /// By the device's number.
    ledgers: FxHashMap<u64, Arc<Ledger>>,
    /// Has an update of parameters been rehearsed since this was last asked?
    updated: bool,
}

thread_local! {
    static REHEARSING: RefCell<Rehearsing> = RefCell::default();
}

/// The rehearsal of this thread.
pub(crate) struct Rehearsed;

impl Rehearsed {
    /// Evaluations of this thread are rehearsed until [`end`](Rehearsed::end) has been called as often. Is this the first call?
    pub fn begin() -> bool {
        REHEARSING.with_borrow_mut(|rehearsing| {
            rehearsing.depth += 1;
            rehearsing.depth == 1
        })
    }

    /// Is it over?
    pub fn end() -> bool {
        REHEARSING.with_borrow_mut(|rehearsing| {
            rehearsing.depth -= 1;
            if rehearsing.depth == 0 {
                *rehearsing = Rehearsing::default();
            }
            rehearsing.depth == 0
        })
    }

    /// The ledger of a device, if this thread rehearses.
    pub fn ledger(device: u64, present: impl FnOnce() -> MemoryStats) -> Option<Arc<Ledger>> {
        REHEARSING.with_borrow_mut(|rehearsing| {
            let begins = || Arc::new(Ledger::of(present().in_use));
            (rehearsing.depth > 0).then(|| rehearsing.ledgers.entry(device).or_insert_with(begins).clone())
        })
    }

    pub fn is_under_way() -> bool {
        REHEARSING.with_borrow(|rehearsing| rehearsing.depth > 0)
    }

    pub fn note_update() {
        REHEARSING.with_borrow_mut(|rehearsing| rehearsing.updated = true);
    }

    /// Has an update been rehearsed since this was last asked?
    pub fn has_updated() -> bool {
        REHEARSING.with_borrow_mut(|rehearsing| std::mem::take(&mut rehearsing.updated))
    }
}
