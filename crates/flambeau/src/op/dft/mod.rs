//! The discrete Fourier transform along one dimension: of complex numbers, of real ones to half a spectrum, and of half a
//! spectrum back to real ones. Everything of `flambeau::fft` is made of it.
//!
//! A complex number is a pair (real, imaginary) in a last dimension of 2; `crate::complex` says so for users.
//!
//! - `cpu`: rustfft and realfft, lines on different cores;
//! - `schedule`: how a length is cut for the GPU: into passes over memory, and each of them into butterflies;
//! - `butterfly`: the WGSL of small transforms in registers;
//! - `wgsl`: the passes; `kernel` writes one of them, `ends` what they read and write;
//! - `exact`: the definition, in f64.

mod butterfly;
mod cpu;
mod ends;
mod exact;
mod kernel;
mod samples;
mod schedule;
#[cfg(test)]
mod tests;
mod wgsl;

use super::batch::{BatchCall, Batched};
use super::case::Case;
use super::structured::{Apart, Exact, Listed, Structured};
use super::{Autocast, Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp};
use crate::calls::Methods;
use crate::dtype::Scalar;
use crate::error::Result;
use crate::host::HostBuffer;
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::Program;
use crate::shape::{Shape, product};

/// y\[k\] = s Σₙ x\[n\] e^(∓2πi nk/N) along `dim`; data\[0\] is the scale s.
///
/// The adjoint of each transform is another one with the other sign: of `Complex` itself, and of the other two each other. With
/// w = 1, 2, …, 2 (1 where N is even) for `doubled` spectra and w = 1 otherwise, they are
/// y\[k\] = w\[k\] s Σₙ x\[n\] e^(∓…) for k ≤ N/2, and x\[n\] = s Re Σ_{k ≤ N/2} w\[k\] y\[k\] e^(∓…).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Dft {
    pub kind: Kind,
    /// The exponent is positive.
    pub inverse: bool,
    pub dim: usize,
    /// N.
    pub length: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// (…, N, …, 2) → (…, N, …, 2).
    Complex,
    /// (…, N, …) → (…, N/2 + 1, …, 2); what is not stored is the conjugate of what is. `doubled` counts it in.
    ToSpectrum { doubled: bool },
    /// (…, N/2 + 1, …, 2) → (…, N, …). `doubled`: what is not stored counts as the conjugate of what is; otherwise as zero.
    ToReal { doubled: bool },
}

/// Lines of the transform: N numbers, `inner` apart, for each of `outer` blocks and of `inner` places in them.
#[derive(Debug, Clone, Copy)]
struct Lines {
    outer: usize,
    inner: usize,
}

impl Dft {
    /// Numbers of half a spectrum.
    fn half(&self) -> usize {
        self.length / 2 + 1
    }

    /// Numbers of a line before and after, each real or a pair.
    fn sizes(&self) -> (usize, usize) {
        match self.kind {
            Kind::Complex => (self.length, self.length),
            Kind::ToSpectrum { .. } => (self.length, self.half()),
            Kind::ToReal { .. } => (self.half(), self.length),
        }
    }

    /// Is its input, and is its result, made of pairs?
    fn pairs(&self) -> (bool, bool) {
        (!matches!(self.kind, Kind::ToSpectrum { .. }), !matches!(self.kind, Kind::ToReal { .. }))
    }

    fn lines(&self, input: &Shape) -> Lines {
        let dims = &input[..input.rank() - usize::from(self.pairs().0)];
        Lines { outer: product(&dims[..self.dim]), inner: product(&dims[self.dim + 1..]) }
    }

    /// The weight w of the k-th number of half a spectrum.
    fn weight(&self, k: usize) -> f64 {
        let (Kind::ToSpectrum { doubled } | Kind::ToReal { doubled }) = self.kind else { return 1.0 };
        if doubled && k > 0 && 2 * k < self.length { 2.0 } else { 1.0 }
    }

