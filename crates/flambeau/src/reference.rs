//! The interpreter the tests trust: node by node, in f64, without plans, fusion or memory reuse.
//!
//! Both backends are judged by it. It reads a graph that has not been evaluated yet; floats are f64, integers i64.

use crate::dtype::{DType, Lane, Scalar};
use crate::error::{Error, Result};
use crate::host::{Block, cast};
use crate::op::structured::Exact;
use crate::op::{Elementwise, Meta, Op, Reduce, ReduceKind, View};
use crate::rng;
use crate::shape::Shape;
use crate::tensor::Tensor;
use crate::tensor::node::{Node, State, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The values of tensors, computed by the interpreter, as f64. Tensors already evaluated are read.
pub async fn evaluate(tensors: &[&Tensor]) -> Result<Vec<Vec<f64>>> {
    let mut known = Known::new();
    for tensor in tensors {
        compute(tensor.value(), &mut known).await?;
    }
    let result = |tensor: &&Tensor| floats(&found(&known, tensor.value()).values);
    Ok(tensors.iter().map(result).collect())
}

/// The results of nodes by their addresses, which are theirs as long as they live.
type Known = HashMap<*const Node, (Arc<Node>, Vec<Exact>)>;

fn found<'a>(known: &'a Known, value: &Value) -> &'a Exact {
    &known[&Arc::as_ptr(&value.node)].1[value.output as usize]
}

/// The lane the interpreter keeps a dtype in.
fn lane(dtype: DType) -> Lane {
    match dtype {
        DType::Bool => Lane::Bool,
        dtype if dtype.is_float() => Lane::F64,
        _ => Lane::I64,
    }
}

fn floats(block: &Block) -> Vec<f64> {
    let mut out = Block::new(Lane::F64, block.len());
    cast(block.view(), DType::F64, &mut out);
    match out {
        Block::F64(values) => values.to_vec(),
        other => unreachable!("asked for f64, got {other:?}"),
    }
}

async fn compute(value: &Value, known: &mut Known) -> Result<()> {
    let mut stack = vec![(value.clone(), false)];
    while let Some((value, expanded)) = stack.pop() {
        let node = &value.node;
        if known.contains_key(&Arc::as_ptr(node)) {
            continue;
        }
        let pending = match &*node.state() {
            State::Ready(_) => None,
            State::Pending { op, inputs, data } => Some((op.clone(), inputs.clone(), data.clone())),
        };
        let result = match pending {
            None => {
                let mut outputs = Vec::with_capacity(node.outputs.len());
                for output in 0..node.outputs.len() as u32 {
                    outputs.push(read(&Value { node: node.clone(), output }).await?);
                }
                outputs
            }
            Some((_, inputs, _)) if !expanded => {
                stack.push((value.clone(), true));
                stack.extend(inputs.iter().map(|input| (input.clone(), false)));
                continue;
            }
            Some((Op::Composite(op), inputs, data)) => {
                let inputs: Vec<Tensor> =
                    inputs.iter().map(|input| Tensor::from_parts(input.clone(), None)).collect();
                let (results, _) = op.write(&inputs, &data)?;
                let mut outputs = Vec::with_capacity(results.len());
                for result in &results {
                    Box::pin(compute(result.value(), known)).await?;
                    outputs.push(found(known, result.value()).clone());
                }
                outputs
            }
            Some((op, inputs, data)) => {
                let inputs: Vec<Exact> = inputs.iter().map(|input| found(known, input).clone()).collect();
                interpret(&op, &inputs, &node.outputs, &data)?
            }
        };
        known.insert(Arc::as_ptr(node), (node.clone(), result));
    }
    Ok(())
}

async fn read(value: &Value) -> Result<Exact> {
    let Meta { shape, dtype } = value.meta().clone();
    let bytes = value.node.device.read(std::slice::from_ref(value)).await?.remove(0);
    let values = crate::tensor::widen(dtype, &bytes);
    let mut block = Block::new(lane(dtype), values.len());
    cast(Block::F64(values.into()).view(), DType::F64, &mut block);
    Ok(Exact { shape, dtype, values: block })
}

fn interpret(op: &Op, inputs: &[Exact], outputs: &[Meta], data: &[Scalar]) -> Result<Vec<Exact>> {
    let Meta { shape, dtype } = outputs[0].clone();
    let count = shape.numel();
    let mut values = Block::new(lane(dtype), count);
    match op {
        Op::Constant => {
            cast(Block::F64(vec![data[0].to_f64(); count].into()).view(), DType::F64, &mut values);
        }
        Op::Iota { dim } => {
            values = Block::I64((0..count).map(|k| coordinates(&shape, k)[*dim] as i64).collect());
        }
        Op::Bits => {
            let word = |k: usize| data[k].to_i64() as u32;
            let (key, counter) = ([word(0), word(1)], [word(2), word(3)]);
            let bits = |k: usize| i64::from(rng::random_bits(key, rng::counter_at(counter, k as u64)));
            values = Block::I64((0..count).map(bits).collect());
        }
        Op::Healthy => values = Block::Bool(vec![true; count].into()),
        Op::Map(map) => apply(map, inputs, dtype, &mut values),
        Op::Cast => {
            let from = &inputs[0];
            cast(from.values.view(), dtype, &mut values);
            wrap(dtype, &mut values);
        }
        Op::View(view) => values = look(view, &inputs[0], &shape, data),
        Op::Gather { dim } => {
            let (source, index) = (&inputs[0], &inputs[1]);
            let Block::I64(index) = &index.values else { unreachable!("indexes are integers") };
            let mut from = Vec::with_capacity(count);
            for (k, &found) in index.iter().enumerate() {
                let size = source.shape[*dim];
                if found < 0 || found >= size as i64 {
                    let location = String::from("interpreter");
                    return Err(Error::IndexOutOfRange { op: "gather", index: found, size, location });
                }
                let mut at = coordinates(&shape, k);
                at[*dim] = found as usize;
                from.push(Some(offset(&source.shape, &at)));
            }
            values = pick(&source.values, &from);
        }
        Op::Reduce(reduce) => values = fold(reduce, &inputs[0], &shape, lane(dtype)),
        Op::Structured(op) => return op.exact(inputs, outputs, data),
        Op::Composite(op) => unreachable!("{} is written out before", op.kind.name),
        Op::Unsaved => {
            let message = "a derivative rule read a value that it had not declared as saved";
            return Err(Error::Autograd(message.into()));
        }
        Op::Placeholder => return Err(Error::read_in_vmap()),
    }
    Ok(vec![Exact { shape, dtype, values }])
}

