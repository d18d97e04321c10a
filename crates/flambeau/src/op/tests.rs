//! The arithmetic of structured primitives, by their definitions.

use super::argsort::ArgSort;
use super::attention::{Attention, Direction as AttentionDirection};
use super::conv::{Conv, Direction as ConvDirection};
use super::dft::{Dft, Kind as DftKind};
use super::matmul::MatMul;
use super::pack::Pack;
use super::pool::{Divisor, Pool, PoolKind, Window};
use super::recurrence::{Direction as RecurrenceDirection, Kind, Recurrence};
use super::scan::{Scan, ScanKind};
use super::scatter::{Mode, Scatter};
use super::structured::Apart;
use super::testing::call;
use super::{FiniteCheck, StructuredOp};
use crate::dtype::DType;
use crate::ir::program::Window as Numbers;
use std::sync::Arc;

type Shapes<'a> = &'a [&'a [usize]];

fn flops(op: StructuredOp, inputs: Shapes, outputs: Shapes) -> u64 {
    let inputs: Vec<_> = inputs.iter().map(|shape| (*shape, DType::F32)).collect();
    let outputs: Vec<_> = outputs.iter().map(|shape| (*shape, DType::F32)).collect();
    let call = call(op, &inputs, &outputs);
    call.op.flops(&call)
}

#[test]
fn products_and_convolutions_multiply_and_add() {
    let product = flops(StructuredOp::MatMul(MatMul), &[&[6, 7, 5], &[6, 5, 3]], &[&[6, 7, 3]]);
    assert_eq!(product, 2 * 6 * 7 * 5 * 3);

    // Two groups of 4 → 3 channels, kernels of 3 × 2: every result is a sum over 4 · 3 · 2 products.
    let conv = |direction| Conv {
        direction,
        stride: [1; 3],
        padding: [0; 3],
        dilation: [1; 3],
        groups: 2,
        result: [1; 3],
    };
    let conv = |direction| StructuredOp::Conv(Arc::new(conv(direction)));
    let (x, w, y): (&[usize], &[usize], &[usize]) = (&[5, 8, 9, 9], &[6, 4, 3, 2], &[5, 6, 7, 8]);
    let expected = 2 * (5 * 6 * 7 * 8) * (4 * 3 * 2);
    assert_eq!(flops(conv(ConvDirection::Forward), &[x, w], &[y]), expected);
    assert_eq!(flops(conv(ConvDirection::Input), &[y, w], &[x]), expected);
    assert_eq!(flops(conv(ConvDirection::Weight), &[x, y], &[w]), expected);
}

#[test]
fn attention_multiplies_what_queries_see() {
    let attention = |causal, direction| {
        let (q, k, v): (&[usize], &[usize], &[usize]) = (&[2, 3, 4, 8], &[2, 3, 4, 8], &[2, 3, 4, 5]);
        let op = Attention { causal, masked: false, dropout: false, direction };
        flops(StructuredOp::Attention(op), &[q, k, v], &[])
    };
    let (all, half) = (2 * 3 * (4 * 4), 2 * 3 * (1 + 2 + 3 + 4));
    // Forward: the score of queries and keys of 8, the weighted sum of values of 5.
    let forward = 2 * (8 + 5);
    // Backward: the score again, its gradient from the values', and those of queries, keys and values.
    let backward = 2 * (8 + 5 + 8 + 8 + 5);
    assert_eq!(attention(false, AttentionDirection::Forward), all * forward);
    assert_eq!(attention(true, AttentionDirection::Forward), half * forward);
    assert_eq!(attention(false, AttentionDirection::Backward), all * backward);
    assert_eq!(attention(true, AttentionDirection::Backward), half * backward);
}

#[test]
fn recurrent_layers_multiply_each_state_with_the_weight() {
    let (steps, batch, units) = (10, 3, 8);
    let lstm =
        |direction| StructuredOp::Recurrence(Recurrence { kind: Kind::Lstm, reverse: false, direction });
    let gates = 4 * units;
    let expected = (2 * steps * batch * units * gates) as u64;
    let forward = lstm(RecurrenceDirection::Forward { keeps: false });
    assert_eq!(
        flops(forward, &[&[steps, batch, gates], &[gates, units]], &[&[steps, batch, units]]),
        expected
    );
    let backward = lstm(RecurrenceDirection::Backward);
    assert_eq!(
        flops(backward, &[&[steps, batch, units], &[units, gates]], &[&[steps, batch, gates]]),
        expected
    );
}

#[test]
fn pooling_looks_at_each_element_of_each_window() {
    // Windows of 3, two apart, over 6 elements and a zero on either side: 2, 3 and 3 elements.
    let window = Window::Sliding { kernel: 3, stride: 2, padding: 1, dilation: 1 };
    let windows = [Window::FORMAL, Window::FORMAL, window];
    let pool = |kind, inputs: Shapes, outputs: Shapes| {
        let pool = Pool { kind, windows, input: [1, 1, 6], output: [1, 1, 3], rank: 1 };
        flops(StructuredOp::Pool(Arc::new(pool)), inputs, outputs)
    };
    let (x, y): (&[usize], &[usize]) = (&[2, 5, 6], &[2, 5, 3]);
    let (visited, results) = (2 * 5 * (2 + 3 + 3), 2 * 5 * 3);
    assert_eq!(pool(PoolKind::Max, &[x], &[y, y]), visited);
    assert_eq!(pool(PoolKind::MaxBackward, &[y, y], &[x]), results);
    assert_eq!(pool(PoolKind::Mean(Divisor::Present), &[x], &[y]), visited + results);
    assert_eq!(pool(PoolKind::MeanBackward(Divisor::Present), &[y], &[x]), visited + results);
}

#[test]
fn transforms_count_as_is_the_custom() {
    let transform = |kind, input: &[usize], output: &[usize]| {
        let op = Dft { kind, inverse: false, dim: 1, length: 1024 };
        flops(StructuredOp::Dft(Apart::new(op)), &[input], &[output])
    };
    assert_eq!(transform(DftKind::Complex, &[3, 1024, 2], &[3, 1024, 2]), 3 * 5 * 1024 * 10);
    let half = DftKind::ToSpectrum { doubled: false };
    assert_eq!(transform(half, &[3, 1024], &[3, 513, 2]), 3 * 5 * 1024 * 10 / 2);
}

#[test]
fn the_others_work_once_on_each_element() {
    let scan = Scan { dim: 1, kind: ScanKind::Sum, reverse: false };
    assert_eq!(flops(StructuredOp::Scan(scan), &[&[3, 100]], &[&[3, 100]]), 300);

    let scatter = |mode| {
        flops(StructuredOp::Scatter(Scatter { dim: 0, mode }), &[&[9, 4], &[5, 4], &[5, 4]], &[&[9, 4]])
    };
    assert_eq!((scatter(Mode::Add), scatter(Mode::Set)), (20, 0), "an addition for each value, or none");

    let sort = |shape: &[usize]| {
        flops(StructuredOp::ArgSort(ArgSort { descending: false, first: 0 }), &[shape], &[shape])
    };
    assert_eq!(sort(&[3, 1024]), 3 * 1024 * 10, "n log₂ n comparisons");
    assert_eq!((sort(&[3, 1000]), sort(&[7, 1]), sort(&[7, 0])), (3 * 1000 * 10, 0, 0));

    let pack = Pack { starts: vec![0, 64], fills_gaps: true };
    assert_eq!(flops(StructuredOp::Pack(pack), &[&[60], &[64]], &[&[128]]), 0, "copies");

    let windows = [(0, 7), (64, 30)].map(|(start, len)| Numbers { start, len, parameter: 0 });
    let finite = FiniteCheck { asker: "Adam", what: "gradient", windows: windows.into(), faults: true };
    assert_eq!(flops(StructuredOp::RequireFinite(finite), &[&[94]], &[&[]]), 37);
}
