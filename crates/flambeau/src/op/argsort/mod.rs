//! Sorting: the order of the elements of each row, or some ranks of it. Values are gathered by it, which gives sort its
//! gradient.
//!
//! Keys are integers in the order of the values, with NaN as the largest number. On the GPU `sorting` sorts them.

use super::batch::{BatchCall, Batched};
use super::case::{self, Along, Case, Input, along_rows};
use super::sorting::{Rows, Target};
use super::structured::{Exact, Listed, Structured};
use super::{Grads, Meta, Saves, Tensor, Vjp, not_differentiable};
use crate::calls::methods;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::{Block, HostBuffer, Ranks, order_rows};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::{Bound, Program};
use crate::shader::Shader;
use std::cmp::Ordering;

/// (…, N) → (…, K), I32: the positions of the elements that come at K ranks of each row, from `first` on, in increasing or
/// decreasing order; with `first` 0 and K = N all of them. Equal elements keep their order; NaN counts as larger than every number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ArgSort {
    pub descending: bool,
    pub first: usize,
}

/// How two elements compare, NaN above everything.
trait Ordered: Copy {
    fn order(self, other: Self) -> Ordering;
}

macro_rules! ordered {
    (int: $($int:ty),*; float: $($float:ty),*) => {
        $(impl Ordered for $int {
            fn order(self, other: Self) -> Ordering {
                self.cmp(&other)
            }
        })*
        $(impl Ordered for $float {
            fn order(self, other: Self) -> Ordering {
                self.partial_cmp(&other).unwrap_or_else(|| self.is_nan().cmp(&other.is_nan()))
            }
        })*
    };
}
ordered!(int: bool, i64; float: f64);

impl ArgSort {
    /// The order of each row of `values`, as the interpreter finds it: by comparing.
    fn sort_rows<T: Ordered>(&self, values: &[T], length: usize, count: usize) -> Vec<i64> {
        let ranks = |row: &[T]| {
            let mut places: Vec<i64> = (0..length as i64).collect();
            places.sort_by(|&a, &b| {
                let ascending = row[a as usize].order(row[b as usize]);
                if self.descending { ascending.reverse() } else { ascending }
            });
            places[self.first..self.first + count].to_vec()
        };
        values.chunks(length.max(1)).flat_map(ranks).collect()
    }
}

impl Kernels for ArgSort {
    fn name(&self) -> &'static str {
        "argsort"
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::Contiguous
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], _: &[Scalar]) -> Result<()> {
        let shape = &inputs[0].meta.shape;
        let length = shape[shape.rank() - 1];
        let HostBuffer::I32(places) = &mut outputs[0] else { unreachable!("positions are I32") };
        let rows = shape.numel().checked_div(length).unwrap_or(0);
        let count = places.len().checked_div(rows).unwrap_or(0);
        let ranks = Ranks { length, first: self.first, count, descending: self.descending };
        match inputs[0].buffer {
            HostBuffer::Bool(values) => order_rows(values, ranks, places),
            HostBuffer::U8(values) => order_rows(values, ranks, places),
            HostBuffer::I32(values) => order_rows(values, ranks, places),
            HostBuffer::U32(values) => order_rows(values, ranks, places),
            HostBuffer::I64(values) => order_rows(values, ranks, places),
            HostBuffer::F16(values) => order_rows(values, ranks, places),
            HostBuffer::F32(values) => order_rows(values, ranks, places),
            HostBuffer::F64(values) => order_rows(values, ranks, places),
        }
        Ok(())
    }

    /// The comparisons that a sort of each row needs.
    fn flops(&self, call: &StructuredCall) -> u64 {
        let shape = &call.inputs[0].meta.shape;
        let others = shape[shape.rank() - 1].saturating_sub(1);
        let rounds = others.checked_ilog2().map_or(0, |log| log + 1);
        (shape.numel() as u64).saturating_mul(u64::from(rounds))
    }

    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        let (input, output) = (&call.inputs[0].meta, &call.outputs[0].1);
        if output.numel() == 0 {
            return Ok(Vec::new());
        }
        let (length, count) = (input.shape[input.shape.rank() - 1], output.shape[output.shape.rank() - 1]);
        let keys = |shader: &mut Shader| {
            let row = shader.params.size(length);
            shader.bind(Bound::Input(0), "values", "u32");
            shader.add(&key_function(input.dtype, self.descending, &row));
        };
        let rows = Rows {
            label: "argsort",
            rows: input.numel() / length,
            length,
            bits: key_bits(input.dtype),
            keys: &keys,
            target: Target::Order { first: self.first, count },
        };
        Ok(rows.programs())
    }
}

