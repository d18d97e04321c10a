//! One recurrent layer in one direction, over all time steps, from tensor ops.
//!
//! The derivative is written out: the gates of all steps come again from one product, each step backwards needs one
//! product with the state's weight, and the weights get their gradients from one product over all steps. It has
//! derivatives of its own.

use super::step::{self, Kind};
use super::{Grads, Recurrence, Saves, Tensor, Vjp};
use crate::error::Result;

/// What a layer in one direction is computed from: T steps, B sequences, H hidden units in G gates, P numbers in a
/// hidden state (H, or fewer where it is projected).
#[derive(Clone, Copy)]
pub(crate) struct Sequence<'a> {
    pub kind: Kind,
    /// From the last step to the first.
    pub reverse: bool,
    /// The input's share of the gates, (T, B, G·H), with all biases that no gate multiplies.
    pub input: &'a Tensor,
    /// The state's weight, (G·H, P).
    pub weight: &'a Tensor,
    /// The first hidden state, (B, P).
    pub hidden: &'a Tensor,
    /// The first cell state of an LSTM, (B, H).
    pub cell: Option<&'a Tensor>,
    /// The state's bias, (G·H), where a gate multiplies it.
    pub bias: Option<&'a Tensor>,
    /// The projection of an LSTM's hidden state, (P, H).
    pub projection: Option<&'a Tensor>,
    /// Is the step inside the sequence? (T, B, 1). The state stays as it is outside.
    pub running: Option<&'a Tensor>,
}

/// The states after each step.
pub(crate) struct States {
    /// (T, B, P).
    pub hidden: Tensor,
    /// Of an LSTM, (T, B, H).
    pub cell: Option<Tensor>,
}

/// Which of the optional tensors there are: what it takes to find them again in a list.
#[derive(Clone, Copy)]
struct Form {
    kind: Kind,
    reverse: bool,
    optional: [bool; 4],
}

impl<'a> Sequence<'a> {
    /// The states after each step.
    #[track_caller]
    pub fn states(&self) -> Result<States> {
        if super::applies(self) {
            return super::run(self);
        }
        let states = self.composite()?;
        let (outputs, units) = (self.hidden.size(1), self.cell.map(|cell| cell.size(1)));
        let cell = units.map(|units| states.try_narrow(2, outputs, units)).transpose()?;
        Ok(States { hidden: states.try_narrow(2, 0, outputs)?, cell })
    }

    /// The states after each step, (T, B, P), from tensor ops; for an LSTM with the cells, (T, B, P + H).
    #[track_caller]
    fn composite(&self) -> Result<Tensor> {
        let optional = [self.cell, self.bias, self.projection, self.running];
        let mut inputs = vec![self.input, self.weight, self.hidden];
        inputs.extend(optional.iter().flatten());
        let form = Form {
            kind: self.kind,
            reverse: self.reverse,
            optional: optional.map(|tensor| tensor.is_some()),
        };
        let saves = Saves { inputs: u32::MAX, outputs: true };
        Tensor::with_rule(
            "recurrence",
            saves,
            &inputs,
            || self.forward(),
            move |v| {
                let sequence = Sequence::restored(form, v.inputs);
                let halves = |x: &Tensor| -> Result<(Tensor, Option<Tensor>)> {
                    let Some(cell) = sequence.cell else { return Ok((x.clone(), None)) };
                    let (outputs, units) = (sequence.hidden.size(1), cell.size(1));
                    Ok((x.try_narrow(2, 0, outputs)?, Some(x.try_narrow(2, outputs, units)?)))
                };
                let ((hidden, cell), (grad, cell_grad)) = (halves(v.output())?, halves(v.grad())?);
                sequence.grads(v, &States { hidden, cell }, &grad, cell_grad.as_ref())
            },
        )
    }

