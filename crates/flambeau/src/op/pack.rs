//! Pack: flat tensors at fixed places of one larger flat tensor, so that one kernel can work on all of them.
//!
//! This is how an optimizer sees the gradients of a whole model. On the GPU the planner lets the kernels that make
//! the packed values write straight into their places (`plan::pack`); then nothing is copied, and the gaps between
//! the places hold anything.

use super::case::{Case, Input, LONG_SUM};
use super::structured::{Exact, Listed, Structured};
use super::{Grads, Meta, Saves, Tensor, Vjp};
use crate::calls::Methods;
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

    /// Copies only.
    fn flops(&self, _: &StructuredCall) -> u64 {
        0
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
        let part =
            |(&start, input): (&usize, &Tensor)| Ok(Some(v.grad().try_narrow(0, start, input.numel())?));
        self.starts.iter().zip(v.inputs).map(part).collect()
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let meta = &outputs[0];
        let mut values = inputs[0].values.clone();
        values.resize(0);
        values.resize(meta.numel());
        for (&start, input) in self.starts.iter().zip(inputs) {
            values.copy_from(start, input.values.view());
        }
        Ok(vec![Exact { shape: meta.shape.clone(), dtype: meta.dtype, values }])
    }
}

impl Listed for Pack {
    const NAMES: &'static [&'static str] = &["pack"];

    /// Without gaps: what lies in a gap is not defined. Parts that start at multiples of 64 are written in place.
    fn samples() -> Vec<Case> {
        type Packing = (&'static str, fn(&[Tensor]) -> Result<Tensor>);
        let packings: [Packing; 6] = [
            ("of inputs", |x| Tensor::pack(&[x[0].clone(), x[1].clone()], &[0, 64], 128)),
            ("of results, used again", |x| {
                let (a, b) = (x[0].try_tanh()?, x[0].try_matmul(&x[1])?);
                let packed = Tensor::pack(&[a.clone(), b.clone()], &[64, 0], 128)?;
                let sum = a.try_sum(..)?.try_add(b.try_sum(..)?)?;
                packed.try_mul(2.0)?.try_add(sum)
            }),
            ("of a value and one made from it", |x| {
                let a = x[0].try_mul(0.1)?.try_matmul(&x[1])?;
                let b = a.try_matmul(&a)?;
                Tensor::pack(&[a, b], &[0, 64], 128)?.try_mul(2.0)
            }),
            ("of two results of one kernel", |x| {
                let a = x[0].try_add(&x[1])?;
                let b = a.try_exp()?;
                Tensor::pack(&[a, b], &[0, 64], 128)?.try_sin()
            }),
            ("of one value twice", |x| {
                let a = x[0].try_matmul(&x[1])?;
                Tensor::pack(&[a.clone(), a], &[0, 64], 128)?.try_sin()
            }),
            ("at starts that are not aligned", |x| {
                let a = x[0].try_narrow(0, 0, 1)?.try_add(1.0)?;
                Tensor::pack(&[a, x[1].try_mul(3.0)?], &[0, 8], 72)?.try_sin()
            }),
        ];
        let case = |(name, packing): Packing| {
            let inputs = vec![Input::floats([8, 8]), Input::floats([8, 8])];
            Case::new("pack", format!("pack {name}"), inputs, packing).within(1e-5, LONG_SUM)
        };
        packings.into_iter().map(case).collect()
    }
}

/// Optimizers pack, scripts do not.
impl Methods for Pack {}

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
