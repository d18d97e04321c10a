//! What optimizers share: the parameters with their state, and the step that moves them together or not at all.

use crate::autograd::no_grad_guard;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::nn::Parameter;
use crate::op::{Meta, Op};
use crate::tensor::Tensor;
use crate::tensor::node::Value;
use std::collections::{HashSet, VecDeque};

/// Steps that can still be taken back when a fault shows.
const REMEMBERED_STEPS: usize = 1024;

/// A parameter with what the optimizer remembers about it.
#[derive(Debug)]
struct Slot {
    parameter: Parameter,
    state: Vec<Tensor>,
    /// Steps this parameter has taken.
    steps: u64,
}

/// The parameters of an optimizer, each once.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    device: Device,
    /// The latest steps: the run that made each, and the slots it moved.
    recent: VecDeque<(u64, Vec<usize>)>,
}

/// What a rule is given about one parameter.
pub(super) struct Given<'a> {
    pub value: &'a Tensor,
    pub grad: &'a Tensor,
    pub state: &'a [Tensor],
    /// This step's number, from 1.
    pub step: u64,
}

/// What a rule makes of it.
pub(super) struct Update {
    pub value: Tensor,
    pub state: Vec<Tensor>,
}

impl Slots {
    /// Takes parameters, tied ones once, with `states` zeros each, and evaluates all of them in one plan: the first
    /// step then has the same structure as all later ones.
    pub fn new(
        optimizer: &'static str,
        parameters: impl IntoIterator<Item = Parameter>,
        states: usize,
    ) -> Result<Slots> {
        let mut seen = HashSet::new();
        let distinct = parameters.into_iter().filter(|parameter| seen.insert(parameter.id()));
        let slot = |parameter: Parameter| {
            let zeros = || Tensor::zeros(parameter.shape(), (parameter.dtype(), &parameter.device()));
            Slot { state: (0..states).map(|_| zeros()).collect(), parameter, steps: 0 }
        };
        let slots: Vec<Slot> = distinct.map(slot).collect();
        let Some(first) = slots.first() else {
            return Err(Error::argument(optimizer, "the list of parameters is empty"));
        };
        let device = first.parameter.device();
        if let Some(other) = slots.iter().find(|slot| slot.parameter.device() != device) {
            let (left, right) = (format!("{device:?}"), format!("{:?}", other.parameter.device()));
            return Err(Error::DeviceMismatch { op: optimizer, left, right });
        }
        let values = slots.iter().map(|slot| slot.parameter.value().value().clone());
        let states = slots.iter().flat_map(|slot| &slot.state).map(|state| state.value().clone());
        device.evaluate(&values.chain(states).collect::<Vec<Value>>())?;
        Ok(Slots { slots, device, recent: VecDeque::new() })
    }

    pub fn zero_grad(&self) {
        self.slots.iter().for_each(|slot| slot.parameter.zero_grad());
    }

    /// Applies a rule to every parameter that learns and has a gradient.
    pub fn step(&mut self, rule: impl Fn(&Given) -> Result<Update>) -> Result<()> {
        self.forget_void_steps();
        let mut updates = Vec::new();
        {
            let _guard = no_grad_guard();
            for (index, slot) in self.slots.iter().enumerate() {
                if let Some(grad) = slot.parameter.grad().filter(|_| slot.parameter.requires_grad()) {
                    updates.push((index, slot.update(&grad, &rule)?));
                }
            }
        }
        let written = updates.iter().flat_map(|(_, update)| update.state.iter().chain([&update.value]));
        let written: Vec<Value> = written.map(|tensor| tensor.value().clone()).collect();
        let run = self.device.evaluate_with_held(&written)?;
        let mut moved = Vec::with_capacity(updates.len());
        for (index, update) in updates {
            let slot = &mut self.slots[index];
            slot.parameter.try_set(&update.value)?;
            slot.state = update.state;
            slot.steps += 1;
            moved.push(index);
        }
        self.recent.push_back((run, moved));
        if self.recent.len() > REMEMBERED_STEPS {
            self.recent.pop_front();
        }
        Ok(())
    }

    /// Steps that a fault on the device has made void do not count.
    fn forget_void_steps(&mut self) {
        while let Some((run, moved)) = self.recent.back()
            && self.device.backend().void_because(*run).is_some()
        {
            moved.iter().for_each(|&index| self.slots[index].steps -= 1);
            self.recent.pop_back();
        }
    }
}

impl Slot {
    /// The rule's result, which takes effect only as long as the device has seen no fault.
    fn update(&self, grad: &Tensor, rule: impl Fn(&Given) -> Result<Update>) -> Result<Update> {
        let value = self.parameter.value();
        let healthy =
            Tensor::source(Op::Healthy, Meta::new(value.shape(), DType::Bool), value.device(), &[])?;
        let given = Given { value: &value, grad, state: &self.state, step: self.steps + 1 };
        let new = rule(&given)?;
        let kept = new.state.iter().zip(&self.state).map(|(new, old)| healthy.try_where_cond(new, old));
        Ok(Update { state: kept.collect::<Result<_>>()?, value: healthy.try_where_cond(&new.value, &value)? })
    }
}
