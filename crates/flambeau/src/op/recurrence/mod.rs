//! A recurrent layer in one direction over all time steps, as one node whatever their number: simple layers, GRU and LSTM.
//!
//! The input's share of the gates comes in, made for all steps by one product. A step is then a product with the state's
//! weight and the gates; backward, from the last step to the first, a product of the gates' gradients with that weight.
//! What the weights get is left to products over all steps at once.
//!
//! - `cpu`: sequences on different cores, each step a matrix product, then the gates (`rows`);
//! - `wgsl`: a dispatch for each step, all of one shader: its product, then the gates (`gates`);
//! - `exact`: the definition in f64;
//! - `sequence`: the same layer from tensor ops, step by step. It has what the kernels leave out (lengths, projections,
//!   other dtypes), and derivatives of derivatives;
//! - `step`: one step from tensor ops, which the cells are made of too.

mod cpu;
mod exact;
mod gates;
mod rows;
mod samples;
mod sequence;
pub(crate) mod step;
mod wgsl;

use super::batch::{BatchCall, Batched, Sample, folded};
use super::case::Case;
use super::structured::{Exact, Listed, Structured};
use super::units::units_of;
use super::{Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp, not_differentiable};
use crate::autograd::is_grad_enabled;
use crate::calls::Methods;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::HostBuffer;
use crate::ir::WhyNot;
use crate::ir::call::{CpuOperand, Kernels, Layout, OnUnits, StructuredCall};
use crate::ir::program::Program;
use crate::op::Autocast;
use crate::shape::{Shape, product};
pub(crate) use sequence::{Sequence, States};
use smallvec::{SmallVec, smallvec};
pub(crate) use step::Kind;

/// Numbers that forward keeps for backward, for each unit of a layer with gates: an LSTM's gates i, f, g, o after their
/// functions; a GRU's r, z, n, and the state's share of n.
const KEPT: usize = 4;

/// T steps of B sequences with H units in G gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Recurrence {
    pub kind: Kind,
    /// From the last step to the first.
    pub reverse: bool,
    pub direction: Direction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Direction {
    /// (input's share of the gates (T, B, G·H), weight (G·H, H), first state (B, H); of an LSTM the first cell (B, H), of a
    /// GRU the state's bias (G·H), if it has one) → states (T, B, H); of an LSTM the cells (T, B, H); if it keeps them, the
    /// gates (T, B, 4·H).
    Forward { keeps: bool },
    /// (gradient of the states (T, B, H), transposed weight (H, G·H), and:
    /// - of a simple layer: states;
    /// - of a GRU: gates kept, first state, states;
    /// - of an LSTM: gates kept, first cell, cells, and the gradient of the cells (T, B, H), if there is one)
    ///
    /// → gradients of the state's share of the gates (T, B, G·H); of a GRU those of the input's share, too, which are the
    /// same for the others; of GRU and LSTM what the first state (GRU) or cell (LSTM) gets past the gates (B, H).
    Backward,
}

#[derive(Debug, Clone, Copy)]
struct Sizes {
    steps: usize,
    batch: usize,
    units: usize,
}

impl Recurrence {
    /// The first input and the weight tell all sizes.
    fn sizes(&self, first: &Shape, weight: &Shape) -> Sizes {
        let units = match self.direction {
            Direction::Forward { .. } => weight[1],
            Direction::Backward => weight[0],
        };
        Sizes { steps: first[0], batch: first[1], units }
    }

    /// The steps in the order in which they are computed.
    fn order(&self, steps: usize) -> impl Iterator<Item = usize> + use<> {
        let backwards = self.reverse != (self.direction == Direction::Backward);
        (0..steps).map(move |step| if backwards { steps - 1 - step } else { step })
    }

    /// The step whose states a step begins with; none if it is the first in the layer's direction.
    fn before(&self, steps: usize, time: usize) -> Option<usize> {
        match self.reverse {
            false => time.checked_sub(1),
            true => Some(time + 1).filter(|&before| before < steps),
        }
    }

    /// The step that begins with a step's states; none if it is the last.
    fn after(&self, steps: usize, time: usize) -> Option<usize> {
        Recurrence { reverse: !self.reverse, ..*self }.before(steps, time)
    }
}

/// May a layer be given to the kernels?
fn applies(sequence: &Sequence) -> bool {
    let dtype = sequence.input.dtype();
    let operands = [sequence.weight, sequence.hidden].into_iter().chain(sequence.cell).chain(sequence.bias);
    matches!(dtype, DType::F32 | DType::F64)
        && sequence.projection.is_none()
        && sequence.running.is_none()
        && sequence.input.numel() > 0
        && operands.into_iter().all(|operand| operand.dtype() == dtype)
}

