//! Searching sorted rows: how many elements of a row come before each value.

use super::batch::{BatchCall, Batched};
use super::case::{Case, Input};
use super::structured::{Exact, Listed, Structured};
use super::{Grads, Meta, Saves, Tensor, Vjp, not_differentiable};
use crate::calls::Methods;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::{Block, Disjoint, HostBuffer, share};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::{Bound, Program, Tier};
use crate::shader::{Entry, IS_NAN, Shader, lane_type, widen};
use half::f16;

/// Sorted rows (…, N) and values (…, M) of one dtype → (…, M), I32: how many elements of a value's row are smaller than it, or, with `right`,
/// not larger. NaN counts as larger than every number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SearchSorted {
    pub right: bool,
}

/// Elements that can be sought: NaN comes after all numbers.
trait Sought: Copy + Sync {
    fn comes_before(self, other: Self) -> bool;
}

macro_rules! sought {
    (int: $($int:ty),*; float: $($float:ty),*) => {
        $(impl Sought for $int {
            fn comes_before(self, other: Self) -> bool {
                self < other
            }
        })*
        $(impl Sought for $float {
            fn comes_before(self, other: Self) -> bool {
                self < other || (other.is_nan() && !self.is_nan())
            }
        })*
    };
}
sought!(int: bool, u8, i32, u32, i64; float: f16, f32, f64);

/// Values that are worth a thread.
const WORTH_A_THREAD: usize = 1 << 12;
/// Threads of a workgroup.
const THREADS: usize = 256;

impl SearchSorted {
    fn place<T: Sought>(&self, row: &[T], value: T) -> usize {
        match self.right {
            true => row.partition_point(|&element| !value.comes_before(element)),
            false => row.partition_point(|&element| element.comes_before(value)),
        }
    }

    fn search<T: Sought>(&self, [length, width]: [usize; 2], sorted: &[T], values: &[T], places: &mut [i32]) {
        let places = Disjoint::new(places);
        let done: std::result::Result<(), ()> = share(values.len().div_ceil(WORTH_A_THREAD), |piece| {
            let part = piece * WORTH_A_THREAD..((piece + 1) * WORTH_A_THREAD).min(values.len());
            // Safety: every piece has places of its own.
            let places = unsafe { places.slice(part.clone()) };
            for (place, at) in places.iter_mut().zip(part) {
                let start = at / width * length;
                *place = self.place(&sorted[start..start + length], values[at]) as i32;
            }
            Ok(())
        });
        done.expect("searching does not fail");
    }
}

/// Elements of a sorted row, and values sought in it.
fn sizes(sorted: &Meta, values: &Meta) -> [usize; 2] {
    [sorted, values].map(|meta| meta.shape[meta.shape.rank() - 1])
}

