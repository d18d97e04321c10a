//! Scans: running sums and products along one dimension, in either direction. `cpu` and `wgsl` have the kernels.

#[cfg(not(target_arch = "wasm32"))]
mod cpu;
mod wgsl;

use super::batch::{BatchCall, Batched};
use super::case::{Along, Case, along_rows};
use super::structured::{Exact, Listed, Structured};
use super::{Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp, twins};
use crate::calls::methods;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::{Block, HostBuffer};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::Program;
use crate::op::Autocast;
use crate::shape::{Shape, product};
#[cfg(not(target_arch = "wasm32"))]
use cpu::Step;
use half::f16;

/// What is done with the values so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ScanKind {
    Sum,
    Prod,
}

/// out\[k\] = x\[0\] ∘ … ∘ x\[k\] along `dim`; reversed, out\[k\] = x\[k\] ∘ … ∘ x\[N−1\].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Scan {
    pub dim: usize,
    pub kind: ScanKind,
    pub reverse: bool,
}

/// Row r, of `rows`, starts at (r / inner) · length · inner + r % inner, and its elements lie `inner` apart.
struct Rows {
    rows: usize,
    length: usize,
    inner: usize,
}

impl Scan {
    fn rows(&self, shape: &Shape) -> Rows {
        let outer = product(&shape[..self.dim]);
        let inner = product(&shape[self.dim + 1..]);
        Rows { rows: outer * inner, length: shape[self.dim], inner }
    }

    /// Goes along every row: `combine` takes the value so far and the next element, `store` what is kept of it.
    fn run<T: Copy, A: Copy, R>(
        &self,
        shape: &Shape,
        (from, to): (&[T], &mut [R]),
        identity: A,
        combine: impl Fn(A, T) -> A,
        store: impl Fn(A) -> R,
    ) {
        let Rows { rows, length, inner } = self.rows(shape);
        for row in 0..rows {
            let start = (row / inner) * length * inner + row % inner;
            let mut so_far = identity;
            for k in 0..length {
                let position = if self.reverse { length - 1 - k } else { k };
                let at = start + position * inner;
                so_far = combine(so_far, from[at]);
                to[at] = store(so_far);
            }
        }
    }

    /// E\[i, k\] = x\[k\], but 1 where i = k; the products along k leave out the i-th factor. Where k comes before i the
    /// i-th factor is not in the product, and the gradient is zero. No division: zeros among the factors are right.
    fn prod_vjp(&self, g: &Tensor, x: &Tensor) -> Result<Tensor> {
        let dim = self.dim;
        let square = x.shape().inserted(dim, x.shape()[dim]);
        let expand = |x: &Tensor| x.try_unsqueeze(dim as isize)?.try_expand(&square);
        let (i, k) = (x.iota_of(&square, dim)?, x.iota_of(&square, dim + 1)?);
        let all = expand(x)?;
        let others = i.try_eq(&k)?.try_where_cond(all.ones_like(), &all)?;
        let products = others.scanned(dim + 1, self.kind, self.reverse)?;
        let absent = if self.reverse { k.try_gt(&i)? } else { i.try_gt(&k)? };
        let terms = expand(g)?.try_mul(&products)?;
        absent.try_where_cond(terms.zeros_like(), &terms)?.try_sum(dim as isize + 1)
    }
}

