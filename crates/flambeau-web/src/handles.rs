//! The tensors that JavaScript holds, by number, and what a training step does with them.
//!
//! A tensor held in Rust is evaluated by the next optimizer step. In JavaScript nobody knows when a handle ends: the
//! collector decides. So that it cannot change the plan from step to step:
//!
//! - a tensor that another op has taken as an operand no longer counts as held ([`QuietTensor`]): only results at the
//!   end of the graph (a loss, a metric, a running sum) and tensors that were kept are evaluated with a step;
//! - an intermediate that is not used in the step after its own ends there, with what it would have been computed
//!   from; one that is used again (a mask made before the loop) is computed once and stays;
//! - what could not be computed (too large, an index out of range) no longer counts as held either, or every step after
//!   it would fail with it until the collector finds it.

use flambeau::bindings::QuietTensor;
use flambeau::{Error, Result, Tensor};
use std::cell::RefCell;

thread_local! {
    static HANDLES: RefCell<Handles> = RefCell::default();
}

/// What a number stands for.
enum Hold {
    /// Evaluated by the next step.
    Held(Tensor),
    /// Only what it becomes is evaluated.
    Quiet(QuietTensor),
    /// Over, though the script still has its number.
    Ended,
}

struct Slot {
    hold: Hold,
    kept: bool,
    /// The step in which it was made. A number that was given back and taken again may stand in a list of an earlier
    /// step; what it stands for now is not of that step.
    made: u64,
    /// The step in which it was last an operand.
    used: u64,
}

#[derive(Default)]
struct Handles {
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    step: u64,
    /// Made in this step, or in the one before.
    young: Vec<u32>,
    old: Vec<u32>,
    live: u32,
}

impl Handles {
    fn slot(&mut self, handle: u32) -> Result<&mut Slot> {
        let slot = self.slots.get_mut(handle as usize).and_then(Option::as_mut);
        slot.ok_or_else(|| argument("tensor", "the tensor has been disposed of"))
    }

    fn tensor(&mut self, handle: u32) -> Result<Tensor> {
        match &self.slot(handle)?.hold {
            Hold::Held(tensor) => Ok(tensor.clone()),
            Hold::Quiet(tensor) => Ok(tensor.tensor()),
            Hold::Ended => Err(argument(
                "tensor",
                "the tensor was an intermediate of an earlier training step and ended with it; call keep() on it in \
                 its own step to use it later",
            )),
        }
    }

    /// Intermediates of the step before that are used in this one are computed now, and stay.
    fn begin_step(&mut self) {
        let step = self.step;
        for handle in &self.old {
            let Some(Some(slot)) = self.slots.get_mut(*handle as usize) else { continue };
            if let Hold::Quiet(tensor) = &slot.hold
                && slot.made < step
                && slot.used == step
            {
                slot.hold = Hold::Held(tensor.tensor());
                slot.kept = true;
            }
        }
    }

    /// Results that are still to be computed no longer count as held.
    fn quiet_pending(&mut self) {
        for slot in self.slots.iter_mut().flatten() {
            if let Hold::Held(tensor) = &slot.hold {
                let quiet = QuietTensor::new(tensor);
                if !slot.kept && quiet.is_pending() {
                    slot.hold = Hold::Quiet(quiet);
                }
            }
        }
    }

    /// The others end.
    fn end_step(&mut self) {
        for handle in std::mem::take(&mut self.old) {
            let Some(Some(slot)) = self.slots.get_mut(handle as usize) else { continue };
            if let Hold::Quiet(tensor) = &slot.hold
                && tensor.is_pending()
                && slot.made.max(slot.used) < self.step
            {
                slot.hold = Hold::Ended;
            }
        }
        self.old = std::mem::take(&mut self.young);
        self.step += 1;
    }
}

/// An error about an argument.
pub fn argument(op: &'static str, message: impl Into<String>) -> Error {
    Error::Argument { op, message: message.into() }
}

fn with<T>(body: impl FnOnce(&mut Handles) -> T) -> T {
    HANDLES.with_borrow_mut(body)
}