/// The states after each step of a layer that [`applies`] to.
#[track_caller]
fn run(sequence: &Sequence) -> Result<States> {
    let Sequence { kind, reverse, input, weight, hidden, cell, bias, .. } = *sequence;
    let mut operands: SmallVec<[&Tensor; 4]> = smallvec![input, weight, hidden];
    operands.extend(cell.into_iter().chain(bias));
    let recorded = is_grad_enabled() && operands.iter().any(|operand| operand.edge().is_some());
    let keeps = recorded && kind.has_gates();
    let (steps, batch, units, dtype) = (input.size(0), input.size(1), hidden.size(1), input.dtype());
    let mut outputs = smallvec![Meta::new([steps, batch, units], dtype)];
    if kind == Kind::Lstm {
        outputs.push(Meta::new([steps, batch, units], dtype));
    }
    if keeps {
        outputs.push(Meta::new([steps, batch, KEPT * units], dtype));
    }
    let op = Recurrence { kind, reverse, direction: Direction::Forward { keeps } };
    let op = Op::Structured(StructuredOp::Recurrence(op));
    let results = Tensor::from_op_multi(op, &operands, outputs, &[])?;
    let cell = (kind == Kind::Lstm).then(|| results[1].clone());
    Ok(States { hidden: results[0].clone(), cell })
}

impl Kernels for Recurrence {
    fn name(&self) -> &'static str {
        match self.direction {
            Direction::Forward { .. } => "recurrence",
            Direction::Backward => "recurrence_backward",
        }
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::Contiguous
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], _: &[Scalar]) -> Result<()> {
        let sizes = self.sizes(&inputs[0].meta.shape, &inputs[1].meta.shape);
        match inputs[0].meta.dtype {
            DType::F64 => cpu::run::<f64>(self, &sizes, inputs, outputs),
            _ => cpu::run::<f32>(self, &sizes, inputs, outputs),
        }
        Ok(())
    }

    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        let sizes = self.sizes(&call.inputs[0].meta.shape, &call.inputs[1].meta.shape);
        Ok(wgsl::programs(self, &sizes, call, false))
    }

    fn wgsl_without_barriers(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        let sizes = self.sizes(&call.inputs[0].meta.shape, &call.inputs[1].meta.shape);
        Ok(wgsl::programs(self, &sizes, call, true))
    }

    fn on_units(&self, call: &StructuredCall) -> Option<OnUnits> {
        let not = || units_of(call).and(Err(WhyNot::Kind("the steps of recurrent layers")));
        matches!(call.inputs[0].meta.dtype, DType::F16 | DType::F32).then(not)
    }

    /// The products with the weight.
    fn flops(&self, call: &StructuredCall) -> u64 {
        let Sizes { steps, batch, .. } = self.sizes(&call.inputs[0].meta.shape, &call.inputs[1].meta.shape);
        product([2, steps, batch, call.inputs[1].meta.numel()]) as u64
    }
}

impl Structured for Recurrence {
    fn saves(&self) -> Saves {
        match self.direction {
            Direction::Forward { .. } => Saves { inputs: u32::MAX, outputs: true },
            Direction::Backward => Saves::NOTHING,
        }
    }

    /// The gates' gradients step by step; the weight's, the bias's and the first state's follow from them at once.
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let Direction::Forward { .. } = self.direction else { return not_differentiable(v) };
        let sequence = Sequence::of_op(self, v.inputs);
        let hidden = &v.outputs[0];
        let states = States { hidden: hidden.clone(), cell: sequence.cell.map(|_| v.outputs[1].clone()) };
        let given = |output: usize| v.grads.get(output).cloned().flatten();
        let grad = given(0).unwrap_or_else(|| hidden.zeros_like());
        let cell_grad = sequence.cell.and_then(|_| given(1));
        if is_grad_enabled() {
            return sequence.grads(v, &states, &grad, cell_grad.as_ref());
        }
        let kept = v.outputs.last().filter(|_| self.kind.has_gates());
        let weight = sequence.weight.try_t()?;
        let mut operands: SmallVec<[&Tensor; 6]> = smallvec![&grad, &weight];
        operands.extend(kept);
        operands.extend(match self.kind {
            Kind::Lstm => sequence.cell,
            Kind::Gru => Some(sequence.hidden),
            Kind::Tanh | Kind::Relu => None,
        });
        operands.push(states.cell.as_ref().unwrap_or(hidden));
        operands.extend(&cell_grad);
        let gates = Meta::new(sequence.input.shape(), hidden.dtype());
        let mut outputs = smallvec![gates.clone()];
        if self.kind == Kind::Gru {
            outputs.push(gates);
        }
        if self.kind.has_gates() {
            outputs.push(Meta::new(sequence.hidden.shape(), hidden.dtype()));
        }
        let op = Recurrence { direction: Direction::Backward, ..*self };
        let op = Op::Structured(StructuredOp::Recurrence(op));
        let results = Tensor::from_op_multi(op, &operands, outputs, &[])?;
        sequence.grads_of_gates(v, &states, &results)
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let sizes = self.sizes(&inputs[0].shape, &inputs[1].shape);
        Ok(exact::run(self, &sizes, inputs, outputs))
    }
}

