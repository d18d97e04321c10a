//! Scatter: writes or adds values along one dimension at positions given by another tensor; the adjoint of gather.
//! On the GPU integers are added by atomics (`counted`); of other values the positions are put in order first (`ordered`), but for
//! short lines, which every result looks through.

mod counted;
mod ordered;
mod samples;

use super::batch::{BatchCall, Batched};
use super::case::Case;
use super::elementwise::Operand;
use super::structured::{Exact, Listed, Structured};
use super::{Grads, Meta, Saves, StructuredOp, Tensor, Vjp};
use crate::calls::methods;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::host::{Block, HostBuffer};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::{Bound, Checked, Param, Program, Tier};
use crate::shader::{self, Entry, Shader, ZERO, narrow, widen};
use crate::shape::Shape;

/// What happens at an indexed place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    /// The value replaces what was there; of several the last one stays.
    Set,
    /// The value is added, in the order of the indexes.
    Add,
}

/// out = base, then for every coordinate c of the index: out[c with c\[dim\] := index[c]] (= | +=) value[c].
/// Inputs: base, index, values; index and values have one shape, nowhere larger than the base but along `dim`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Scatter {
    pub dim: usize,
    pub mode: Mode,
}

impl Kernels for Scatter {
    fn name(&self) -> &'static str {
        match self.mode {
            Mode::Set => "scatter",
            Mode::Add => "scatter_add",
        }
    }

    fn layout(&self, input: usize) -> Layout {
        if input == 1 { Layout::Strided } else { Layout::Contiguous }
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], _: &[Scalar]) -> Result<()> {
        let [base, index, values] = inputs else { unreachable!("scatter has three inputs") };
        let level = &index.access.levels[0];
        let read = |at: i64| match index.buffer {
            HostBuffer::I32(index) => i64::from(index[at as usize]),
            HostBuffer::U32(index) => i64::from(index[at as usize]),
            HostBuffer::U8(index) => i64::from(index[at as usize]),
            HostBuffer::I64(index) => index[at as usize],
            _ => unreachable!("indexes are integers"),
        };
        let strides: Vec<i64> = level.axes.iter().map(|axis| axis.stride).collect();
        let positions =
            Positions { shape: &index.meta.shape, start: level.offset.value(index.data), strides: &strides };
        macro_rules! put {
            ($base:expr, $values:expr, $out:expr, $add:expr) => {{
                $out.copy_from_slice($base);
                self.places(&base.meta.shape, &positions, &read, &mut |Portion { first, starts, run }| {
                    let add = |out, value| if self.mode == Mode::Add { $add(out, value) } else { value };
                    if run == 1 && !cfg!(target_arch = "wasm32") {
                        for (&start, &value) in starts.iter().zip(&$values[first..]) {
                            $out[start] = add($out[start], value);
                        }
                        return;
                    }
                    let values = $values[first * run..].chunks_exact(run);
                    for (&start, values) in starts.iter().zip(values) {
                        for (out, &value) in $out[start..start + run].iter_mut().zip(values) {
                            *out = add(*out, value);
                        }
                    }
                })
            }};
        }
        match (base.buffer, values.buffer, &mut outputs[0]) {
            (HostBuffer::F32(b), HostBuffer::F32(v), HostBuffer::F32(o)) => put!(b, v, o, |a, b| a + b),
            (HostBuffer::F64(b), HostBuffer::F64(v), HostBuffer::F64(o)) => put!(b, v, o, |a, b| a + b),
            (HostBuffer::F16(b), HostBuffer::F16(v), HostBuffer::F16(o)) => put!(b, v, o, |a, b| a + b),
            (HostBuffer::I32(b), HostBuffer::I32(v), HostBuffer::I32(o)) => put!(b, v, o, i32::wrapping_add),
            (HostBuffer::U32(b), HostBuffer::U32(v), HostBuffer::U32(o)) => put!(b, v, o, u32::wrapping_add),
            (HostBuffer::I64(b), HostBuffer::I64(v), HostBuffer::I64(o)) => put!(b, v, o, i64::wrapping_add),
            (HostBuffer::U8(b), HostBuffer::U8(v), HostBuffer::U8(o)) => put!(b, v, o, u8::wrapping_add),
            (HostBuffer::Bool(b), HostBuffer::Bool(v), HostBuffer::Bool(o)) => put!(b, v, o, |a, b| a | b),
            _ => unreachable!("base and values have one dtype"),
        }
    }

    /// An addition for each value, or copies only.
    fn flops(&self, call: &StructuredCall) -> u64 {
        match self.mode {
            Mode::Set => 0,
            Mode::Add => call.inputs[2].meta.numel() as u64,
        }
    }

    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        if counted::applies(self, call) {
            return Ok(counted::programs(self, call));
        }
        match ordered::applies(self, call) {
            true => Ok(ordered::programs(self, call)),
            false => Ok(vec![self.looked_through(call)]),
        }
    }
}