    /// The layer that a node's inputs are of.
    pub(super) fn of_op(op: &Recurrence, inputs: &'a [Tensor]) -> Sequence<'a> {
        let is_lstm = op.kind == Kind::Lstm;
        let optional = [is_lstm, !is_lstm && inputs.len() > 3, false, false];
        Sequence::restored(Form { kind: op.kind, reverse: op.reverse, optional }, inputs)
    }

    fn restored(form: Form, inputs: &'a [Tensor]) -> Sequence<'a> {
        let mut rest = inputs[3..].iter();
        let [cell, bias, projection, running] =
            form.optional.map(|present| if present { rest.next() } else { None });
        let Form { kind, reverse, .. } = form;
        let (input, weight, hidden) = (&inputs[0], &inputs[1], &inputs[2]);
        Sequence { kind, reverse, input, weight, hidden, cell, bias, projection, running }
    }

    fn steps(&self) -> usize {
        self.input.size(0)
    }

    /// The steps in the order of computation.
    fn order(&self) -> Vec<isize> {
        let steps = 0..self.steps() as isize;
        if self.reverse { steps.rev().collect() } else { steps.collect() }
    }

    /// Results of steps, listed in the order of computation, as one tensor in the order of time.
    fn joined(&self, mut results: Vec<Tensor>) -> Result<Tensor> {
        if self.reverse {
            results.reverse();
        }
        Tensor::try_stack(&results, 0)
    }

    fn forward(&self) -> Result<Tensor> {
        let weight = self.weight.try_t()?;
        let projection = self.projection.map(Tensor::try_t).transpose()?;
        let (mut hidden, mut cell) = (self.hidden.clone(), self.cell.cloned());
        let (mut hiddens, mut cells) = (Vec::new(), Vec::new());
        for t in self.order() {
            let running = self.running.map(|running| running.try_select(0, t)).transpose()?;
            let going = |new: Tensor, old: &Tensor| match &running {
                Some(running) => running.try_where_cond(new, old),
                None => Ok(new),
            };
            let input = self.input.try_select(0, t)?;
            let mut state = hidden.try_matmul(&weight)?;
            if let Some(bias) = self.bias {
                state = state.try_add(bias)?;
            }
            let mut new = match (self.kind, &mut cell) {
                (Kind::Gru, _) => step::gru(&input, &state, &hidden)?,
                (Kind::Lstm, Some(cell)) => {
                    let (new, new_cell) = step::lstm(&input.try_add(state)?, cell)?;
                    *cell = going(new_cell, cell)?;
                    cells.push(cell.clone());
                    new
                }
                (kind, _) => step::plain(kind, &input, &state)?,
            };
            if let Some(projection) = &projection {
                new = new.try_matmul(projection)?;
            }
            hidden = going(new, &hidden)?;
            hiddens.push(hidden.clone());
        }
        let hiddens = self.joined(hiddens)?;
        match self.kind {
            Kind::Lstm => Tensor::try_cat(&[hiddens, self.joined(cells)?], 2),
            _ => Ok(hiddens),
        }
    }

    /// The states before each step: `first`, then those after all steps but the last.
    fn before(&self, first: &Tensor, after: &Tensor) -> Result<Tensor> {
        let (first, steps) = (first.try_unsqueeze(0)?, self.steps());
        match self.reverse {
            false => Tensor::try_cat(&[first, after.try_narrow(0, 0, steps - 1)?], 0),
            true => Tensor::try_cat(&[after.try_narrow(0, 1, steps - 1)?, first], 0),
        }
    }

    /// The state's share of the gates of all steps, (T, B, G, H), from the states before them.
    fn state_shares(&self, before: &Tensor) -> Result<Tensor> {
        let shares = step::affine(&before.try_flatten(0, 1)?, self.weight, self.bias)?;
        self.by_gate(&shares)
    }

    fn by_gate(&self, gates: &Tensor) -> Result<Tensor> {
        let units = self.weight.size(0) / self.kind.gates();
        gates.try_reshape([self.steps(), self.input.size(1), self.kind.gates(), units])
    }

    /// Zero outside the sequences; `dims` is 3 for (T, B, H) and 4 for (T, B, G, H).
    fn inside(&self, x: Tensor, dims: usize) -> Result<Tensor> {
        let Some(running) = self.running else { return Ok(x) };
        let running = if dims == 4 { running.try_unsqueeze(3)? } else { running.clone() };
        running.try_where_cond(&x, 0.0)
    }

    /// The gradients of all inputs from those of the states, from tensor ops.
    pub(super) fn grads(
        &self,
        v: &Vjp,
        states: &States,
        grad: &Tensor,
        cell_grad: Option<&Tensor>,
    ) -> Result<Grads> {
        match (self.cell, &states.cell) {
            (Some(first), Some(cells)) => self.lstm_grads(v, (&states.hidden, cells, first), grad, cell_grad),
            _ => self.plain_grads(v, &states.hidden, grad),
        }
    }

    /// The gradients of all inputs from what the kernel backwards gives: the gradients of the gates' shares, and what the
    /// first state or cell gets past the gates.
    pub(super) fn grads_of_gates(&self, v: &Vjp, states: &States, results: &[Tensor]) -> Result<Grads> {
        let gates = &results[0];
        let input = if self.kind == Kind::Gru { &results[1] } else { gates };
        let past = results.last().filter(|_| self.kind.has_gates());
        let hidden = match v.needs[2] {
            true => {
                let first = gates.try_select(0, if self.reverse { -1 } else { 0 })?;
                let through = first.try_matmul(self.weight)?;
                match past.filter(|_| self.kind == Kind::Gru) {
                    Some(past) => Some(through.try_add(past)?),
                    None => Some(through),
                }
            }
            false => None,
        };
        let bias = match self.bias {
            Some(_) => Some(gates.try_sum([0, 1])?),
            None => None,
        };
        let weight = match v.needs[1] {
            true => self.weight_grad(v, gates, &self.before(self.hidden, &states.hidden)?)?,
            false => None,
        };
        let cell = past.filter(|_| self.kind == Kind::Lstm).cloned();
        Ok(self.listed([Some(input.clone()), weight, hidden], [cell, bias, None]))
    }

    /// The gradient of the state's weight: one product over all steps.
    fn weight_grad(&self, v: &Vjp, gates: &Tensor, before: &Tensor) -> Result<Option<Tensor>> {
        if !v.needs[1] {
            return Ok(None);
        }
        let gates = gates.try_reshape([-1, self.weight.size(0) as isize])?;
        gates.try_t()?.try_matmul(&before.try_flatten(0, 1)?).map(Some)
    }

    /// The gradients in the order of the inputs; the steps that run have none.
    fn listed(&self, required: [Option<Tensor>; 3], optional: [Option<Tensor>; 3]) -> Grads {
        let present = [self.cell.is_some(), self.bias.is_some(), self.projection.is_some()];
        let optional = present.into_iter().zip(optional).filter(|(present, _)| *present);
        let running = self.running.map(|_| None);
        required.into_iter().chain(optional.map(|(_, grad)| grad)).chain(running).collect()
    }

    /// Simple layers and GRUs: a step's gates get the state's gradient times a factor known beforehand.
    fn plain_grads(&self, v: &Vjp, after: &Tensor, grad: &Tensor) -> Result<Grads> {
        let before = self.before(self.hidden, after)?;
        // What the input's and the state's shares of the gates get, and what the state before gets directly.
        let (to_input, to_state, mut kept) = match self.kind {
            Kind::Gru => {
                let (to_input, to_state, update) = self.gru_factors(&before)?;
                (to_input, to_state, Some(update))
            }
            Kind::Relu => {
                let factor = self.by_gate(&after.try_gt(0.0)?.try_to_dtype(after.dtype())?)?;
                (factor.clone(), factor, None)
            }
            _ => {
                let factor = self.by_gate(&after.try_square()?.try_rsub(1.0)?)?;
                (factor.clone(), factor, None)
            }
        };
        let (to_input, to_state) = (self.inside(to_input, 4)?, self.inside(to_state, 4)?);
        if let Some(running) = self.running {
            let inside = kept.unwrap_or_else(|| after.zeros_like());
            kept = Some(running.try_where_cond(inside, 1.0)?);
        }
        let mut carried: Option<Tensor> = None;
        let mut totals = Vec::new();
        for t in self.order().into_iter().rev() {
            let mut total = grad.try_select(0, t)?;
            if let Some(carried) = &carried {
                total = total.try_add(carried)?;
            }
            let gates = total.try_unsqueeze(1)?.try_mul(to_state.try_select(0, t)?)?;
            let mut next = gates.try_flatten(1, 2)?.try_matmul(self.weight)?;
            if let Some(kept) = &kept {
                next = next.try_add(total.try_mul(kept.try_select(0, t)?)?)?;
            }
            carried = Some(next);
            totals.push(total);
        }
        totals.reverse();
        let totals = self.joined(totals)?.try_unsqueeze(2)?;
        let state_gates = totals.try_mul(&to_state)?;
        let input = totals.try_mul(&to_input)?.try_reshape(self.input.shape())?;
        let bias = match self.bias {
            Some(_) => Some(state_gates.try_sum([0, 1])?.try_flatten(0, 1)?),
            None => None,
        };
        let weight = self.weight_grad(v, &state_gates, &before)?;
        Ok(self.listed([Some(input), weight, carried], [None, bias, None]))
    }

    /// For a GRU: the factors of its gates (T, B, 3, H) towards input and state, and the update gate (T, B, H).
    fn gru_factors(&self, before: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
        let (inputs, states) = (self.by_gate(self.input)?, self.state_shares(before)?);
        let gate = |k: isize| inputs.try_select(2, k)?.try_add(states.try_select(2, k)?)?.try_sigmoid();
        let (reset, update) = (gate(0)?, gate(1)?);
        let state = states.try_select(2, 2)?;
        let new = inputs.try_select(2, 2)?.try_add(reset.try_mul(&state)?)?.try_tanh()?;
        let to_new = update.try_rsub(1.0)?.try_mul(new.try_square()?.try_rsub(1.0)?)?;
        let slope = |gate: &Tensor| gate.try_mul(gate.try_rsub(1.0)?);
        let to_update = before.try_sub(&new)?.try_mul(slope(&update)?)?;
        let to_reset = to_new.try_mul(&state)?.try_mul(slope(&reset)?)?;
        let to_state = Tensor::try_stack(&[&to_reset, &to_update, &to_new.try_mul(&reset)?], 2)?;
        Ok((Tensor::try_stack(&[&to_reset, &to_update, &to_new], 2)?, to_state, update))
    }

    /// LSTMs, from their states, their cells and the first cell.
    fn lstm_grads(
        &self,
        v: &Vjp,
        (after, cells, first_cell): (&Tensor, &Tensor, &Tensor),
        grad: &Tensor,
        cell_grad: Option<&Tensor>,
    ) -> Result<Grads> {
        let (before, cells_before) = (self.before(self.hidden, after)?, self.before(first_cell, cells)?);
        let gates = self.by_gate(self.input)?.try_add(self.state_shares(&before)?)?;
        let gate = |k: isize| gates.try_select(2, k);
        let (write, keep, output) =
            (gate(0)?.try_sigmoid()?, gate(1)?.try_sigmoid()?, gate(3)?.try_sigmoid()?);
        let (new, shown) = (gate(2)?.try_tanh()?, cells.try_tanh()?);
        let slope = |gate: &Tensor| gate.try_mul(gate.try_rsub(1.0)?);
        let to_cell = self.inside(output.try_mul(shown.try_square()?.try_rsub(1.0)?)?, 3)?;
        let to_output = self.inside(shown.try_mul(slope(&output)?)?, 3)?;
        let to_write = new.try_mul(slope(&write)?)?;
        let to_keep = cells_before.try_mul(slope(&keep)?)?;
        let to_new = write.try_mul(new.try_square()?.try_rsub(1.0)?)?;
        let to_gates = self.inside(Tensor::try_stack(&[to_write, to_keep, to_new], 2)?, 4)?;
        let (kept, outside) = match self.running {
            Some(running) => {
                let outside = running.try_logical_not()?.try_to_dtype(grad.dtype())?;
                (running.try_where_cond(&keep, 1.0)?, Some(outside))
            }
            None => (keep, None),
        };
        let (mut carried, mut carried_cell): (Option<Tensor>, Option<Tensor>) = (None, None);
        let plus = |x: Tensor, carried: &Option<Tensor>| match carried {
            Some(carried) => x.try_add(carried),
            None => Ok(x),
        };
        let (mut gate_grads, mut totals) = (Vec::new(), Vec::new());
        for t in self.order().into_iter().rev() {
            let total = plus(grad.try_select(0, t)?, &carried)?;
            let shown = match self.projection {
                Some(projection) => total.try_matmul(projection)?,
                None => total.clone(),
            };
            let cell = shown.try_mul(to_cell.try_select(0, t)?)?;
            let cell = match cell_grad {
                Some(grad) => cell.try_add(grad.try_select(0, t)?)?,
                None => cell,
            };
            let cell = plus(cell, &carried_cell)?;
            let inner = cell.try_unsqueeze(1)?.try_mul(to_gates.try_select(0, t)?)?.try_flatten(1, 2)?;
            let outer = shown.try_mul(to_output.try_select(0, t)?)?;
            let gates = Tensor::try_cat(&[inner, outer], 1)?;
            let mut next = gates.try_matmul(self.weight)?;
            if let Some(outside) = &outside {
                next = next.try_add(total.try_mul(outside.try_select(0, t)?)?)?;
            }
            carried = Some(next);
            carried_cell = Some(cell.try_mul(kept.try_select(0, t)?)?);
            gate_grads.push(gates);
            if self.projection.is_some() {
                totals.push(total);
            }
        }
        gate_grads.reverse();
        let input = self.joined(gate_grads)?;
        let projection = match self.projection {
            Some(_) => {
                totals.reverse();
                let totals = self.joined(totals)?.try_flatten(0, 1)?;
                let shown = self.inside(output.try_mul(&shown)?, 3)?.try_flatten(0, 1)?;
                Some(totals.try_t()?.try_matmul(&shown)?)
            }
            None => None,
        };
        let weight = self.weight_grad(v, &input, &before)?;
        Ok(self.listed([Some(input), weight, carried], [carried_cell, None, projection]))
    }
}
