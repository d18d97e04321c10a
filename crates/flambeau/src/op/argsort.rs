//! Sorting: the order of the elements of each row. Values are gathered by it, which gives sort its gradient.
//!
//! On the GPU a bitonic network sorts (key, index) pairs. Keys are integers in the order of the values, with NaN as
//! the largest number, so the index settles every tie and the result is the one stable order.

use super::batch::{BatchCall, Batched};
use super::case::{self, Along, Case, along_rows};
use super::structured::{Exact, Listed, Structured};
use super::{Grads, Meta, Saves, Tensor, Vjp, not_differentiable};
use crate::calls::methods;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::{Block, HostBuffer, order_rows};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::{Bound, Program, Tier};
use crate::shader::{Entry, GROUP_NUMBER, Shader, ZERO, groups_for};
use std::cmp::Ordering;

/// (…, N) → (…, N), I32: the positions of each row's elements in increasing or decreasing order. Equal elements keep
/// their order; NaN counts as larger than every number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ArgSort {
    pub descending: bool,
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
    /// Fills `places` with the order of each row of `values`, as the interpreter finds it: by comparing.
    fn sort_rows<T: Ordered>(&self, values: &[T], length: usize, places: &mut [i32]) {
        for (row, places) in values.chunks(length.max(1)).zip(places.chunks_mut(length.max(1))) {
            places.iter_mut().zip(0..).for_each(|(place, position)| *place = position);
            places.sort_by(|&a, &b| {
                let ascending = row[a as usize].order(row[b as usize]);
                if self.descending { ascending.reverse() } else { ascending }
            });
        }
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
        match inputs[0].buffer {
            HostBuffer::Bool(values) => order_rows(values, length, self.descending, places),
            HostBuffer::U8(values) => order_rows(values, length, self.descending, places),
            HostBuffer::I32(values) => order_rows(values, length, self.descending, places),
            HostBuffer::U32(values) => order_rows(values, length, self.descending, places),
            HostBuffer::I64(values) => order_rows(values, length, self.descending, places),
            HostBuffer::F16(values) => order_rows(values, length, self.descending, places),
            HostBuffer::F32(values) => order_rows(values, length, self.descending, places),
            HostBuffer::F64(values) => order_rows(values, length, self.descending, places),
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

    /// Rows are padded to a power of two. Blocks are sorted in workgroup memory; a row that fits into one is done
    /// then. Longer rows are merged: exchanges across blocks in passes over a scratch buffer, those inside a block
    /// in workgroup memory again.
    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        let input = &call.inputs[0].meta;
        let length = input.shape[input.shape.rank() - 1];
        if input.numel() == 0 {
            return Ok(Vec::new());
        }
        let padded = length.next_power_of_two();
        let network = Network {
            key: key_function(input.dtype, self.descending),
            rows: input.numel() / length,
            length,
            padded,
        };
        if padded <= BLOCK {
            return Ok(vec![network.block(Source::Values, Target::Order, 2, padded)]);
        }
        let mut programs = vec![network.block(Source::Values, Target::Pairs, 2, BLOCK)];
        let mut run = 2 * BLOCK;
        while run <= padded {
            let mut distance = run / 2;
            while distance >= BLOCK {
                programs.push(network.exchange(run, distance));
                distance /= 2;
            }
            let target = if run == padded { Target::Order } else { Target::Pairs };
            programs.push(network.block(Source::Pairs, target, run, run));
            run *= 2;
        }
        Ok(programs)
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
        let length = shape[shape.rank() - 1];
        let mut places = vec![0; shape.numel()];
        match &inputs[0].values {
            Block::Bool(values) => self.sort_rows(values, length, &mut places),
            Block::I64(values) => self.sort_rows(values, length, &mut places),
            Block::F64(values) => self.sort_rows(values, length, &mut places),
            other => unreachable!("the interpreter has no {other:?}"),
        }
        Ok(vec![Exact { shape, dtype, values: Block::I64(places.into_iter().map(i64::from).collect()) }])
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
        // Repeated values and the zeros of a pad are ties.
        let has_ties =
            |case: &Case| matches!(case.inputs[0].layout, case::Layout::Expanded | case::Layout::Embedded);
        let smooth = |case: Case| if has_ties(&case) { case.not_smooth() } else { case };
        order.map(Case::without_gradient).chain(sorts.map(smooth)).collect()
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

/// Pairs a workgroup holds: 8 KiB of its memory.
const BLOCK: usize = 1024;
/// Threads of a workgroup.
const THREADS: usize = 256;

/// WGSL of `key(at)`: element `at` of the values as an integer that sorts as the element does. It works on bits
/// alone, so that no compiler can reason NaN away; zeros of either sign have one key.
fn key_function(dtype: DType, descending: bool) -> String {
    let float = |sign: &str, infinity: &str| {
        format!(
            "    let magnitude = bits & ({sign} - 1u);
    if (magnitude == 0u) {{ bits = {sign}; }}
    else if (magnitude > {infinity}) {{ bits = 0xffffffffu; }}
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
    format!("fn key(at: u32) -> u32 {{\n    var bits = {read};\n{map}    return {result};\n}}\n")
}

/// Where a program's pairs come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The values to be sorted, in their first order.
    Values,
    /// The scratch buffer.
    Pairs,
}

/// What a program writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    /// The scratch buffer.
    Pairs,
    /// The result: the order alone, without padding.
    Order,
}

/// A bitonic network over rows of pairs (key, index), each padded to a power of two.
///
/// For runs of 2, 4, … up to the row's length, pairs `distance` = run/2, run/4, … 1 apart are put in order, upwards in
/// every even run and downwards in every odd one.
struct Network {
    key: String,
    rows: usize,
    length: usize,
    padded: usize,
}

/// The order of two pairs; no two have the same index.
const BEFORE: &str = "fn before(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.x < b.x || (a.x == b.x && a.y < b.y);
}
// The lower position of exchange number `e` at a distance that is a power of two.
fn lower(e: u32, distance: u32) -> u32 {
    return 2u * e - (e & (distance - 1u));
}
";

impl Network {
    fn pairs(&self) -> usize {
        self.rows * self.padded
    }

    fn scratch(&self) -> Vec<u64> {
        if self.padded <= BLOCK { Vec::new() } else { vec![8 * self.pairs() as u64] }
    }

    /// All exchanges inside blocks for runs from `first_run` to `last_run`.
    fn block(&self, from: Source, target: Target, first_run: usize, last_run: usize) -> Program {
        let numbers = [self.pairs(), self.padded, self.length, first_run, last_run];
        let (mut shader, [count, padded, length, first_run, last_run]) = self.shader(numbers);
        if from == Source::Values {
            shader.bind(Bound::Input(0), "values", "u32");
        }
        if from == Source::Pairs || target == Target::Pairs {
            shader.bind(Bound::Scratch(0), "pairs", "vec2<u32>");
        }
        if target == Target::Order {
            shader.bind(Bound::Output(0), "order", "i32");
        }
        shader.share("tile", "vec2<u32>", BLOCK);
        if from == Source::Values {
            shader.add(&self.key);
        }
        let load = match from {
            Source::Pairs => "tile[i] = pairs[at];",
            Source::Values => {
                "let place = at % padded;
        var pair = vec2<u32>(0xffffffffu, place);
        if (at < count && place < length) { pair.x = key((at / padded) * length + place); }
        tile[i] = pair;"
            }
        };
        let store = match target {
            Target::Pairs => "pairs[at] = tile[i];",
            Target::Order => {
                "let place = at % padded;
        if (at < count && place < length) { order[(at / padded) * length + place] = i32(tile[i].y); }"
            }
        };
        let body = format!(
            "    let count = {count};
    let padded = {padded};
    let length = {length};
    let last_run = {last_run};
    let start = ({GROUP_NUMBER}) * {BLOCK}u;
    if (start >= count) {{ return; }}
    for (var i = thread; i < {BLOCK}u; i += {THREADS}u) {{
        let at = start + i;
        {load}
    }}
    workgroupBarrier();
    for (var run = {first_run} + {ZERO}; run <= last_run; run *= 2u) {{
        for (var distance = min(run, {BLOCK}u) / 2u; distance > 0u; distance /= 2u) {{
            for (var e = thread; e < {half}u; e += {THREADS}u) {{
                let i = lower(e, distance);
                let a = tile[i];
                let b = tile[i + distance];
                let upwards = ((start + i) & (padded - 1u) & run) == 0u;
                if (before(b, a) == upwards) {{
                    tile[i] = b;
                    tile[i + distance] = a;
                }}
            }}
            workgroupBarrier();
        }}
    }}
    for (var i = thread; i < {BLOCK}u; i += {THREADS}u) {{
        let at = start + i;
        {store}
    }}
",
            half = BLOCK / 2,
        );
        shader.finish(&Entry::grid(groups_for(self.pairs(), BLOCK), THREADS), &body)
    }

    /// The exchanges at one distance, across blocks.
    fn exchange(&self, run: usize, distance: usize) -> Program {
        let exchanges = self.pairs() / 2;
        let (mut shader, [limit, padded, run, distance]) =
            self.shader([exchanges, self.padded, run, distance]);
        shader.bind(Bound::Scratch(0), "pairs", "vec2<u32>");
        let body = format!(
            "    let padded = {padded};
    let run = {run};
    let distance = {distance};
    let at = lower(e, distance);
    let a = pairs[at];
    let b = pairs[at + distance];
    let upwards = (at & (padded - 1u) & run) == 0u;
    if (before(b, a) == upwards) {{
        pairs[at] = b;
        pairs[at + distance] = a;
    }}
"
        );
        shader.finish(&Entry::threads("e", exchanges, &limit, THREADS), &body)
    }

    /// The beginning of a shader with these numbers.
    fn shader<const N: usize>(&self, numbers: [usize; N]) -> (Shader, [String; N]) {
        let mut shader = Shader::new("argsort", Tier::General);
        let numbers = numbers.map(|number| shader.params.size(number));
        shader.include(BEFORE);
        shader.scratch = self.scratch();
        (shader, numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::StructuredOp;
    use crate::op::testing::{call, validate};

    #[test]
    fn shaders_are_valid() {
        for dtype in [DType::Bool, DType::U8, DType::I32, DType::U32, DType::F16, DType::F32] {
            for (shape, programs) in
                [(&[7][..], 1), (&[300, 5], 1), (&[1024], 1), (&[2, 1025], 3), (&[5000], 10)]
            {
                for descending in [false, true] {
                    let op = StructuredOp::ArgSort(ArgSort { descending });
                    let found = validate(&call(op, &[(shape, dtype)], &[(shape, DType::I32)]));
                    assert_eq!(found.len(), programs, "{shape:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_to_sort_needs_no_shader() {
        let op = StructuredOp::ArgSort(ArgSort { descending: false });
        assert!(validate(&call(op, &[(&[3, 0], DType::F32)], &[(&[3, 0], DType::I32)])).is_empty());
    }
}
