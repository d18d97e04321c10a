//! What optimizers share: the parameters with their state, and the step that moves them together or not at all.
//!
//! Parameters of one group and dtype are windows of one flat tensor, and so is each of their states: a step joins the
//! gradients, applies the rule once, and hands every parameter its window of the result. All members of such a chunk
//! take part in a step and have taken the same number of steps, or none takes part. Where that ceases to hold (a layer
//! was left out, another was frozen), the chunk is divided for good.

use super::flat::{Layout, MAX_ELEMENTS};
use super::grad_scaler::{ScaledStep, check_dtype};
use super::rule::{Given, Update, check_distinct};
use crate::autograd::{no_grad_guard, set_autocast_enabled};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::nn::Parameter;
use crate::tensor::node::Value;
use crate::tensor::{FiniteCheck, Tensor, Window};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// Steps that can still be taken back when a fault shows.
const REMEMBERED_STEPS: usize = 1024;

/// A parameter as the optimizer knows it.
#[derive(Debug)]
struct Slot {
    parameter: Parameter,
    /// Steps this parameter has taken.
    steps: u64,
    /// The window the optimizer put in last; any other value is somebody else's.
    given: Tensor,
}

impl Slot {
    fn gradient(&self) -> Option<Tensor> {
        self.parameter.grad().filter(|_| self.parameter.requires_grad())
    }
}

/// Parameters that step together.
#[derive(Debug, Clone)]
struct Chunk {
    group: usize,
    members: Arc<[usize]>,
    layout: Layout,
    value: Tensor,
    states: Vec<Tensor>,
    /// How many of the members' steps a gradient scaler has skipped (I32), if one is in use: only the device knows.
    skipped: Option<Tensor>,
    /// The value in f16, written with it, where mixed precision asks for one.
    lower: Option<Tensor>,
    /// The members have not been given their windows yet.
    fresh: bool,
}

impl Chunk {
    fn tensors(&self) -> impl Iterator<Item = Value> {
        self.states.iter().chain([&self.value]).chain(&self.skipped).map(|tensor| tensor.value().clone())
    }
}

/// What a step makes of a chunk.
struct ChunkUpdate {
    chunk: usize,
    gradient: Tensor,
    /// The value before the step.
    value: Tensor,
    /// What chooses between old and new.
    healthy: Tensor,
    update: Update,
    /// How many steps have been skipped, this one included.
    skipped: Option<Tensor>,
    /// The new value in f16, where mixed precision asks for one.
    lower: Option<Tensor>,
}

impl ChunkUpdate {
    fn tensors(&self) -> impl Iterator<Item = Value> {
        let Update { value, states } = &self.update;
        let all = states.iter().chain([value]).chain(&self.skipped).chain(&self.lower);
        all.map(|tensor| tensor.value().clone())
    }
}

/// A step of a chunk that has been evaluated.
struct Stepped {
    chunk: usize,
    update: Update,
    skipped: Option<Tensor>,
    lower: Option<Tensor>,
}

/// The number of a step, of which some before were skipped (I32), as F32.
fn count_on_device(step: u64, skipped: &Tensor) -> Result<Tensor> {
    skipped.try_rsub(step as i64)?.try_to_dtype(DType::F32)
}

/// A rule, told which group it is for. Not a type parameter: the code below exists once for all optimizers.
type GroupRule<'a> = dyn Fn(usize, &Given) -> Result<Update> + 'a;

/// The parameters of an optimizer, each once.
#[derive(Debug)]
pub(super) struct Slots {
    optimizer: &'static str,
    /// May parameters share a chunk?
    elementwise: bool,
    slots: Vec<Slot>,
    chunks: Vec<Chunk>,
    device: Device,
    /// Does a step refuse numbers that are not finite?
    pub requires_finite: bool,
    /// The latest steps: the run that made each, and the slots it moved.
    recent: VecDeque<(u64, Vec<Arc<[usize]>>)>,
}