/// Gives a tensor a number. 0 is never one.
pub fn hold(tensor: Tensor) -> u32 {
    with(|handles| {
        if handles.slots.is_empty() {
            handles.slots.push(None);
        }
        let slot = Some(Slot { hold: Hold::Held(tensor), kept: false, made: handles.step, used: 0 });
        let handle = match handles.free.pop() {
            Some(handle) => {
                handles.slots[handle as usize] = slot;
                handle
            }
            None => {
                handles.slots.push(slot);
                handles.slots.len() as u32 - 1
            }
        };
        handles.young.push(handle);
        handles.live += 1;
        handle
    })
}

/// The tensor, for reading.
pub fn get(handle: u32) -> Result<Tensor> {
    with(|handles| handles.tensor(handle))
}

/// What became of reading a tensor: one that could not be computed no longer counts as held.
pub fn read<T>(handle: u32, result: Result<T>) -> Result<T> {
    if result.is_err() {
        // It may have been disposed of in the meantime.
        drop(operand(handle));
    }
    result
}

/// The tensor, as an operand of an op.
pub fn operand(handle: u32) -> Result<Tensor> {
    with(|handles| {
        let tensor = handles.tensor(handle)?;
        let step = handles.step;
        let slot = handles.slot(handle)?;
        slot.used = step;
        if !slot.kept {
            slot.hold = Hold::Quiet(QuietTensor::new(&tensor));
        }
        Ok(tensor)
    })
}

/// Has it evaluated with the next step, and lets it live on.
pub fn keep(handle: u32) -> Result<()> {
    with(|handles| {
        let tensor = handles.tensor(handle)?;
        let slot = handles.slot(handle)?;
        slot.kept = true;
        slot.hold = Hold::Held(tensor);
        Ok(())
    })
}

/// Gives the number another tensor: what in-place methods do.
pub fn rebind(handle: u32, tensor: Tensor) -> Result<()> {
    with(|handles| {
        handles.slot(handle)?.hold = Hold::Held(tensor);
        Ok(())
    })
}

/// Takes the number back. Unknown ones are ignored.
pub fn release(handle: u32) {
    let released = with(|handles| {
        let slot = handles.slots.get_mut(handle as usize).and_then(Option::take);
        if slot.is_some() {
            handles.free.push(handle);
            handles.live -= 1;
        }
        slot
    });
    // Dropping a tensor may drop many nodes: not while the table is borrowed.
    drop(released);
}

/// Would the next step evaluate it for its own sake?
pub fn counts(handle: u32) -> bool {
    with(|handles| match handles.slot(handle) {
        Ok(Slot { hold: Hold::Held(tensor), .. }) => QuietTensor::new(tensor).is_pending(),
        _ => false,
    })
}

/// The number of tensors that JavaScript holds.
pub fn live() -> u32 {
    with(|handles| handles.live)
}

/// Runs an optimizer's step between the two ends of a training step.
pub fn step(body: impl FnOnce() -> Result<()>) -> Result<()> {
    with(Handles::begin_step);
    let result = body();
    if result.is_err() {
        with(Handles::quiet_pending);
    }
    with(Handles::end_step);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use flambeau::Device;

    /// The collector decides when a number is free again; what takes it next must not inherit its age.
    #[test]
    fn a_number_that_is_taken_again_is_as_old_as_what_it_stands_for() -> Result<()> {
        let device = Device::cpu();
        let ones = || Tensor::ones([3], &device);
        let of_last_step = hold(ones());
        step(|| Ok(()))?;

        release(of_last_step);
        let intermediate = hold(ones().add(1.0));
        assert_eq!(intermediate, of_last_step, "the number is taken again");
        drop(operand(intermediate)?);
        step(|| Ok(()))?;
        assert!(
            !counts(intermediate),
            "it was used in its own step only: no step computes it for its own sake"
        );
        assert!(get(intermediate).is_ok(), "it lives until the next step has ended");

        step(|| Ok(()))?;
        let ended = get(intermediate).expect_err("it ended with the step after its own");
        assert!(ended.to_string().contains("ended with it"), "{ended}");
        Ok(())
    }
}