impl Structured for Scatter {
    fn saves(&self) -> Saves {
        Saves::inputs(0b010)
    }

    /// The values' gradient is gathered from where they went; what was overwritten gets none.
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let (g, index, dim) = (v.grad(), v.input(1), self.dim as isize);
        let base = match self.mode {
            Mode::Add => g.clone(),
            Mode::Set => g.try_scatter(dim, index, g.full_of(index.shape(), 0)?)?,
        };
        Ok(vec![Some(base), None, Some(g.try_gather(dim, index)?)])
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let [base, index, values] = inputs else { unreachable!("scatter has three inputs") };
        let mut result = base.values.clone();
        let Block::I64(numbers) = &index.values else { unreachable!("indexes are integers") };
        let positions = Positions { shape: &index.shape, start: 0, strides: &index.shape.strides() };
        self.places(
            &base.shape,
            &positions,
            |at| numbers[at as usize],
            &mut |Portion { first, starts, .. }| {
                for (k, &place) in starts.iter().enumerate() {
                    let k = first + k;
                    match (&mut result, &values.values) {
                        (Block::F64(to), Block::F64(from)) if self.mode == Mode::Add => to[place] += from[k],
                        (Block::I64(to), Block::I64(from)) if self.mode == Mode::Add => to[place] += from[k],
                        (Block::Bool(to), Block::Bool(from)) if self.mode == Mode::Add => {
                            to[place] |= from[k]
                        }
                        (Block::F64(to), Block::F64(from)) => to[place] = from[k],
                        (Block::I64(to), Block::I64(from)) => to[place] = from[k],
                        (Block::Bool(to), Block::Bool(from)) => to[place] = from[k],
                        other => unreachable!("scatter of {other:?}"),
                    }
                }
            },
        )?;
        Ok(vec![Exact { shape: base.shape.clone(), dtype: outputs[0].dtype, values: result }])
    }
}

impl Scatter {
    /// A thread for each result looks through the indexes of its line, in order.
    fn looked_through(&self, call: &StructuredCall) -> Program {
        let (base, index, values) = (&call.inputs[0].meta, &call.inputs[1].meta, &call.inputs[2].meta);
        let mut shader = Shader::new(self.name(), Tier::General);
        let params = &mut shader.params;
        let numel = params.size(base.numel());
        let (strides, value_strides) = (base.shape.strides(), values.shape.strides());
        let found = &call.inputs[1].access.levels[0];
        // Coordinates of the result, and the offsets of its line in the index and in the values.
        let (mut coordinates, mut inside) = (String::new(), String::from("true"));
        for d in 0..base.shape.rank() {
            let (size, stride) = (params.size(base.shape[d]), params.stride(strides[d]));
            if d == self.dim {
                coordinates += &format!("    let place = (at / {stride}) % {size};\n");
            } else {
                let limit = params.size(index.shape[d]);
                let (along, beside) = (params.stride(value_strides[d]), params.stride(found.axes[d].stride));
                coordinates += &format!(
                    "    let c{d} = (at / {stride}) % {size};\n    line += c{d} * {along};\n    indexes += c{d} * {beside};\n"
                );
                inside += &format!(" && c{d} < {limit}");
            }
        }
        let end = params.size(index.shape[self.dim]);
        let step = params.stride(value_strides[self.dim]);
        let index_step = params.stride(found.axes[self.dim].stride);
        let offset = params.push(Param::Offset(found.offset.clone()));
        let size = params.size(base.shape[self.dim]);
        let fault = shader::fault(params, call.node, "found");
        let read = |name: &str, meta: &Meta, at: &str| widen(meta.dtype, &format!("{name}[{at}]"));
        let value = read("values", values, "line + j * step");
        let combine = match (self.mode, base.dtype) {
            (Mode::Set, _) => format!("result = {value};"),
            (Mode::Add, DType::Bool) => format!("result = result || {value};"),
            (Mode::Add, _) => format!("result += {value};"),
        };
        for (input, name) in ["base", "index", "values"].into_iter().enumerate() {
            shader.bind_elements(Bound::Input(input), name, call.inputs[input].meta.dtype, false);
        }
        shader.bind_elements(Bound::Output(0), "out", base.dtype, false);
        shader.bind_status();
        shader.checks = Some(Checked::Index { op: self.name(), size: base.shape[self.dim] });
        let body = format!(
            "    var line = 0u;
    var indexes = {offset};
{coordinates}    var result = {first};
    if ({inside}) {{
        let step = {step};
        for (var j = {ZERO}; j < {end}; j++) {{
            let found = u32(index[indexes + j * {index_step}]);
            if (found == place) {{ {combine} }}
            if (place == 0u && found >= {size}) {{ {fault} }}
        }}
    }}
    out[at] = {result};
",
            first = read("base", base, "at"),
            result = narrow(base.dtype, "result"),
        );
        shader.finish(&Entry::threads("at", base.numel(), &numel, 64), &body)
    }