impl Slots {
    /// No parameters yet, on the device where they will be.
    pub fn new(optimizer: &'static str, elementwise: bool, device: &Device) -> Slots {
        let (slots, chunks, recent) = (Vec::new(), Vec::new(), VecDeque::new());
        let device = device.clone();
        Slots { optimizer, elementwise, slots, chunks, device, requires_finite: false, recent }
    }

    /// Takes a group of parameters, with a state for each initial value, and evaluates all of them in one plan: the first
    /// step then has the same structure as all later ones.
    pub fn add_group(&mut self, group: usize, parameters: Vec<Parameter>, states: &[f64]) -> Result<()> {
        let known: HashSet<u64> = self.slots.iter().map(|slot| slot.parameter.id()).collect();
        if parameters.is_empty() {
            return Err(Error::argument(self.optimizer, "the list of parameters is empty"));
        }
        check_distinct(self.optimizer, &parameters)?;
        if let Some(shared) = parameters.iter().find(|parameter| known.contains(&parameter.id())) {
            return Err(Error::argument(self.optimizer, format!("{shared:?} is in two groups")));
        }
        if let Some(other) = parameters.iter().find(|parameter| parameter.device() != self.device) {
            let (left, right) = (format!("{:?}", self.device), format!("{:?}", other.device()));
            return Err(Error::DeviceMismatch { op: self.optimizer, left, right });
        }
        let first = self.slots.len();
        let slot = |parameter: Parameter| Slot { steps: 0, given: parameter.value(), parameter };
        let added: Vec<Slot> = parameters.into_iter().map(slot).collect();
        let chunks = self.arrange(group, first, &added, states)?;
        self.device.evaluate_guarded(&chunks.iter().flat_map(Chunk::tensors).collect::<Vec<_>>())?;
        self.slots.extend(added);
        self.chunks.extend(chunks);
        self.hand_out()
    }

    /// Puts slots, the first of which will be number `first`, into chunks.
    fn arrange(&self, group: usize, first: usize, slots: &[Slot], states: &[f64]) -> Result<Vec<Chunk>> {
        let mut open: Vec<(DType, Vec<usize>, usize)> = Vec::new();
        let mut lists: Vec<Vec<usize>> = Vec::new();
        for (index, Slot { parameter, .. }) in slots.iter().enumerate() {
            let dtype = parameter.dtype();
            let known = open.iter().position(|(known, ..)| *known == dtype).unwrap_or_else(|| {
                open.push((dtype, Vec::new(), 0));
                open.len() - 1
            });
            let (_, list, elements) = &mut open[known];
            if !list.is_empty() && (!self.elementwise || *elements + parameter.numel() > MAX_ELEMENTS) {
                lists.push(std::mem::take(list));
                *elements = 0;
            }
            list.push(index);
            *elements += parameter.numel();
        }
        lists.extend(open.into_iter().map(|(_, list, _)| list));
        let chunk = |list: &Vec<usize>| {
            let parameters = || list.iter().map(|&index| &slots[index].parameter);
            let layout = match self.elementwise {
                true => Layout::flat(parameters().map(Parameter::shape)),
                false => Layout::single(slots[list[0]].parameter.shape()),
            };
            let value = layout.gather(&parameters().map(Parameter::value).collect::<Vec<_>>())?;
            let options = (value.dtype(), &self.device);
            let states = states.iter().map(|&initial| Tensor::try_full(layout.shape(), initial, options));
            let members = list.iter().map(|index| first + index).collect();
            let states = states.collect::<Result<_>>()?;
            Ok(Chunk { group, members, states, layout, value, skipped: None, lower: None, fresh: true })
        };
        lists.iter().map(chunk).collect()
    }

