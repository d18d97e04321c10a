//! Rehearsals: what a program would allocate on its devices, found without computing anything.
//!
//! While a [`Rehearsal`] is under way, evaluations of its thread make their plans, the very ones that would run, and enter into a
//! ledger what running them would allocate and free, in order. Values read back are zeros, and parameters stay as they are: an
//! optimizer's step is rehearsed and then taken back.

use crate::device::Device;
use crate::engine::{Pending, take_pending};
use crate::memory::{MemoryStats, Rehearsed};
use crate::rng::Generator;
use std::marker::PhantomData;

/// A rehearsal, until it is dropped. It is its thread's alone; one within another goes on with the other's ledgers.
pub(crate) struct Rehearsal {
    /// What this thread had not evaluated before, if this is no rehearsal within another.
    pending: Option<Pending>,
    /// The default generator from before: what is drawn now does not count.
    generator: Option<Generator>,
    _of_this_thread: PhantomData<*const ()>,
}

impl Rehearsal {
    pub fn begin() -> Rehearsal {
        let pending = Rehearsed::begin().then(take_pending);
        Rehearsal { pending, generator: drawing_apart(), _of_this_thread: PhantomData }
    }

    /// The device's memory as it would be now.
    pub fn memory(&self, device: &Device) -> MemoryStats {
        device.rehearsed_ledger().map(|ledger| ledger.snapshot()).unwrap_or_default()
    }

    /// Lets the peak start again from what would be in use now.
    pub fn reset_peak(&self, device: &Device) {
        if let Some(ledger) = device.rehearsed_ledger() {
            ledger.reset_peak();
        }
    }

    /// Has an optimizer's step been rehearsed since this was last asked? Its error is not one then.
    pub fn has_stepped(&self) -> bool {
        Rehearsed::has_updated()
    }
}

impl Drop for Rehearsal {
    fn drop(&mut self) {
        draw_as_before(self.generator.take());
        Rehearsed::end();
        if let Some(pending) = self.pending.take() {
            pending.put_back();
        }
    }
}

/// Lets this thread draw from a copy of its default generator; gives what [`draw_as_before`] takes.
fn drawing_apart() -> Option<Generator> {
    let present = Generator::default_generator();
    let copy = Generator::new(present.seed());
    copy.set_counter(present.counter());
    #[cfg(not(target_arch = "wasm32"))]
    return Generator::set_default_of_thread(Some(copy));
    #[cfg(target_arch = "wasm32")]
    return Some(copy);
}

#[cfg(not(target_arch = "wasm32"))]
fn draw_as_before(before: Option<Generator>) {
    Generator::set_default_of_thread(before);
}

/// A page has one thread: the copy says where its generator was.
#[cfg(target_arch = "wasm32")]
fn draw_as_before(before: Option<Generator>) {
    if let Some(before) = before {
        Generator::default_generator().manual_seed(before.seed());
        Generator::default_generator().set_counter(before.counter());
    }
}
