//! Scatter: writes or adds values along one dimension at positions given by another tensor; the adjoint of gather.
//! On the GPU integers are added by atomics (`counted`); of other values the positions are put in order first (`ordered`), but for
//! short lines, which every result looks through.

mod counted;
mod cpu;
mod ordered;
mod samples;

use super::batch::{BatchCall, Batched};
use super::case::Case;
use super::elementwise::Operand;
use super::structured::{Exact, Listed, Structured};
use super::{Grads, Meta, Saves, StructuredOp, Tensor, Vjp};
use crate::calls::methods;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::{Block, HostBuffer};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::{Bound, Checked, Param, Program, Tier};
use crate::shader::{self, Entry, Shader, ZERO, narrow, widen};
use cpu::{Portion, Positions};

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
        cpu::scatter(self, base, index, values, &mut outputs[0])
    }

    fn fills_outputs(&self) -> bool {
        true
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
            0..positions.lines(),
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
