//! Pack: flat tensors at fixed places of one larger flat tensor, so that one kernel can work on all of them.
//!
//! This is how an optimizer sees the gradients of a whole model. On the GPU the planner lets the kernels that make
//! the packed values write straight into their places (`plan::pack`); then nothing is copied, and the gaps between
//! the places hold anything.

use super::structured::{Exact, Structured};
use super::{Grads, Meta, Saves, Vjp};
use crate::dtype::Scalar;
use crate::error::Result;
use crate::host::{HostBuffer, sorted_by};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::{Bound, Program, Tier};
use crate::shader::{Entry, Shader, storage_type};

/// out[starts\[i\] + k] = inputs\[i\]\[k\]; zero elsewhere. All inputs and the output have one dtype and one dimension.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pack {
    pub starts: Vec<usize>,
    /// Without, what lies between the inputs stays as it was: other kernels write there.
    pub fills_gaps: bool,
}

impl Kernels for Pack {
    fn name(&self) -> &'static str {
        "pack"
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::Contiguous
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], _: &[Scalar]) -> Result<()> {
        for (&start, input) in self.starts.iter().zip(inputs) {
            outputs[0].copy_from(start, input.buffer);
        }
        Ok(())
    }

    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        let places: Vec<(usize, usize)> =
            self.starts.iter().copied().zip(call.inputs.iter().map(|input| input.meta.numel())).collect();
        let copies = places.iter().enumerate().filter(|(_, (_, numel))| *numel > 0);
        let mut programs: Vec<Program> =
            copies.map(|(input, &(start, numel))| piece(call, Some(input), start, numel)).collect();
        if !self.fills_gaps {
            return Ok(programs);
        }
        let places = sorted_by(places, |&(start, _)| start as u64);
        let mut filled = 0;
        for (start, numel) in places.into_iter().chain([(call.outputs[0].1.numel(), 0)]) {
            if start > filled {
                programs.push(piece(call, None, filled, start - filled));
            }
            filled = start + numel;
        }
        Ok(programs)
    }
}

impl Structured for Pack {
    fn saves(&self) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let part = |(&start, input): (&usize, &crate::tensor::Tensor)| {
            Ok(Some(v.grad().try_narrow(0, start, input.numel())?))
        };
        self.starts.iter().zip(v.inputs).map(part).collect()
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let meta = &outputs[0];
        let mut values = inputs[0].values.clone();
        values.resize(0);
        values.resize(meta.numel());
        for (&start, input) in self.starts.iter().zip(inputs) {
            values.copy_from(start, &input.values);
        }
        Ok(vec![Exact { shape: meta.shape.clone(), dtype: meta.dtype, values }])
    }
}

/// Writes an input, or zeros, to out[start..start + numel].
fn piece(call: &StructuredCall, input: Option<usize>, start: usize, numel: usize) -> Program {
    let dtype = call.outputs[0].1.dtype;
    let mut shader = Shader::new(if input.is_some() { "pack" } else { "pack zeros" }, Tier::General);
    let (first, count) = (shader.params.size(start), shader.params.size(numel));
    if let Some(input) = input {
        shader.bind_elements(Bound::Input(input), "piece", dtype, false);
    }
    shader.bind_elements(Bound::Output(0), "out", dtype, false);
    let value = input.map_or(format!("{}(0)", storage_type(dtype)), |_| "piece[at]".into());
    let body = format!("    out[{first} + at] = {value};\n");
    shader.finish(&Entry::threads("at", numel, &count, 64), &body)
}