impl Listed for Recurrence {
    const NAMES: &'static [&'static str] = &["recurrence", "recurrence_backward"];
    const AUTOCAST: Autocast = Autocast::Lower;

    fn samples() -> Vec<Case> {
        samples::samples()
    }

    /// With one weight for all samples they are further sequences.
    fn batch(&self, call: &BatchCall) -> Result<Batched> {
        // Weights, and the bias of a GRU.
        let is_shared = |index: usize, rank: usize| index == 1 || rank == 1;
        let rank = |input: &Sample| input.tensor().rank() - usize::from(input.is_each());
        if call
            .inputs
            .iter()
            .enumerate()
            .any(|(index, input)| input.is_each() && is_shared(index, rank(input)))
        {
            return call.one_by_one();
        }
        // (S, T, B, …) to (T, S·B, …), or (S, B, …) to (S·B, …); and back.
        let operand = |(index, input): (usize, &Sample)| match (is_shared(index, rank(input)), rank(input)) {
            (true, _) => Ok(input.tensor().clone()),
            (false, 3) => {
                let (each, shape) = (call.each(index)?, input.tensor().shape());
                let [.., steps, batch, width] = shape.dims() else { unreachable!("three dimensions") };
                each.try_transpose(0, 1)?.try_reshape([*steps, call.size * batch, *width])
            }
            _ => folded(&call.each(index)?),
        };
        let inputs = call.inputs.iter().enumerate().map(operand).collect::<Result<Vec<_>>>()?;
        let dim = |meta: &Meta| meta.shape.rank() - 2;
        let wide = |meta: &Meta| {
            Meta::new(meta.shape.with(dim(meta), call.size * meta.shape[dim(meta)]), meta.dtype)
        };
        let (inputs, outputs) = (inputs.iter().collect::<Vec<_>>(), call.outputs.iter().map(wide).collect());
        let results = Tensor::from_op_multi(call.op.clone(), &inputs, outputs, call.data)?;
        let narrow = |(result, meta): (&Tensor, &Meta)| {
            let apart = result.try_reshape(meta.shape.inserted(dim(meta), call.size))?;
            if dim(meta) == 0 { Ok(apart) } else { apart.try_transpose(0, 1) }
        };
        results.iter().zip(call.outputs).map(narrow).collect()
    }
}

/// Scripts have the layers made of it.
impl Methods for Recurrence {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::testing::{call, validate};

    /// The programs of a layer forward and backward, checked.
    fn checked(kind: Kind, [t, b, h]: [usize; 3], given: bool) -> [Vec<Program>; 2] {
        let gates = kind.gates() * h;
        let (all, one, kept) = ([t, b, gates], [t, b, h], [t, b, KEPT * h]);
        let (first, weight, turned, bias) = ([b, h], [gates, h], [h, gates], [gates]);
        let mut inputs: Vec<&[usize]> = vec![&all, &weight, &first];
        let mut outputs: Vec<&[usize]> = vec![&one];
        let mut backward: Vec<&[usize]> = vec![&one, &turned];
        let mut gradients: Vec<&[usize]> = vec![&all];
        if kind.has_gates() {
            backward.extend::<[&[usize]; 2]>([&kept, &first]);
        }
        backward.push(&one);
        match kind {
            Kind::Lstm => {
                inputs.push(&first);
                outputs.push(&one);
                backward.extend(given.then_some(&one[..]));
            }
            Kind::Gru => {
                inputs.extend(given.then_some(&bias[..]));
                gradients.push(&all);
            }
            Kind::Tanh | Kind::Relu => {}
        }
        if kind.has_gates() {
            outputs.push(&kept);
            gradients.push(&first);
        }
        let run = |direction, inputs: &[&[usize]], outputs: &[&[usize]]| {
            let op = StructuredOp::Recurrence(Recurrence { kind, reverse: given, direction });
            let specs = |shapes: &[&[usize]]| {
                shapes.iter().map(|shape| Meta::new(*shape, DType::F32)).collect::<Vec<_>>()
            };
            let (inputs, outputs) = (specs(inputs), specs(outputs));
            let inputs: Vec<_> = inputs.iter().map(|meta| (meta.shape.dims(), meta.dtype)).collect();
            let outputs: Vec<_> = outputs.iter().map(|meta| (meta.shape.dims(), meta.dtype)).collect();
            validate(&call(op, &inputs, &outputs))
        };
        let keeps = kind.has_gates();
        [
            run(Direction::Forward { keeps }, &inputs, &outputs),
            run(Direction::Backward, &backward, &gradients),
        ]
    }

    #[test]
    fn shaders_are_valid_and_hold_for_all_lengths_and_batches() {
        for kind in [Kind::Tanh, Kind::Relu, Kind::Gru, Kind::Lstm] {
            for units in [4, 5, 256] {
                for given in [false, true] {
                    let (few, many) =
                        (checked(kind, [1, 1, units], given), checked(kind, [20, 33, units], given));
                    for (few, many) in few.iter().zip(&many) {
                        assert_eq!((few.len(), many.len()), (1, 20), "a dispatch for each step");
                        let alike = |program: &Program| program.source == few[0].source;
                        assert!(many.iter().all(alike), "one shader");
                        assert!(many[0].bindings.len() <= 8, "what every device can bind");
                    }
                }
            }
        }
    }
}