    /// Gives the members of new chunks their windows.
    fn hand_out(&mut self) -> Result<()> {
        for chunk in self.chunks.iter_mut().filter(|chunk| chunk.fresh) {
            for (&member, window) in chunk.members.iter().zip(chunk.layout.windows(&chunk.value)) {
                let slot = &mut self.slots[member];
                slot.parameter.try_set(&window)?;
                slot.given = window;
            }
            if let Some(lower) = chunk.lower.take() {
                Slots::lower_copies(&self.slots, chunk, &lower);
            }
            chunk.fresh = false;
        }
        Ok(())
    }

    /// Bytes of all states.
    pub fn state_bytes(&self) -> u64 {
        let bytes = |state: &Tensor| state.numel() as u64 * self.device.element_bytes(state.dtype());
        self.chunks.iter().flat_map(|chunk| &chunk.states).map(bytes).sum()
    }

    pub fn zero_grad(&self) {
        self.slots.iter().for_each(|slot| slot.parameter.zero_grad());
    }

    pub fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.slots.iter().map(|slot| &slot.parameter)
    }

    /// Applies a rule, which is told the group, to every parameter that learns and has a gradient. With scaled gradients nothing
    /// moves if one of them is not finite.
    pub fn step(&mut self, rule: &GroupRule, scaled: Option<&mut ScaledStep>) -> Result<()> {
        self.forget_void_steps();
        let undivided;
        let (updates, mut written): (Vec<Stepped>, Vec<Value>) = {
            let mut updates: Vec<ChunkUpdate> = Vec::with_capacity(self.chunks.len());
            let (_guard, _plain) = (no_grad_guard(), set_autocast_enabled(false));
            let gradients: Vec<Option<Tensor>> = self.slots.iter().map(Slot::gradient).collect();
            undivided = self.divide(&gradients)?;
            if scaled.is_some() {
                self.count_skipped_steps()?;
            }
            let inverse = scaled.as_ref().and_then(|scaled| scaled.inverse.clone());
            for (index, chunk) in self.chunks.iter().enumerate() {
                let parts: Option<Vec<Tensor>> =
                    chunk.members.iter().map(|&member| gradients[member].clone()).collect();
                if let Some(parts) = parts {
                    updates.push(self.update(index, &parts, rule, inverse.as_ref())?);
                }
            }
            match scaled {
                Some(scaled) => self.skip_what_is_not_finite(&mut updates, scaled)?,
                None if self.requires_finite => self.refuse_what_is_not_finite(&mut updates)?,
                None => {}
            }
            self.copy_to_lower(&mut updates)?;
            let written = updates.iter().flat_map(ChunkUpdate::tensors).collect();
            // The step evaluates everything that is held: let go of what only led here.
            let stepped =
                |ChunkUpdate { chunk, update, skipped, lower, .. }| Stepped { chunk, update, skipped, lower };
            (updates.into_iter().map(stepped).collect(), written)
        };
        written.extend(self.chunks.iter().filter(|chunk| chunk.fresh).flat_map(Chunk::tensors));
        let run = match self.device.evaluate_with_held(&written) {
            Ok(run) => run,
            Err(error) => {
                self.chunks = undivided.unwrap_or(std::mem::take(&mut self.chunks));
                return Err(error);
            }
        };
        let mut moved = Vec::with_capacity(updates.len());
        for Stepped { chunk, update: Update { value, states }, skipped, lower } in updates {
            let chunk = &mut self.chunks[chunk];
            chunk.lower = lower.map(|lower| lower.alone()).transpose()?;
            if let Some(skipped) = skipped {
                chunk.skipped = Some(skipped.alone()?);
            }
            // The next step then has the structure of this one, in which they were apart.
            chunk.value = value.alone()?;
            chunk.states = states.iter().map(Tensor::alone).collect::<Result<_>>()?;
            chunk.fresh = true;
            chunk.members.iter().for_each(|&member| self.slots[member].steps += 1);
            moved.push(chunk.members.clone());
        }
        self.recent.push_back((run, moved));
        if self.recent.len() > REMEMBERED_STEPS {
            self.recent.pop_front();
        }
        self.hand_out()
    }

    /// Divides chunks whose members no longer step together; returns the chunks as they were.
    fn divide(&mut self, gradients: &[Option<Tensor>]) -> Result<Option<Vec<Chunk>>> {
        let pace = |member: usize| gradients[member].as_ref().map(|_| self.slots[member].steps);
        let is_mixed =
            |chunk: &Chunk| chunk.members.iter().any(|&member| pace(member) != pace(chunk.members[0]));
        if !self.chunks.iter().any(is_mixed) {
            return Ok(None);
        }
        let mut chunks = Vec::new();
        for chunk in &self.chunks {
            if !is_mixed(chunk) {
                chunks.push(chunk.clone());
                continue;
            }
            let mut by_pace: Vec<(Option<u64>, Vec<usize>)> = Vec::new();
            for (place, &member) in chunk.members.iter().enumerate() {
                let pace = pace(member);
                match by_pace.iter_mut().find(|(known, _)| *known == pace) {
                    Some((_, places)) => places.push(place),
                    None => by_pace.push((pace, vec![place])),
                }
            }
            let states: Vec<Vec<Tensor>> =
                chunk.states.iter().map(|state| chunk.layout.windows(state)).collect();
            for (_, places) in by_pace {
                let members: Arc<[usize]> = places.iter().map(|&place| chunk.members[place]).collect();
                let parameters = || members.iter().map(|&member| &self.slots[member].parameter);
                let layout = Layout::flat(parameters().map(Parameter::shape));
                let value = layout.gather(&parameters().map(Parameter::value).collect::<Vec<_>>())?;
                let picked = |state: &Vec<Tensor>| {
                    layout.gather(&places.iter().map(|&place| state[place].clone()).collect::<Vec<_>>())
                };
                let states = states.iter().map(picked).collect::<Result<_>>()?;
                let (group, skipped) = (chunk.group, chunk.skipped.clone());
                chunks.push(Chunk {
                    group,
                    members,
                    layout,
                    value,
                    states,
                    skipped,
                    lower: None,
                    fresh: true,
                });
            }
        }
        Ok(Some(std::mem::replace(&mut self.chunks, chunks)))
    }

    /// The rule's result for a chunk, which takes effect only as long as the device has seen no fault.
    fn update(
        &self,
        index: usize,
        gradients: &[Tensor],
        rule: &GroupRule,
        inverse: Option<&Tensor>,
    ) -> Result<ChunkUpdate> {
        let chunk = &self.chunks[index];
        let members = || chunk.members.iter().map(|&member| &self.slots[member]);
        let value = match members().all(|slot| slot.parameter.holds(&slot.given)) {
            true => chunk.value.clone(),
            false => {
                chunk.layout.gather(&members().map(|slot| slot.parameter.value()).collect::<Vec<_>>())?
            }
        };
        let gradient = chunk.layout.gather(gradients)?;
        let step = self.slots[chunk.members[0]].steps + 1;
        let healthy = value.healthy()?;
        let count = chunk.skipped.as_ref().map(|skipped| count_on_device(step, skipped)).transpose()?;
        let unscaled = match inverse {
            Some(inverse) => {
                check_dtype(&gradient)?;
                gradient.try_mul(&inverse.try_to_dtype(gradient.dtype())?)?
            }
            None => gradient.clone(),
        };
        let (grad, states, count) = (&unscaled, &chunk.states[..], count.as_ref());
        let given = Given { value: &value, grad, states, step, count, healthy: &healthy };
        let Update { value: new, states } = rule(chunk.group, &given)?;
        let guard = |(state, new): (usize, Tensor)| match new.is_chosen_by(&healthy) {
            true => Ok(new),
            false => given.remember(state, &new),
        };
        let states = states.into_iter().enumerate().map(guard).collect::<Result<_>>()?;
        let new = if new.is_chosen_by(&healthy) { new } else { healthy.try_where_cond(&new, &value)? };
        let update = Update { states, value: new };
        Ok(ChunkUpdate { chunk: index, gradient, value, healthy, update, skipped: None, lower: None })
    }

    /// Where a forward pass has taken parameters in f16, the update writes them in f16, too, so that the next need not cast them.
    fn copy_to_lower(&self, updates: &mut [ChunkUpdate]) -> Result<()> {
        for ChunkUpdate { chunk, update, lower, .. } in updates {
            let mut members = self.chunks[*chunk].members.iter();
            if members.any(|&member| self.slots[member].parameter.wants_lower_copy()) {
                *lower = Some(update.value.try_to_dtype(DType::F16)?);
            }
        }
        Ok(())
    }

    /// Hands the members of a chunk their f16 copies, as windows of one tensor.
    #[inline(never)] // A page fetches it only when it is asked for (packages/flambeau/parts/later.txt).
    fn lower_copies(slots: &[Slot], chunk: &Chunk, lower: &Tensor) {
        for (&member, copy) in chunk.members.iter().zip(chunk.layout.windows(lower)) {
            let Slot { parameter, given, .. } = &slots[member];
            parameter.set_lower_copy(given, copy);
        }
    }

    /// From now on the device counts the steps that a gradient scaler skips.
    fn count_skipped_steps(&mut self) -> Result<()> {
        for chunk in self.chunks.iter_mut().filter(|chunk| chunk.skipped.is_none()) {
            chunk.skipped = Some(Tensor::try_from_slice(&[0_i32], (), &self.device)?);
        }
        Ok(())
    }

    /// Looks at every gradient, still scaled, unless that has been done. One number among them that is not finite, and no chunk
    /// changes, but for its count of skipped steps.
    #[inline(never)] // A page fetches it only when it is asked for (packages/flambeau/parts/later.txt).
    fn skip_what_is_not_finite(&self, updates: &mut [ChunkUpdate], scaled: &mut ScaledStep) -> Result<()> {
        let finite = match &scaled.finite {
            Some(finite) => finite.clone(),
            None => match self.all_finite(updates, "gradient", false)? {
                Some(finite) => finite,
                None => return Err(Error::argument("GradScaler::step", "no parameter has a gradient")),
            },
        };
        for ChunkUpdate { chunk, value, healthy, update, skipped, .. } in updates.iter_mut() {
            let chunk = &self.chunks[*chunk];
            let old = chunk.states.iter().chain([&*value]);
            for (new, old) in update.states.iter_mut().chain([&mut update.value]).zip(old) {
                *new = healthy.try_where_cond(finite.try_where_cond(&*new, old)?, old)?;
            }
            if let Some(before) = &chunk.skipped {
                let after = finite.try_where_cond(before, before.try_add(1)?)?;
                *skipped = Some(before.healthy()?.try_where_cond(after, before)?);
            }
        }
        (scaled.on_checked)(&finite)
    }

    /// Are these numbers of all chunks finite? None if there are no chunks.
    fn all_finite(
        &self,
        updates: &[ChunkUpdate],
        what: &'static str,
        faults: bool,
    ) -> Result<Option<Tensor>> {
        let mut all_finite: Option<Tensor> = None;
        for ChunkUpdate { chunk, gradient, update, .. } in updates {
            let Chunk { layout, members, .. } = &self.chunks[*chunk];
            let window = |((start, len), &parameter)| Window { start, len, parameter };
            let windows = layout.places().zip(&**members).map(window).collect();
            let numbers = if what == "gradient" { gradient } else { &update.value };
            let finite = numbers.all_finite(FiniteCheck { asker: self.optimizer, what, windows, faults })?;
            all_finite = Some(match all_finite {
                Some(others) => others.try_logical_and(&finite)?,
                None => finite,
            });
        }
        Ok(all_finite)
    }

    /// Looks at every gradient, then at every new value. One number among them that is not finite is a fault, and then no
    /// chunk changes: what is chosen depends on the checks of all chunks.
    #[inline(never)] // A page fetches it only when it is asked for (packages/flambeau/parts/later.txt).
    fn refuse_what_is_not_finite(&self, updates: &mut [ChunkUpdate]) -> Result<()> {
        for what in ["gradient", "new value"] {
            let Some(all_finite) = self.all_finite(updates, what, true)? else { return Ok(()) };
            for ChunkUpdate { chunk, value, healthy, update, .. } in updates.iter_mut() {
                let old = self.chunks[*chunk].states.iter().chain([&*value]);
                for (new, old) in update.states.iter_mut().chain([&mut update.value]).zip(old) {
                    *new = healthy.try_where_cond(all_finite.try_where_cond(&*new, old)?, old)?;
                }
            }
        }
        Ok(())
    }

    /// Steps that a fault on the device has made void do not count.
    fn forget_void_steps(&mut self) {
        for (_, moved) in self.recent.split_off(self.first_void()) {
            moved.iter().flat_map(|members| &**members).for_each(|&member| self.slots[member].steps -= 1);
        }
    }

    /// From which of the recent steps on a fault has made them void; their number if none is.
    fn first_void(&self) -> usize {
        let void = self.device.backend().void_runs();
        let is_void = |(run, _): &(u64, Vec<Arc<[usize]>>)| {
            let is_own = |start: u64| self.recent.iter().any(|(run, _)| *run == start);
            void.iter().any(|&(start, end)| (start..=end).contains(run) && is_own(start))
        };
        let sound = self.recent.iter().rev().position(|step| void.is_empty() || !is_void(step));
        sound.map_or(0, |position| self.recent.len() - position)
    }

    /// The steps each parameter has taken, without those that a fault has made void.
    pub fn steps(&self) -> Vec<u64> {
        let mut steps: Vec<u64> = self.slots.iter().map(|slot| slot.steps).collect();
        for (_, moved) in self.recent.iter().skip(self.first_void()) {
            moved.iter().flat_map(|members| &**members).for_each(|&member| steps[member] -= 1);
        }
        steps
    }

    /// The states of each parameter, in its shape.
    pub fn states(&self) -> Vec<Vec<Tensor>> {
        let mut states: Vec<Vec<Tensor>> = self.slots.iter().map(|_| Vec::new()).collect();
        for chunk in &self.chunks {
            for state in &chunk.states {
                for (&member, window) in chunk.members.iter().zip(chunk.layout.windows(state)) {
                    states[member].push(window);
                }
            }
        }
        states
    }

    /// How many of each parameter's steps have been skipped, if a gradient scaler is in use.
    pub fn skipped(&self) -> Vec<Option<Tensor>> {
        let mut skipped = vec![None; self.slots.len()];
        for chunk in &self.chunks {
            chunk.members.iter().for_each(|&member| skipped[member] = chunk.skipped.clone());
        }
        skipped
    }

    /// Takes up steps and states of all parameters, which fit them, and how many of the steps were skipped.
    pub fn load(&mut self, steps: &[u64], states: &[Vec<Tensor>], skipped: &[Option<&Tensor>]) -> Result<()> {
        let mut loaded = Vec::with_capacity(self.chunks.len());
        for chunk in &self.chunks {
            let count = states[chunk.members[0]].len();
            let state = |index: usize| {
                let parts = chunk.members.iter().map(|&member| states[member][index].detach());
                chunk.layout.gather(&parts.collect::<Vec<_>>())
            };
            loaded.push((0..count).map(state).collect::<Result<Vec<Tensor>>>()?);
        }
        let values = loaded.iter().flatten().map(|state| state.value().clone());
        self.device.evaluate_guarded(&values.collect::<Vec<_>>())?;
        for (chunk, states) in self.chunks.iter_mut().zip(loaded) {
            chunk.states = states;
            chunk.skipped = skipped[chunk.members[0]].map(Tensor::detach);
        }
        self.slots.iter_mut().zip(steps).for_each(|(slot, &steps)| slot.steps = steps);
        self.recent.clear();
        Ok(())
    }
}
