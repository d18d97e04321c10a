//! Cases of every elementwise primitive, made from its table entry: a new entry gets them for free.

use super::{Case, Input, Layout};
use crate::dtype::DType;
use crate::op::Elementwise;
use crate::op::elementwise::{Signature, apply, whole_table};
use crate::tensor::Tensor;

pub(super) fn cases() -> Vec<Case> {
    whole_table().flat_map(of).collect()
}

/// Every primitive in every dtype, and with one of the layouts and shapes, each primitive with the next one.
pub(super) fn essential() -> Vec<Case> {
    let chosen = |(number, op): (usize, &'static Elementwise)| {
        let (plain, others) = (of_dtypes(op), of_layouts(op));
        let turn = number % others.len();
        plain.into_iter().chain(others.into_iter().nth(turn)).chain(of_edges(op))
    };
    whole_table().enumerate().flat_map(chosen).collect()
}

fn of(op: &'static Elementwise) -> Vec<Case> {
    of_dtypes(op).into_iter().chain(of_layouts(op)).chain(of_edges(op)).collect()
}

/// Where floats end. Subnormal numbers are not among them: WGSL lets a device take them as zeros.
#[rustfmt::skip]
const EDGES: [f64; 24] = [
    f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f32::MAX as f64, f32::MIN as f64, f32::MIN_POSITIVE as f64,
    -(f32::MIN_POSITIVE as f64), 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 3.0, 1e-4, -1e-4, 12.0, -12.0, 90.0, -90.0, 1e20, -1e20,
];

/// Every edge; of two operands, every pair.
fn of_edges(op: &'static Elementwise) -> Vec<Case> {
    let floats = matches!(op.signature, Signature::Float | Signature::Number | Signature::Test);
    if !floats {
        return Vec::new();
    }
    let count = EDGES.len();
    let operand = |position: usize| {
        let shape = if position == 0 && op.args.len() > 1 { vec![count, 1] } else { vec![count] };
        Input::given(shape, DType::F32, &EDGES)
    };
    vec![case(op, "edges".into(), (0..op.args.len()).map(operand).collect()).at_edges()]
}

fn of_dtypes(op: &'static Elementwise) -> Vec<Case> {
    let mut cases = Vec::new();
    let shape = [3, 4];
    for dtype in DType::ALL {
        if op.dtypes(&vec![dtype; op.args.len()]).is_ok() {
            cases.push(case(op, format!("{dtype}"), inputs(op, dtype, &vec![shape.to_vec(); op.args.len()])));
        }
    }
    cases
}

fn of_layouts(op: &'static Elementwise) -> Vec<Case> {
    let mut cases = Vec::new();
    let dtype = sample_dtype(op);
    for layout in Layout::ALL.into_iter().skip(1) {
        let contains_zero = |&(low, high): &(f64, f64)| low <= 0.0 && high >= 0.0;
        if layout == Layout::Embedded && !op.domain.iter().all(contains_zero) {
            continue;
        }
        // Every operand in a layout of its own, the first in this one.
        let mut laid_out = inputs(op, dtype, &vec![vec![3, 3]; op.args.len()]);
        for (position, input) in laid_out.iter_mut().enumerate() {
            let rotated = if position == 0 { layout } else { Layout::Contiguous };
            *input = input.clone().laid_out(rotated);
        }
        cases.push(case(op, format!("{layout:?}").to_lowercase(), laid_out));
    }
    cases.push(case(op, "no elements".into(), inputs(op, dtype, &vec![vec![2, 0, 3]; op.args.len()])));
    cases.push(case(op, "scalar".into(), inputs(op, dtype, &vec![vec![]; op.args.len()])));
    if op.args.len() > 1 {
        let shapes = [vec![2, 1, 3], vec![4, 1], vec![3]];
        cases.push(case(op, "broadcast".into(), inputs(op, dtype, &shapes[..op.args.len()])));
        let mut transposed = inputs(op, dtype, &vec![vec![3, 3]; op.args.len()]);
        transposed[1] = transposed[1].clone().laid_out(Layout::Transposed);
        cases.push(case(op, "second transposed".into(), transposed));
        let shapes = [vec![3, 3], vec![], vec![1, 3]];
        cases.push(case(op, "beside a scalar".into(), inputs(op, dtype, &shapes[..op.args.len()])));
    }
    cases
}

/// The dtype of the cases that are about layouts.
fn sample_dtype(op: &Elementwise) -> DType {
    match op.signature {
        Signature::Bits | Signature::Integers => DType::I32,
        Signature::FromBits => DType::U32,
        Signature::Logic => DType::Bool,
        Signature::Float | Signature::Number | Signature::Test | Signature::Select => DType::F32,
    }
}

fn inputs(op: &Elementwise, dtype: DType, shapes: &[Vec<usize>]) -> Vec<Input> {
    let describe = |(position, shape): (usize, &Vec<usize>)| {
        let is_condition = op.signature == Signature::Select && position == 0;
        Input::new(shape.clone(), if is_condition { DType::Bool } else { dtype }, op.domain[position])
    };
    shapes.iter().enumerate().map(describe).collect()
}

fn case(op: &'static Elementwise, what: String, inputs: Vec<Input>) -> Case {
    let body = move |inputs: &[Tensor]| apply(op, &inputs.iter().collect::<Vec<_>>());
    let case = Case::new("elementwise", format!("{} {what}", op.name), inputs, body);
    Case { differentiable: op.differentiable, tolerance: op.tolerance, ..case }
}