    fn output(&self, input: &Meta) -> Meta {
        let ((from_pairs, to_pairs), (_, size)) = (self.pairs(), self.sizes());
        let rank = input.shape.rank();
        let mut dims = input.shape[..rank - usize::from(from_pairs)].to_vec();
        dims[self.dim] = size;
        dims.extend(to_pairs.then_some(2));
        Meta::new(&dims[..], input.dtype)
    }

    /// What undoes it but for a factor, and what its gradient flows back through.
    fn adjoint(&self) -> Dft {
        let kind = match self.kind {
            Kind::Complex => Kind::Complex,
            Kind::ToSpectrum { doubled } => Kind::ToReal { doubled },
            Kind::ToReal { doubled } => Kind::ToSpectrum { doubled },
        };
        Dft { kind, inverse: !self.inverse, ..self.clone() }
    }
}

impl Kernels for Dft {
    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Complex => "fft",
            Kind::ToSpectrum { .. } => "rfft",
            Kind::ToReal { .. } => "irfft",
        }
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::Contiguous
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], data: &[Scalar]) -> Result<()> {
        let lines = self.lines(&inputs[0].meta.shape);
        let scale = data[0].to_f64();
        match (inputs[0].buffer, &mut outputs[0]) {
            (HostBuffer::F32(from), HostBuffer::F32(to)) => {
                cpu::transform(self, lines, from, to, scale as f32)
            }
            (HostBuffer::F64(from), HostBuffer::F64(to)) => cpu::transform(self, lines, from, to, scale),
            _ => unreachable!("a transform takes F32 or F64, to the same dtype"),
        }
        Ok(())
    }

    fn fills_outputs(&self) -> bool {
        true
    }

    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        let lines = self.lines(&call.inputs[0].meta.shape);
        match self.length * lines.outer * lines.inner {
            0 => Ok(Vec::new()),
            _ => wgsl::programs(self, lines, call),
        }
    }

    /// 5 N log₂ N for a line of complex numbers, as is the custom; half of it for real ones.
    fn flops(&self, call: &StructuredCall) -> u64 {
        let Lines { outer, inner } = self.lines(&call.inputs[0].meta.shape);
        let of_line = 5.0 * self.length as f64 * (self.length.max(1) as f64).log2();
        let of_line = if self.kind == Kind::Complex { of_line } else { of_line / 2.0 };
        (of_line * (outer * inner) as f64) as u64
    }
}

impl Structured for Dft {
    fn saves(&self) -> Saves {
        Saves::NOTHING
    }

    /// It is linear: its adjoint, with the same scale.
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        Ok(vec![Some(v.grad().dft(self.adjoint(), v.data[0].to_f64())?)])
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], data: &[Scalar]) -> Result<Vec<Exact>> {
        Ok(vec![exact::transform(self, &inputs[0], &outputs[0], data[0].to_f64())])
    }
}

impl Listed for Dft {
    const NAMES: &'static [&'static str] = &["fft", "rfft", "irfft"];
    const AUTOCAST: Autocast = Autocast::Full;

    fn samples() -> Vec<Case> {
        samples::samples()
    }

    fn batch(&self, call: &BatchCall) -> Result<Batched> {
        call.by_structured(StructuredOp::Dft(Apart::new(Dft { dim: self.dim + 1, ..self.clone() })))
    }
}

/// The methods of scripts have sizes and norms, which are of `crate::fft`.
impl Methods for Dft {}

impl Tensor {
    /// A transform of F32 or F64, whose sizes are those that it says.
    #[track_caller]
    pub(crate) fn dft(&self, op: Dft, scale: f64) -> Result<Tensor> {
        let meta = op.output(self.meta());
        let op = Op::Structured(StructuredOp::Dft(Apart::new(op)));
        Tensor::from_op_with(op, std::slice::from_ref(self), meta, &[Scalar::Float(scale)])
    }
}
