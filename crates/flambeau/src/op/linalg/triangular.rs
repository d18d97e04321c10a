//! Systems of equations whose matrix is triangular.

use super::cpu::{Element, each, typed};
use super::{Sizes, exact, exact_of, numbers, samples, transposed, wgsl};
use crate::calls::Methods;
use crate::dtype::Scalar;
use crate::error::Result;
use crate::host::{Disjoint, HostBuffer};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::Program;
use crate::op::case::Case;
use crate::op::structured::{Apart, Exact, Listed, Structured};
use crate::op::{Autocast, Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp};
use flambeau_decompose::Triangle;

/// (…, n, n) and (…, n, k) → (…, n, k): X with T X = B, where T is a triangle of the first operand. A zero on its diagonal gives
/// numbers that are not finite.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Triangular {
    pub upper: bool,
    /// The diagonal counts as ones.
    pub unit: bool,
}

impl Triangular {
    fn run<T: Element>(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer]) -> Result<()> {
        let Sizes { batch, rows: n, columns: k } = Sizes::of(&inputs[1].meta.shape);
        let (triangles, to) = (T::read(inputs[0].buffer), T::write(&mut outputs[0]));
        to.copy_from_slice(T::read(inputs[1].buffer));
        let (to, shape) = (Disjoint::new(to), Triangle { upper: self.upper, unit: self.unit });
        each(batch, n * n * k / 2, |number, threads| {
            // Safety: each matrix is visited once.
            let b = unsafe { to.slice(number * n * k..(number + 1) * n * k) };
            T::solve_triangular(n, k, &triangles[number * n * n..(number + 1) * n * n], b, shape, threads);
            Ok(())
        })
    }
}

impl Kernels for Triangular {
    fn name(&self) -> &'static str {
        "solve_triangular"
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::Contiguous
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], _: &[Scalar]) -> Result<()> {
        typed!(self, inputs, outputs)
    }

    fn fills_outputs(&self) -> bool {
        true
    }

    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        wgsl::triangular::programs(self, Sizes::of(&call.inputs[1].meta.shape), call)
    }

    /// n² k.
    fn flops(&self, call: &StructuredCall) -> u64 {
        let sizes = Sizes::of(&call.inputs[1].meta.shape);
        (sizes.numel() * sizes.rows) as u64
    }
}

impl Structured for Triangular {
    fn saves(&self) -> Saves {
        Saves { outputs: true, ..Saves::inputs(1) }
    }

    /// Of B: T⁻ᵀ g. Of T: the triangle of −(T⁻ᵀ g) Xᵀ.
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let of_b = transposed(v.input(0))?.triangular(v.grad(), !self.upper, self.unit)?;
        let mut of_t = None;
        if v.needs[0] {
            let all = of_b.try_matmul(&transposed(v.output())?)?;
            let inside = i64::from(self.unit);
            of_t = Some(-match self.upper {
                true => all.try_triu(inside)?,
                false => all.try_tril(-inside)?,
            });
        }
        Ok(vec![of_t, Some(of_b)])
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let Sizes { batch, rows: n, columns: k } = Sizes::of(&inputs[1].shape);
        let mut all = Vec::new();
        for number in 0..batch {
            let t = &numbers(&inputs[0])[number * n * n..(number + 1) * n * n];
            let b = &numbers(&inputs[1])[number * n * k..(number + 1) * n * k];
            all.extend(exact::solve_triangular(n, k, t, b, self.upper, self.unit));
        }
        Ok(vec![exact_of(&outputs[0], all)])
    }
}

impl Listed for Triangular {
    const NAMES: &'static [&'static str] = &["solve_triangular"];
    const AUTOCAST: Autocast = Autocast::Full;

    fn samples() -> Vec<Case> {
        samples::triangular()
    }
}

impl Methods for Triangular {}

impl Tensor {
    /// X with T X = B, of F32 or F64 matrices whose batch dimensions are equal; T is a triangle of `self`.
    #[track_caller]
    pub(crate) fn triangular(&self, b: &Tensor, upper: bool, unit: bool) -> Result<Tensor> {
        let op = Op::Structured(StructuredOp::Triangular(Apart::new(Triangular { upper, unit })));
        Tensor::from_op(op, &[self.clone(), b.clone()], b.meta().clone())
    }
}