impl Structured for ArgSort {
    fn saves(&self) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        not_differentiable(v)
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let Meta { shape, dtype } = outputs[0].clone();
        let (from, count) = (&inputs[0].shape, shape[shape.rank() - 1]);
        let length = from[from.rank() - 1];
        let places = match &inputs[0].values {
            Block::Bool(values) => self.sort_rows(values, length, count),
            Block::I64(values) => self.sort_rows(values, length, count),
            Block::F64(values) => self.sort_rows(values, length, count),
            other => unreachable!("the interpreter has no {other:?}"),
        };
        Ok(vec![Exact { shape, dtype, values: Block::I64(places.into()) }])
    }
}

impl Listed for ArgSort {
    const NAMES: &'static [&'static str] = &["argsort"];

    fn samples() -> Vec<Case> {
        let cases = |name: &str, op: Along| along_rows(name, op, &[64, 257, 1030]);
        let order = cases("argsort", |x, dim| x.try_argsort(dim, false)).into_iter();
        let sorts = cases("sort", |x, dim| Ok(x.try_sort(dim, false)?.0))
            .into_iter()
            .chain(cases("sort descending", |x, dim| Ok(x.try_sort(dim, true)?.0)));
        // Rows of more than one workgroup, and ranks of rows that are not sorted.
        let long = [
            ("argsort of a long row", 5000, (|x| x.try_argsort(-1, false)) as fn(&Tensor) -> Result<Tensor>),
            ("argsort of a longer row, descending", 70_000, |x| x.try_argsort(-1, true)),
            ("topk of a long row", 5000, |x| Ok(x.try_topk(50, -1, true, true)?.1)),
            ("topk of a longer row", 70_000, |x| Ok(x.try_topk(70, -1, false, true)?.1)),
            ("kthvalue of a long row", 3000, |x| Ok(x.try_kthvalue(1234, -1)?.1)),
            ("median of a long row", 3001, |x| Ok(x.try_median(-1)?.1)),
        ];
        let long = long.into_iter().flat_map(|(name, length, op)| {
            // Integers of few values are ties.
            let dtypes = [DType::F32, DType::I32, DType::F16, DType::U8];
            dtypes.map(|dtype| {
                let inputs = vec![Input::new([2, length], dtype, (-100.0, 100.0))];
                let name = format!("{name} of {dtype}");
                Case::new("argsort", name, inputs, move |x: &[Tensor]| op(&x[0])).without_gradient()
            })
        });
        // Repeated values and the zeros of a pad are ties.
        let has_ties =
            |case: &Case| matches!(case.inputs[0].layout, case::Layout::Expanded | case::Layout::Embedded);
        let smooth = |case: Case| if has_ties(&case) { case.not_smooth() } else { case };
        order.map(Case::without_gradient).chain(sorts.map(smooth)).chain(long).collect()
    }

    fn batch(&self, call: &BatchCall) -> Result<Batched> {
        call.leading()
    }
}

