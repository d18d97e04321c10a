//! One time step of each recurrent layer: what the cells compute, and what the layers repeat.

use super::Tensor;
use crate::error::Result;

/// What a recurrent layer does with the gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Tanh,
    Relu,
    Gru,
    Lstm,
}

impl Kind {
    /// Rows of a weight per hidden unit.
    pub fn gates(self) -> usize {
        match self {
            Kind::Tanh | Kind::Relu => 1,
            Kind::Gru => 3,
            Kind::Lstm => 4,
        }
    }

    /// Does more than one gate make a state?
    pub fn has_gates(self) -> bool {
        matches!(self, Kind::Gru | Kind::Lstm)
    }

    /// Must the bias of the state stay apart from the input's? Only where a gate multiplies it.
    pub fn state_bias_is_gated(self) -> bool {
        self == Kind::Gru
    }
}

/// x Wᵀ + b, for x of shape (N, in).
pub(crate) fn affine(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let product = x.try_matmul(&weight.try_t()?)?;
    match bias {
        Some(bias) => product.try_add(bias),
        None => Ok(product),
    }
}

/// h' = tanh(x + s) or relu(x + s), from the shares (B, H) of input and state.
pub(crate) fn plain(kind: Kind, input: &Tensor, state: &Tensor) -> Result<Tensor> {
    let sum = input.try_add(state)?;
    if kind == Kind::Relu { sum.try_relu() } else { sum.try_tanh() }
}

/// h' = n + z (h − n) with r, z = σ(x + s) and n = tanh(x + r s), from the shares (B, 3H) of input and state.
pub(crate) fn gru(input: &Tensor, state: &Tensor, hidden: &Tensor) -> Result<Tensor> {
    let size = hidden.size(-1);
    let both = |x: &Tensor| x.try_narrow(-1, 0, 2 * size);
    let last = |x: &Tensor| x.try_narrow(-1, 2 * size, size);
    let gates = both(input)?.try_add(both(state)?)?.try_sigmoid()?;
    let (reset, update) = (gates.try_narrow(-1, 0, size)?, gates.try_narrow(-1, size, size)?);
    let new = last(input)?.try_add(reset.try_mul(last(state)?)?)?.try_tanh()?;
    new.try_add(update.try_mul(hidden.try_sub(&new)?)?)
}

/// c' = σ(f) c + σ(i) tanh(g) and h' = σ(o) tanh(c'), from the gates (B, 4H) in the order i, f, g, o.
pub(crate) fn lstm(gates: &Tensor, cell: &Tensor) -> Result<(Tensor, Tensor)> {
    let size = cell.size(-1);
    let gate = |k: usize| gates.try_narrow(-1, k * size, size);
    let kept = gate(1)?.try_sigmoid()?.try_mul(cell)?;
    let written = gate(0)?.try_sigmoid()?.try_mul(gate(2)?.try_tanh()?)?;
    let cell = kept.try_add(written)?;
    let hidden = gate(3)?.try_sigmoid()?.try_mul(cell.try_tanh()?)?;
    Ok((hidden, cell))
}