impl Kernels for Scan {
    fn name(&self) -> &'static str {
        match self.kind {
            ScanKind::Sum => "cumsum",
            ScanKind::Prod => "cumprod",
        }
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::Contiguous
    }

    /// Floats gather in f64, as PyTorch's do on the CPU.
    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], _: &[Scalar]) -> Result<()> {
        let shape = &inputs[0].meta.shape;
        #[cfg(not(target_arch = "wasm32"))]
        macro_rules! scan {
            ($x:expr, $y:expr, $identity:expr, $combine:expr, $store:expr) => {
                Step { identity: $identity, combine: $combine, store: $store }.run(
                    &self.rows(shape),
                    self.reverse,
                    $x,
                    $y,
                )
            };
        }
        #[cfg(target_arch = "wasm32")]
        macro_rules! scan {
            ($x:expr, $y:expr, $identity:expr, $combine:expr, $store:expr) => {
                self.run(shape, ($x, $y), $identity, $combine, $store)
            };
        }
        macro_rules! float {
            ($x:expr, $y:expr, $wide:expr, $narrow:expr) => {
                match self.kind {
                    ScanKind::Sum => scan!($x, $y, 0.0, |a: f64, x| a + $wide(x), $narrow),
                    ScanKind::Prod => scan!($x, $y, 1.0, |a: f64, x| a * $wide(x), $narrow),
                }
            };
        }
        macro_rules! int {
            ($x:expr, $y:expr, $t:ty) => {
                match self.kind {
                    ScanKind::Sum => scan!($x, $y, 0, <$t>::wrapping_add, |a| a),
                    ScanKind::Prod => scan!($x, $y, 1, <$t>::wrapping_mul, |a| a),
                }
            };
        }
        match (inputs[0].buffer, &mut outputs[0]) {
            (HostBuffer::F16(x), HostBuffer::F16(y)) => float!(x, y, f16::to_f64, f16::from_f64),
            (HostBuffer::F32(x), HostBuffer::F32(y)) => float!(x, y, f64::from, |sum| sum as f32),
            (HostBuffer::F64(x), HostBuffer::F64(y)) => float!(x, y, f64::from, f64::from),
            (HostBuffer::I32(x), HostBuffer::I32(y)) => int!(x, y, i32),
            (HostBuffer::U32(x), HostBuffer::U32(y)) => int!(x, y, u32),
            (HostBuffer::I64(x), HostBuffer::I64(y)) => int!(x, y, i64),
            _ => unreachable!("a scan takes numbers of 16 bits and more, to the same dtype"),
        }
        Ok(())
    }

    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        let meta = &call.inputs[0].meta;
        if meta.numel() == 0 {
            return Ok(Vec::new());
        }
        let Rows { rows, length, inner } = self.rows(&meta.shape);
        let many_side_by_side = inner >= 64 && rows >= 1024;
        Ok(match length <= 64 || many_side_by_side {
            true => vec![self.by_thread(meta)],
            false if self.is_for_parts(meta) => self.by_parts(meta),
            false => vec![self.by_workgroup(meta)],
        })
    }
}

impl Structured for Scan {
    fn saves(&self) -> Saves {
        match self.kind {
            ScanKind::Sum => Saves::NOTHING,
            ScanKind::Prod => Saves::inputs(1),
        }
    }

    /// Sum: the gradients summed the other way round. Product: see `prod_vjp`.
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let gradient = match self.kind {
            ScanKind::Sum => v.grad().scanned(self.dim, ScanKind::Sum, !self.reverse)?,
            ScanKind::Prod => self.prod_vjp(v.grad(), v.input(0))?,
        };
        Ok(vec![Some(gradient)])
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let Meta { shape, dtype } = outputs[0].clone();
        let mut values = inputs[0].values.clone();
        match (&inputs[0].values, &mut values, self.kind) {
            (Block::F64(x), Block::F64(y), ScanKind::Sum) => {
                self.run(&shape, (x, y), 0.0, |a, x| a + x, |a| a);
            }
            (Block::F64(x), Block::F64(y), ScanKind::Prod) => {
                self.run(&shape, (x, y), 1.0, |a, x| a * x, |a| a);
            }
            (Block::I64(x), Block::I64(y), ScanKind::Sum) => {
                self.run(&shape, (x, y), 0, i64::wrapping_add, |a| a);
            }
            (Block::I64(x), Block::I64(y), ScanKind::Prod) => {
                self.run(&shape, (x, y), 1, i64::wrapping_mul, |a| a);
            }
            other => unreachable!("a scan of {other:?}"),
        }
        crate::reference::wrap(dtype, &mut values);
        Ok(vec![Exact { shape, dtype, values }])
    }
}

