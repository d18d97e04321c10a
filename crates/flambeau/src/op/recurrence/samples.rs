//! Samples of recurrent layers for the self-test: every kind in both directions, sizes around those at which kernels divide
//! their work, states and cells with and without a gradient, and views.

use super::{Kind, Sequence, States};
use crate::dtype::DType;
use crate::error::Result;
use crate::op::Tensor;
use crate::op::case::{Case, Input, Layout, flat_gradients};

const KINDS: [Kind; 4] = [Kind::Tanh, Kind::Relu, Kind::Gru, Kind::Lstm];

/// The states of a layer with operands in the order: input, weight, first state, first cell or bias.
fn states(kind: Kind, reverse: bool, x: &[Tensor]) -> Result<States> {
    let last = x.get(3);
    Sequence {
        kind,
        reverse,
        input: &x[0],
        weight: &x[1],
        hidden: &x[2],
        cell: last.filter(|_| kind == Kind::Lstm),
        bias: last.filter(|_| kind == Kind::Gru),
        projection: None,
        running: None,
    }
    .states()
}

/// The operands for T steps, B sequences and H units.
fn inputs(kind: Kind, [steps, batch, units]: [usize; 3]) -> Vec<Input> {
    let gates = kind.gates() * units;
    let weight = 1.5 / (units as f64).sqrt();
    let mut inputs = vec![
        Input::new([steps, batch, gates], DType::F32, (-1.5, 1.5)),
        Input::new([gates, units], DType::F32, (-weight, weight)),
        Input::new([batch, units], DType::F32, (-1.0, 1.0)),
    ];
    match kind {
        Kind::Lstm => inputs.push(Input::new([batch, units], DType::F32, (-1.0, 1.0))),
        Kind::Gru => inputs.push(Input::new([gates], DType::F32, (-1.0, 1.0))),
        Kind::Tanh | Kind::Relu => {}
    }
    inputs
}

fn named(kind: Kind, name: &str, reverse: bool) -> String {
    format!("recurrence {kind:?} {name}{}", if reverse { " reversed" } else { "" })
}

fn case(kind: Kind, name: &str, reverse: bool, inputs: Vec<Input>) -> Case {
    let body = move |x: &[Tensor]| {
        let States { hidden, cell } = states(kind, reverse, x)?;
        match cell {
            Some(cell) => Tensor::try_cat(&[hidden, cell], 2),
            None => Ok(hidden),
        }
    };
    let case = Case::new("recurrence", named(kind, name, reverse), inputs, body)
        .within(5e-5, "sums of many products, step after step");
    if kind == Kind::Relu { case.not_smooth() } else { case }
}

/// The gradients of all operands, one after the other; those of an LSTM by its states alone.
fn backward_case(kind: Kind, reverse: bool) -> Case {
    let body =
        move |x: &[Tensor]| flat_gradients(x, |x| states(kind, reverse, x)?.hidden.try_square()?.try_sum(..));
    let name = named(kind, "backward", reverse);
    Case::new("recurrence_backward", name, inputs(kind, [3, 5, 6]), body)
        .within(5e-5, "sums of many products, step after step")
        .without_gradient()
}

pub(super) fn samples() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in KINDS {
        for reverse in [false, true] {
            cases.push(backward_case(kind, reverse));
            for size in [[1, 1, 1], [3, 2, 2], [3, 17, 20], [2, 9, 33]] {
                let [steps, batch, units] = size;
                let name = format!("{steps} × {batch}, {units} units");
                cases.push(case(kind, &name, reverse, inputs(kind, size)));
            }
        }
        cases.push(case(kind, "of many units", false, inputs(kind, [2, 3, 132])));
        let views =
            inputs(kind, [4, 3, 8]).into_iter().zip([Layout::Transposed, Layout::Flipped, Layout::Expanded]);
        let views: Vec<Input> = views.map(|(input, layout)| input.laid_out(layout)).collect();
        let rest = inputs(kind, [4, 3, 8]).split_off(3);
        cases.push(case(kind, "of views", false, [views, rest].concat()));
    }
    let without_bias = inputs(Kind::Gru, [3, 2, 4])[..3].to_vec();
    cases.push(case(Kind::Gru, "without a bias", false, without_bias));
    cases
}
