//! Scatter: writes or adds values along one dimension at positions given by another tensor; the adjoint of gather.
//! `ordered` is the GPU's way where one list of positions serves every line.

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
        let (start, strides) = (level.offset.value(index.data), index.meta.shape.strides());
        let place = |k: usize| {
            let along = level.axes.iter().zip(&strides);
            let steps = along.map(|(axis, &stride)| (k as i64 / stride) % axis.size as i64 * axis.stride);
            (start + steps.sum::<i64>()) as usize
        };
        let is_dense = index.access.is_contiguous();
        let at = |k: usize| if is_dense { k } else { place(k) };
        let position = |k: usize| match index.buffer {
            HostBuffer::I32(index) => i64::from(index[at(k)]),
            HostBuffer::U32(index) => i64::from(index[at(k)]),
            HostBuffer::U8(index) => i64::from(index[at(k)]),
            HostBuffer::I64(index) => index[at(k)],
            _ => unreachable!("indexes are integers"),
        };
        let places = self.places(&base.meta.shape, &index.meta.shape, position)?;
        macro_rules! put {
            ($base:expr, $values:expr, $out:expr, $add:expr) => {{
                $out.copy_from_slice($base);
                for (place, &value) in places.into_iter().zip($values.iter()) {
                    $out[place] = if self.mode == Mode::Add { $add($out[place], value) } else { value };
                }
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
        Ok(())
    }

    /// An addition for each value, or copies only.
    fn flops(&self, call: &StructuredCall) -> u64 {
        match self.mode {
            Mode::Set => 0,
            Mode::Add => call.inputs[2].meta.numel() as u64,
        }
    }

    /// Where lines have indexes of their own, one thread per result looks through those of its line, in order: no
    /// atomics, the same sum every time. Long lines take several dispatches.
    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        if ordered::applies(self, call) {
            return Ok(ordered::programs(self, call));
        }
        let length = call.inputs[1].meta.shape[self.dim];
        let starts = (0..length.max(1)).step_by(PART);
        Ok(starts.map(|start| self.part(call, start, (start + PART).min(length))).collect())
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
        let Block::I64(positions) = &index.values else { unreachable!("indexes are integers") };
        let places = self.places(&base.shape, &index.shape, |k| positions[k])?;
        for (k, place) in places.into_iter().enumerate() {
            match (&mut result, &values.values) {
                (Block::F64(to), Block::F64(from)) if self.mode == Mode::Add => to[place] += from[k],
                (Block::I64(to), Block::I64(from)) if self.mode == Mode::Add => to[place] += from[k],
                (Block::Bool(to), Block::Bool(from)) if self.mode == Mode::Add => to[place] |= from[k],
                (Block::F64(to), Block::F64(from)) => to[place] = from[k],
                (Block::I64(to), Block::I64(from)) => to[place] = from[k],
                (Block::Bool(to), Block::Bool(from)) => to[place] = from[k],
                other => unreachable!("scatter of {other:?}"),
            }
        }
        Ok(vec![Exact { shape: base.shape.clone(), dtype: outputs[0].dtype, values: result }])
    }
}

/// Indexes one dispatch looks through.
const PART: usize = 32_768;

impl Scatter {
    /// Scatters the values of indexes start..end of every line; the first part starts from the base.
    fn part(&self, call: &StructuredCall, start: usize, end: usize) -> Program {
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
        let (begin, end) = (params.size(start), params.size(end));
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
        for (var j = {begin} + {ZERO}; j < {end}; j++) {{
            let found = u32(index[indexes + j * {index_step}]);
            if (found == place) {{ {combine} }}
            if (place == 0u && found >= {size}) {{ {fault} }}
        }}
    }}
    out[at] = {result};
",
            first = read(if start == 0 { "base" } else { "out" }, base, "at"),
            result = narrow(base.dtype, "result"),
        );
        shader.finish(&Entry::threads("at", base.numel(), &numel, 64), &body)
    }

    /// Where each value goes, as offsets into the base.
    fn places(&self, base: &Shape, index: &Shape, position: impl Fn(usize) -> i64) -> Result<Vec<usize>> {
        let (strides, index_strides) = (base.strides(), index.strides());
        let mut places = Vec::with_capacity(index.numel());
        for k in 0..index.numel() {
            let found = position(k);
            let size = base[self.dim];
            if found < 0 || found >= size as i64 {
                let location = String::new();
                return Err(Error::IndexOutOfRange { op: self.name(), index: found, size, location });
            }
            let place = (0..index.rank()).map(|d| {
                let c = if d == self.dim { found } else { (k as i64 / index_strides[d]) % index[d] as i64 };
                c * strides[d]
            });
            places.push(place.sum::<i64>() as usize);
        }
        Ok(places)
    }
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