impl Listed for Scan {
    const NAMES: &'static [&'static str] = &["cumsum", "cumprod"];
    const AUTOCAST: Autocast = Autocast::Full;

    fn samples() -> Vec<Case> {
        // Products of more numbers leave the range of f32 or need numbers near 1.
        let ops: [(&str, Along, &[usize]); 3] = [
            ("cumsum", |x, dim| x.try_cumsum(dim), &[64, 257, 1030]),
            ("cumprod", |x, dim| x.try_cumprod(dim), &[]),
            // The derivative of the running sum.
            ("reversed cumsum", |x, dim| x.accumulated("cumsum", ScanKind::Sum, dim, true), &[64, 257, 1030]),
        ];
        ops.into_iter().flat_map(|(name, op, lengths)| along_rows(name, op, lengths)).collect()
    }

    fn batch(&self, call: &BatchCall) -> Result<Batched> {
        call.by_structured(StructuredOp::Scan(Scan { dim: self.dim + 1, ..self.clone() }))
    }
}

methods! { Scan:
    cumsum(x: Tensor, dim: isize) -> Tensor { x.try_cumsum(dim) }
    cumprod(x: Tensor, dim: isize) -> Tensor { x.try_cumprod(dim) }
}

impl Tensor {
    /// The scan of numbers of 16 bits and more.
    #[track_caller]
    pub(crate) fn scanned(&self, dim: usize, kind: ScanKind, reverse: bool) -> Result<Tensor> {
        let op = Op::Structured(StructuredOp::Scan(Scan { dim, kind, reverse }));
        Tensor::from_op(op, std::slice::from_ref(self), self.meta().clone())
    }

    /// A scan along a dimension of any dtype: booleans and bytes are taken as I32, a tensor without dimensions
    /// is its own scan.
    #[track_caller]
    fn accumulated(&self, op: &'static str, kind: ScanKind, dim: isize, reverse: bool) -> Result<Tensor> {
        let entered = Scan::AUTOCAST.enter([self])?;
        let [x] = entered.inputs([self]);
        let numbers = match x.dtype() {
            DType::Bool | DType::U8 => x.try_to_dtype(DType::I32)?,
            _ => x.clone(),
        };
        if self.rank() == 0 && (dim == 0 || dim == -1) {
            return Ok(numbers);
        }
        numbers.scanned(self.shape().dim(op, dim)?, kind, reverse)
    }

    twins! {
        /// The running sum along `dim`: out\[k\] = x\[0\] + … + x\[k\]. Booleans and bytes are summed as I32.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &Device::cpu());
        /// assert_eq!(x.cumsum(1).to_string(), "tensor([[ 1.,  3.,  6.],\n        [ 4.,  9., 15.]])");
        /// ```
        cumsum / try_cumsum(&self, dim: isize) -> Tensor {
            self.accumulated("cumsum", ScanKind::Sum, dim, false)
        }

        /// The running product along `dim`: out\[k\] = x\[0\] · … · x\[k\]. Booleans and bytes are multiplied as I32.
        ///
        /// The gradient, ∂L/∂x\[i\] = Σ\_{k≥i} g\[k\] · Π\_{j≤k, j≠i} x\[j\], is right also where elements are zero; it takes
        /// N² numbers for a row of N.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::new([1.0, 2.0, 3.0, 4.0], &Device::cpu());
        /// assert_eq!(x.cumprod(0).to_string(), "tensor([ 1.,  2.,  6., 24.])");
        /// ```
        cumprod / try_cumprod(&self, dim: isize) -> Tensor {
            self.accumulated("cumprod", ScanKind::Prod, dim, false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::testing::{call, validate};

    #[test]
    fn shaders_are_valid() {
        for dtype in [DType::I32, DType::U32, DType::F16, DType::F32] {
            for (shape, dim) in [
                (&[7][..], 0),
                (&[3, 5000, 2], 1),
                (&[70_000, 3], 1),
                (&[66_000, 65], 1),
                (&[9, 70, 2000], 1),
            ] {
                for (kind, reverse) in [(ScanKind::Sum, true), (ScanKind::Prod, false)] {
                    let op = StructuredOp::Scan(Scan { dim, kind, reverse });
                    let programs = validate(&call(op, &[(shape, dtype)], &[(shape, dtype)]));
                    assert_eq!(programs.len(), 1);
                }
            }
        }
    }
}
