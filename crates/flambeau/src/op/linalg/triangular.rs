//! Systems of equations whose matrix is triangular.

use super::cpu::{Element, each};
use super::{Decomposition, Sizes, exact, exact_of_each, samples, transposed, wgsl};
use crate::dtype::Scalar;
use crate::error::Result;
use crate::host::HostBuffer;
use crate::ir::call::{CpuOperand, StructuredCall};
use crate::ir::program::Program;
use crate::op::case::Case;
use crate::op::structured::{Apart, Exact, Structured};
use crate::op::{Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp};
use flambeau_decompose::Triangle;

/// (…, n, n) and (…, n, k) → (…, n, k): X with T X = B, where T is a triangle of the first operand. A zero on its diagonal gives
/// numbers that are not finite.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Triangular {
    pub upper: bool,
    /// The diagonal counts as ones.
    pub unit: bool,
}

impl Decomposition for Triangular {
    const NAME: &'static str = "solve_triangular";
    const SIZED_BY: usize = 1;

    fn run<T: Element>(&self, sizes: Sizes, inputs: &[CpuOperand], outputs: &mut [HostBuffer]) -> Result<()> {
        let Sizes { batch, rows: n, columns: k } = sizes;
        let (triangles, x) = (T::read(inputs[0].buffer), T::write(&mut outputs[0]));
        x.copy_from_slice(T::read(inputs[1].buffer));
        let shape = Triangle { upper: self.upper, unit: self.unit };
        each(batch, n * n * k / 2, [x], |number, [x], threads| {
            T::solve_triangular(n, k, &triangles[number * n * n..(number + 1) * n * n], x, shape, threads);
            Ok(())
        })
    }

    fn programs(&self, sizes: Sizes, call: &StructuredCall) -> Result<Vec<Program>> {
        wgsl::triangular::programs(self, sizes, call)
    }

    /// n² k.
    fn operations(&self, sizes: Sizes) -> usize {
        sizes.numel() * sizes.rows
    }

    fn samples() -> Vec<Case> {
        samples::triangular()
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
        let Sizes { rows: n, columns: k, .. } = Sizes::of(&inputs[1].shape);
        exact_of_each(inputs, outputs, |_, operands| {
            Ok([exact::solve_triangular(n, k, operands[0], operands[1], self.upper, self.unit)])
        })
    }
}

impl Tensor {
    /// X with T X = B, of F32 or F64 matrices whose batch dimensions are equal; T is a triangle of `self`.
    #[track_caller]
    pub(crate) fn triangular(&self, b: &Tensor, upper: bool, unit: bool) -> Result<Tensor> {
        let op = Op::Structured(StructuredOp::Triangular(Apart::new(Triangular { upper, unit })));
        Tensor::from_op(op, &[self.clone(), b.clone()], b.meta().clone())
    }
}