methods! { ArgSort:
    argsort(x: Tensor, dim: isize = "-1", descending: bool = "false") -> Tensor { x.try_argsort(dim, descending) }
    sort(x: Tensor, dim: isize = "-1", descending: bool = "false") -> (Tensor, Tensor) { x.try_sort(dim, descending) }
    msort(x: Tensor) -> Tensor { x.try_msort() }
    topk(x: Tensor, k: usize, dim: isize = "-1", largest: bool = "true", sorted: bool = "true") -> (Tensor, Tensor) {
        x.try_topk(k, dim, largest, sorted)
    }
    kthvalue(x: Tensor, k: usize, dim: isize = "-1") -> (Tensor, Tensor) { x.try_kthvalue(k, dim) }
    median(x: Tensor, dim: isize = "-1") -> (Tensor, Tensor) { x.try_median(dim) }
}

/// WGSL of `key(row, place)`: an element as an integer that sorts as the element does. It works on bits alone, so that no compiler
/// can reason NaN away; zeros of either sign have one key. `length` is WGSL of that of a row.
fn key_function(dtype: DType, descending: bool, length: &str) -> String {
    let float = |sign: &str, infinity: &str| {
        format!(
            "    let magnitude = bits & ({sign} - 1u);
    if (magnitude == 0u) {{ bits = {sign}; }}
    else if (magnitude > {infinity}) {{ bits = {sign} | ({sign} - 1u); }}
    else if (bits == magnitude) {{ bits = bits | {sign}; }}
    else {{ bits = {sign} - magnitude; }}\n"
        )
    };
    let (read, map) = match dtype {
        DType::Bool | DType::U8 | DType::U32 => ("values[at]", String::new()),
        DType::I32 => ("values[at]", "    bits = bits ^ 0x80000000u;\n".into()),
        DType::F32 => ("values[at]", float("0x80000000u", "0x7f800000u")),
        DType::F16 => ("(values[at / 2u] >> ((at % 2u) * 16u)) & 0xffffu", float("0x8000u", "0x7c00u")),
        DType::I64 | DType::F64 => unreachable!("the GPU has no {dtype}"),
    };
    let result = if descending { "~bits" } else { "bits" };
    format!(
        "fn key(row: u32, place: u32) -> u32 {{
    let at = row * {length} + place;
    var bits = {read};
{map}    return {result};
}}
"
    )
}

/// The low bits in which the keys of a dtype differ.
fn key_bits(dtype: DType) -> u32 {
    match dtype {
        DType::Bool => 1,
        DType::U8 => 8,
        DType::F16 => 16,
        _ => 32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::StructuredOp;
    use crate::op::testing::{call, validate};

    fn programs(shape: &[usize], dtype: DType, op: ArgSort, count: usize) -> usize {
        let mut ranks = shape.to_vec();
        *ranks.last_mut().unwrap() = count;
        validate(&call(StructuredOp::ArgSort(op), &[(shape, dtype)], &[(&ranks, DType::I32)])).len()
    }

    #[test]
    fn shaders_are_valid() {
        for (dtype, passes) in [
            (DType::Bool, 1),
            (DType::U8, 1),
            (DType::I32, 4),
            (DType::U32, 4),
            (DType::F16, 2),
            (DType::F32, 4),
        ] {
            for descending in [false, true] {
                let count = |shape: &[usize], first, count| {
                    programs(shape, dtype, ArgSort { descending, first }, count)
                };
                assert_eq!([count(&[7], 0, 7), count(&[300, 5], 0, 5), count(&[1024], 0, 1024)], [1; 3]);
                // Three shaders a pass.
                assert_eq!([count(&[2, 1025], 0, 1025), count(&[100_000], 0, 100_000)], [3 * passes; 2]);
                // Few ranks are found without sorting, but not in rows that many workgroups share.
                assert_eq!([count(&[3, 5000], 0, 50), count(&[3, 5000], 2500, 1), count(&[9], 2, 3)], [1; 3]);
                assert_eq!([count(&[3, 5000], 7, 50), count(&[100_000], 0, 50)], [3 * passes; 2]);
            }
        }
    }

    #[test]
    fn nothing_to_sort_needs_no_shader() {
        let op = ArgSort { descending: false, first: 0 };
        assert_eq!(
            [programs(&[3, 0], DType::F32, op.clone(), 0), programs(&[3, 5], DType::F32, op, 0)],
            [0; 2]
        );
    }
}