fn apply(map: &'static Elementwise, inputs: &[Exact], dtype: DType, values: &mut Block) {
    let args: Vec<_> = inputs.iter().map(|input| input.values.view()).collect();
    let lane = match &inputs[inputs.len() - 1].values {
        Block::Bool(_) => Lane::Bool,
        Block::I64(_) => Lane::I64,
        _ => Lane::F64,
    };
    let function = (map.cpu)(lane).expect("the table covers the lanes its signature accepts");
    function(&args, values.view_mut());
    wrap(dtype, values);
}

/// Brings integers back into their dtype's range.
pub(crate) fn wrap(dtype: DType, values: &mut Block) {
    if let Block::I64(values) = values {
        values.iter_mut().for_each(|value| {
            *value = match dtype {
                DType::U8 => i64::from(*value as u8),
                DType::I32 => i64::from(*value as i32),
                DType::U32 => i64::from(*value as u32),
                _ => *value,
            }
        });
    }
}

fn coordinates(shape: &Shape, mut index: usize) -> Vec<usize> {
    let mut coordinates = vec![0; shape.rank()];
    for d in (0..shape.rank()).rev() {
        coordinates[d] = index % shape[d];
        index /= shape[d];
    }
    coordinates
}

fn offset(shape: &Shape, coordinates: &[usize]) -> usize {
    shape.iter().zip(coordinates).fold(0, |offset, (&size, &c)| offset * size + c)
}

fn pick(values: &Block, from: &[Option<usize>]) -> Block {
    fn copy<T: Copy + Default>(values: &[T], from: &[Option<usize>]) -> Vec<T> {
        from.iter().map(|from| from.map_or_else(T::default, |from| values[from])).collect()
    }
    match values {
        Block::Bool(values) => Block::Bool(copy(values, from).into()),
        Block::I64(values) => Block::I64(copy(values, from).into()),
        Block::F64(values) => Block::F64(copy(values, from).into()),
        other => unreachable!("the interpreter has no {other:?}"),
    }
}

/// A view, element by element, from the definition of each.
fn look(view: &View, input: &Exact, shape: &Shape, data: &[Scalar]) -> Block {
    let start = || data[0].to_i64();
    let from = (0..shape.numel()).map(|k| {
        let mut at = coordinates(shape, k);
        match view {
            View::Reshape => return Some(k),
            View::Permute(order) => {
                let mut source = vec![0; at.len()];
                order.iter().zip(&at).for_each(|(&from, &c)| source[from] = c);
                at = source;
            }
            View::Expand => at
                .iter_mut()
                .zip(input.shape.iter())
                .for_each(|(c, &size)| *c = if size == 1 { 0 } else { *c }),
            View::Slice { dim, step } => at[*dim] = (start() + at[*dim] as i64 * *step as i64) as usize,
            View::Embed { dim, step } => {
                let c = at[*dim] as i64 - start();
                let step = *step as i64;
                if c < 0 || c % step != 0 || c / step >= input.shape[*dim] as i64 {
                    return None;
                }
                at[*dim] = (c / step) as usize;
            }
            View::Window { dim, step } => {
                let element = at.pop().unwrap_or(0);
                at[*dim] = at[*dim] * step + element;
            }
        }
        Some(offset(&input.shape, &at))
    });
    pick(&input.values, &from.collect::<Vec<_>>())
}

fn fold(reduce: &Reduce, input: &Exact, shape: &Shape, lane: Lane) -> Block {
    let mut rows: Vec<Vec<f64>> = vec![Vec::new(); shape.numel()];
    for (k, value) in floats(&input.values).into_iter().enumerate() {
        let mut at = coordinates(&input.shape, k);
        reduce.dims.iter().for_each(|&dim| at[dim] = 0);
        rows[offset(shape, &at)].push(value);
    }
    let best = |row: &[f64], better: fn(f64, f64) -> bool| {
        let mut best = 0;
        for (k, &x) in row.iter().enumerate() {
            if !row[best].is_nan() && (x.is_nan() || better(x, row[best])) {
                best = k;
            }
        }
        best
    };
    let more: fn(f64, f64) -> bool = |a, b| a > b;
    let less: fn(f64, f64) -> bool = |a, b| a < b;
    let results = rows.iter().map(|row| match reduce.kind {
        ReduceKind::Sum => row.iter().sum(),
        ReduceKind::Prod => row.iter().fold(1.0, |product, x| product * x),
        ReduceKind::Max => row[best(row, more)],
        ReduceKind::Min => row[best(row, less)],
        ReduceKind::ArgMax => best(row, more) as f64,
        ReduceKind::ArgMin => best(row, less) as f64,
    });
    let mut out = Block::new(lane, shape.numel());
    cast(Block::F64(results.collect()).view(), DType::F64, &mut out);
    out
}
