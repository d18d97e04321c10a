//! Calls that must be refused: an `Err` that names the op, before anything is computed.

use super::CaseReport;
use super::input::bytes;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::Result;
use crate::op::elementwise::{Signature, apply, whole_table};
use crate::op::{Meta, ReduceKind};
use crate::shape::{Dims, Shape};
use crate::tensor::Tensor;

/// Makes every wrong call on a device; `elsewhere` is another device.
pub(super) fn run(device: &Device, elsewhere: &Device) -> CaseReport {
    let mut report = CaseReport { name: "refusals".into(), group: "refusals", ..Default::default() };
    for (op, what, result) in calls(device, elsewhere) {
        report.checks += 1;
        match result {
            Ok(_) => report.failures.push(format!("{op}: {what} was accepted")),
            Err(error) if !error.to_string().contains(op) => {
                report.failures.push(format!("{op}: the error for {what} does not name the op: {error}"));
            }
            Err(_) => {}
        }
    }
    report
}

type View = fn(&Tensor) -> Result<Tensor>;
type Call = (&'static str, &'static str, Result<Tensor>);

fn calls(device: &Device, elsewhere: &Device) -> Vec<Call> {
    let on = |device: &Device, shape: &[usize], dtype: DType| {
        let zeros = vec![0.0; Shape::new(shape).numel()];
        Tensor::from_bytes(&bytes(dtype, &zeros), Meta::new(shape, dtype), device)
    };
    let mut calls = Vec::new();
    for op in whole_table() {
        let dtype = match op.signature {
            Signature::Bits | Signature::Integers => DType::I32,
            Signature::FromBits => DType::U32,
            _ => DType::F32,
        };
        let apply_to = |operands: Vec<Result<Tensor>>| {
            let operands = operands.into_iter().collect::<Result<Vec<_>>>()?;
            apply(op, &operands.iter().collect::<Vec<_>>())
        };
        let count = op.args.len();
        if count > 1 {
            let shapes: [&[usize]; 3] = [&[2, 3], &[4], &[3]];
            let operands = shapes[..count].iter().map(|shape| on(device, shape, dtype));
            calls.push((op.name, "shapes that do not broadcast", apply_to(operands.collect())));
            let devices = [device, elsewhere, device];
            let operands = devices[..count].iter().map(|device| on(device, &[2], dtype));
            calls.push((op.name, "operands on two devices", apply_to(operands.collect())));
        }
        if matches!(op.signature, Signature::Bits | Signature::Integers | Signature::FromBits) {
            let operands = (0..count).map(|_| on(device, &[2], DType::F32));
            calls.push((op.name, "floats", apply_to(operands.collect())));
        }
    }
    let x = || on(device, &[2, 3], DType::F32);
    for kind in ReduceKind::ALL {
        let reduce = |dims: Dims, shape: &[usize]| on(device, shape, DType::F32)?.reduce_keepdim(kind, &dims);
        calls.push((kind.name(), "a dimension out of range", reduce(Dims::from(2), &[2, 3])));
        calls.push((kind.name(), "a dimension named twice", reduce(Dims::from([0, -2]), &[2, 3])));
        if !kind.has_identity() {
            calls.push((kind.name(), "rows of no elements", reduce(Dims::from(1), &[2, 0])));
        }
    }
    let views: [(&'static str, &'static str, View); 13] = [
        ("reshape", "another number of elements", |x| x.try_reshape([4])),
        ("permute", "a dimension twice", |x| x.try_permute(&[0, 0])),
        ("permute", "too few dimensions", |x| x.try_permute(&[0])),
        ("permute", "a dimension out of range", |x| x.try_permute(&[0, 5])),
        ("transpose", "a dimension out of range", |x| x.try_transpose(0, 2)),
        ("expand", "a size that is not 1", |x| x.try_expand([4, 3])),
        ("unsqueeze", "a dimension out of range", |x| x.try_unsqueeze(4)),
        ("squeeze", "a dimension out of range", |x| x.try_squeeze(2)),
        ("narrow", "a range past the end", |x| x.try_narrow(1, 2, 2)),
        ("narrow", "a range past all numbers", |x| x.try_narrow(1, usize::MAX, 2)),
        ("select", "an index out of range", |x| x.try_select(1, 3)),
        ("unfold", "windows that do not fit", |x| x.try_unfold(1, 4, 1)),
        ("flip", "a dimension out of range", |x| x.try_flip(7)),
    ];
    calls.extend(views.into_iter().map(|(op, what, call)| (op, what, x().and_then(|x| call(&x)))));
    let pairs: [(&[usize], &[usize]); 5] =
        [(&[2, 3], &[2, 3]), (&[], &[3]), (&[3], &[2]), (&[2, 2, 3], &[3, 3, 2]), (&[2, 3], &[])];
    for (a, b) in pairs {
        let result = on(device, a, DType::F32).and_then(|a| a.try_matmul(&on(device, b, DType::F32)?));
        calls.push(("matmul", "shapes that do not fit", result));
    }
    let booleans = on(device, &[2, 2], DType::Bool).and_then(|a| a.try_matmul(&a));
    calls.push(("matmul", "booleans", booleans));
    let apart =
        on(device, &[2, 2], DType::F32).and_then(|a| a.try_matmul(&on(elsewhere, &[2, 2], DType::F32)?));
    calls.push(("matmul", "operands on two devices", apart));
    type Indexed = fn(&Tensor, &Tensor) -> Result<Tensor>;
    let indexed: [(&'static str, Indexed); 3] = [
        ("gather", |x, index| x.try_gather(0, index)),
        ("scatter_add", |x, index| x.try_scatter_add(0, index, &index.try_to_dtype(DType::F32)?)),
        ("scatter", |x, index| x.try_scatter(0, index, &index.try_to_dtype(DType::F32)?)),
    ];
    for (op, call) in indexed {
        let with = |index: Result<Tensor>| x().and_then(|x| call(&x, &index?));
        calls.push((op, "an index of floats", with(on(device, &[2, 3], DType::F32))));
        calls.push((op, "an index of another rank", with(on(device, &[2], DType::I32))));
        calls.push((op, "an index that is too large", with(on(device, &[2, 4], DType::I32))));
        calls.push((op, "an index on another device", with(on(elsewhere, &[2, 3], DType::I32))));
    }
    calls
}