impl Kernels for SearchSorted {
    fn name(&self) -> &'static str {
        "searchsorted"
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::Contiguous
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], _: &[Scalar]) -> Result<()> {
        let sizes = sizes(inputs[0].meta, inputs[1].meta);
        let HostBuffer::I32(places) = &mut outputs[0] else { unreachable!("places are I32") };
        match (inputs[0].buffer, inputs[1].buffer) {
            (HostBuffer::Bool(sorted), HostBuffer::Bool(values)) => {
                self.search(sizes, sorted, values, places)
            }
            (HostBuffer::U8(sorted), HostBuffer::U8(values)) => self.search(sizes, sorted, values, places),
            (HostBuffer::I32(sorted), HostBuffer::I32(values)) => self.search(sizes, sorted, values, places),
            (HostBuffer::U32(sorted), HostBuffer::U32(values)) => self.search(sizes, sorted, values, places),
            (HostBuffer::I64(sorted), HostBuffer::I64(values)) => self.search(sizes, sorted, values, places),
            (HostBuffer::F16(sorted), HostBuffer::F16(values)) => self.search(sizes, sorted, values, places),
            (HostBuffer::F32(sorted), HostBuffer::F32(values)) => self.search(sizes, sorted, values, places),
            (HostBuffer::F64(sorted), HostBuffer::F64(values)) => self.search(sizes, sorted, values, places),
            _ => unreachable!("rows and values have one dtype"),
        }
        Ok(())
    }

    /// A comparison for each halving of a row.
    fn flops(&self, call: &StructuredCall) -> u64 {
        let [length, _] = sizes(&call.inputs[0].meta, &call.inputs[1].meta);
        (call.inputs[1].meta.numel() as u64)
            .saturating_mul(u64::from(length.checked_ilog2().unwrap_or(0) + 1))
    }

    /// A thread for each value halves its row.
    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        let (sorted, values) = (&call.inputs[0].meta, &call.inputs[1].meta);
        if values.numel() == 0 {
            return Ok(Vec::new());
        }
        let mut shader = Shader::new(self.name(), Tier::General);
        let [length, width] = sizes(sorted, values);
        let [count, length, width] = [values.numel(), length, width].map(|size| shader.params.size(size));
        shader.bind_elements(Bound::Input(0), "sorted", sorted.dtype, false);
        shader.bind_elements(Bound::Input(1), "values", values.dtype, false);
        shader.bind(Bound::Output(0), "places", "i32");
        let lane = lane_type(values.dtype);
        let before = match values.dtype {
            DType::Bool => "return !a && b;",
            dtype if dtype.is_float() => {
                shader.include(IS_NAN);
                "return a < b || (fl_is_nan(b) && !fl_is_nan(a));"
            }
            _ => "return a < b;",
        };
        shader.add(&format!("fn before(a: {lane}, b: {lane}) -> bool {{ {before} }}\n"));
        let is_after = if self.right { "!before(value, element)" } else { "before(element, value)" };
        let body = format!(
            "    let value = {value};
    let start = (at / {width}) * {length};
    var low = 0u;
    var high = {length};
    while (low < high) {{
        let middle = (low + high) / 2u;
        let element = {element};
        if ({is_after}) {{ low = middle + 1u; }} else {{ high = middle; }}
    }}
    places[at] = i32(low);
",
            value = widen(values.dtype, "values[at]"),
            element = widen(sorted.dtype, "sorted[start + middle]"),
        );
        Ok(vec![shader.finish(&Entry::threads("at", values.numel(), &count, THREADS), &body)])
    }
}

impl Structured for SearchSorted {
    fn saves(&self) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        not_differentiable(v)
    }

    /// By counting.
    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let [sorted, values] = inputs else { unreachable!("rows and values") };
        let last = |exact: &Exact| exact.shape[exact.shape.rank() - 1];
        let (length, width) = (last(sorted), last(values));
        let count = |comes: &dyn Fn(usize, usize) -> bool| {
            let place = |at: usize| (0..length).filter(|k| comes(at / width * length + k, at)).count() as i64;
            (0..values.shape.numel()).map(place).collect::<Vec<i64>>()
        };
        macro_rules! counted {
            ($sorted:expr, $values:expr) => {
                count(&|element, value| {
                    let (element, value) = ($sorted[element], $values[value]);
                    if self.right { !value.comes_before(element) } else { element.comes_before(value) }
                })
            };
        }
        let places = match (&sorted.values, &values.values) {
            (Block::Bool(sorted), Block::Bool(values)) => counted!(sorted, values),
            (Block::I64(sorted), Block::I64(values)) => counted!(sorted, values),
            (Block::F64(sorted), Block::F64(values)) => counted!(sorted, values),
            other => unreachable!("the interpreter has no {other:?}"),
        };
        let Meta { shape, dtype } = outputs[0].clone();
        Ok(vec![Exact { shape, dtype, values: Block::I64(places.into()) }])
    }
}

impl Methods for SearchSorted {}

impl Listed for SearchSorted {
    const NAMES: &'static [&'static str] = &["searchsorted"];

    fn samples() -> Vec<Case> {
        let mut cases = Vec::new();
        for right in [false, true] {
            for dtype in DType::ALL {
                let operand = |width: usize| Input::new([2, width], dtype, (-9.0, 9.0));
                let search = move |x: &[Tensor]| x[0].try_sort(-1, false)?.0.try_searchsorted(&x[1], right);
                let name = format!("searchsorted of {dtype}, right {right}");
                cases.push(
                    Case::new("searchsorted", name, vec![operand(37), operand(20)], search)
                        .without_gradient(),
                );
            }
            for (length, count) in [(0, 3), (3, 0), (1, 1)] {
                let inputs = vec![Input::floats([length]), Input::floats([count])];
                let search = move |x: &[Tensor]| x[0].try_searchsorted(&x[1], right);
                let name = format!("searchsorted of {count} in {length}, right {right}");
                cases.push(Case::new("searchsorted", name, inputs, search).without_gradient());
            }
        }
        cases
    }

    fn batch(&self, call: &BatchCall) -> Result<Batched> {
        call.leading()
    }
}