    /// Finds where values go, and hands it on in portions.
    fn places(
        &self,
        base: &Shape,
        index: &Positions,
        read: impl Fn(i64) -> i64,
        hand_on: &mut dyn FnMut(Portion),
    ) -> Result<()> {
        let (strides, shape, size) = (base.strides(), index.shape, base[self.dim]);
        let (last, numel) = (shape.rank() - 1, shape.numel());
        // One position that serves a whole line along the last dimension makes a run of it.
        let line = shape[last];
        let is_run = self.dim != last && line > 1 && index.strides[last] == 0;
        let (each, run) = if is_run { (1, line) } else { (line, 1) };
        let (step, along, from_one) = (index.strides[last], i64::from(self.dim != last), strides[self.dim]);
        let (mut starts, mut first) = (Vec::with_capacity(PORTION), 0);
        for number in 0..numel / line.max(1) {
            let (mut rest, mut at, mut place) = (number, index.start, 0);
            for d in (0..last).rev() {
                let coordinate = (rest % shape[d]) as i64;
                rest /= shape[d];
                at += coordinate * index.strides[d];
                place += if d == self.dim { 0 } else { coordinate * strides[d] };
            }
            for k in 0..each as i64 {
                let found = read(at + k * step);
                if found < 0 || found >= size as i64 {
                    let location = String::new();
                    return Err(Error::IndexOutOfRange { op: self.name(), index: found, size, location });
                }
                starts.push((place + k * along + found * from_one) as usize);
                if starts.len() == PORTION {
                    hand_on(Portion { first, starts: &starts, run });
                    first += PORTION;
                    starts.clear();
                }
            }
        }
        hand_on(Portion { first, starts: &starts, run });
        Ok(())
    }
}

/// Values whose places are found at once.
const PORTION: usize = 1024;

/// Where the positions of values lie.
struct Positions<'a> {
    shape: &'a Shape,
    start: i64,
    strides: &'a [i64],
}

/// Where some values go, as offsets into the base: `run` of them one after the other from each of these on, the first of which is number
/// `first`.
struct Portion<'a> {
    first: usize,
    starts: &'a [usize],
    run: usize,
}

impl Listed for Scatter {
    const NAMES: &'static [&'static str] = &["scatter", "scatter_add"];

    fn samples() -> Vec<Case> {
        samples::samples()
    }

    fn batch(&self, call: &BatchCall) -> Result<Batched> {
        call.by_structured(StructuredOp::Scatter(Scatter { dim: self.dim + 1, mode: self.mode }))
    }
}

methods! { Scatter:
    scatter(x: Tensor, dim: isize, index: Tensor, values: Operand) -> Tensor { x.try_scatter(dim, &index, values) }
    scatter_add(x: Tensor, dim: isize, index: Tensor, values: Operand) -> Tensor {
        x.try_scatter_add(dim, &index, values)
    }
    index_add(x: Tensor, dim: isize, index: Tensor, source: Tensor) -> Tensor { x.try_index_add(dim, &index, &source) }
}
