//! Convolution over one, two or three spatial dimensions, in its three directions.
//!
//! With x (N, G·C, I…), w (G·O, C, K…) and y (N, G·O, P…), for every image n, group g and position p:
//!
//! y\[n, g·O + o, p\] = Σ over c, k of x\[n, g·C + c, p·stride − padding + k·dilation\] · w\[g·O + o, c, k\]
//!
//! where x is zero outside of its sizes. The three directions are this map and its two adjoints; the derivative of each
//! is the other two, so gradients of any order are convolutions again. The sizes of the result are part of the op:
//! padding after the last element, and what a stride leaves over, follow from them.
//!
//! - `cpu`: columns of windows and matrix products; plain loops where a group has one channel, and `depthwise` forward;
//! - `wgsl`: the same products without the columns in memory: `large` where they fill the GPU, `phases` where they do
//!   and a stride leaves gaps, `narrow` where a group has a channel or a few, `units` on matrix units.

mod blocks;
mod compact;
mod cpu;
mod depthwise;
mod large;
mod methods;
mod narrow;
mod phases;
mod samples;
#[cfg(test)]
mod tests;
mod units;
mod wgsl;

use super::batch::{BatchCall, Batched, Sample, folded, unfolded};
use super::case::Case;
use super::structured::{Exact, Listed, Structured};
use super::{Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::host::{Block, HostBuffer};
use crate::ir::call::{CpuOperand, Kernels, Layout, OnUnits, StructuredCall};
use crate::ir::program::Program;
use crate::op::Autocast;
use crate::shader::fits_shader;
use crate::shape::{Shape, product};
use half::f16;
use smallvec::smallvec;
use std::sync::Arc;

/// Which of the three tensors is computed from the other two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Direction {
    /// (x, w) → y.
    Forward,
    /// (y, w) → x: the gradient of the input, and the transposed convolution.
    Input,
    /// (x, y) → w: the gradient of the weight.
    Weight,
}

/// A convolution. Depth, height and width; a convolution of fewer dimensions has neutral numbers in front.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Conv {
    pub direction: Direction,
    pub stride: [usize; 3],
    /// Zeros before the first element.
    pub padding: [usize; 3],
    pub dilation: [usize; 3],
    pub groups: usize,
    /// The spatial sizes of what is computed.
    pub result: [usize; 3],
}

/// All sizes of one convolution.
#[derive(Debug, Clone)]
struct Sizes {
    images: usize,
    groups: usize,
    /// Channels of x and y in each group.
    inputs: usize,
    outputs: usize,
    input: [usize; 3],
    kernel: [usize; 3],
    output: [usize; 3],
    stride: [usize; 3],
    padding: [usize; 3],
    dilation: [usize; 3],
}

/// The spatial sizes of a shape (N, C, …), with ones in front.
fn spatial(shape: &[usize]) -> [usize; 3] {
    let mut sizes = [1; 3];
    let given = &shape[2..];
    sizes[3 - given.len()..].copy_from_slice(given);
    sizes
}

impl Sizes {
    /// Elements of a channel of x, of y, and of a kernel.
    fn input_plane(&self) -> usize {
        product(self.input)
    }

    fn output_plane(&self) -> usize {
        product(self.output)
    }

    fn taps(&self) -> usize {
        product(self.kernel)
    }

    /// Visits every product of the definition: the offsets of its elements of x, w and y.
    fn each_product(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let (channels, features) = (self.groups * self.inputs, self.groups * self.outputs);
        let unravel = |at: usize, [_, height, width]: [usize; 3]| {
            [at / (height * width).max(1), at / width.max(1) % height.max(1), at % width.max(1)]
        };
        for n in 0..self.images {
            for feature in 0..features {
                let group = feature / self.outputs;
                for p in 0..self.output_plane() {
                    let y = (n * features + feature) * self.output_plane() + p;
                    let place = unravel(p, self.output);
                    for c in 0..self.inputs {
                        for tap in 0..self.taps() {
                            let k = unravel(tap, self.kernel);
                            let at = |d: usize| {
                                let at = place[d] * self.stride[d] + k[d] * self.dilation[d];
                                at.checked_sub(self.padding[d]).filter(|&at| at < self.input[d])
                            };
                            if let (Some(depth), Some(row), Some(column)) = (at(0), at(1), at(2)) {
                                let plane = n * channels + group * self.inputs + c;
                                let x = ((plane * self.input[0] + depth) * self.input[1] + row)
                                    * self.input[2]
                                    + column;
                                visit(x, (feature * self.inputs + c) * self.taps() + tap, y);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Are the columns of windows the input itself?
    fn is_pointwise(&self) -> bool {
        self.taps() == 1 && self.stride == [1; 3] && self.padding == [0; 3] && self.input == self.output
    }
}

impl Conv {
    /// The node: `shape` is that of the result.
    #[track_caller]
    pub fn apply(&self, a: &Tensor, b: &Tensor, shape: &Shape) -> Result<Tensor> {
        let op = Conv { result: spatial(shape), ..self.clone() };
        let op = Op::Structured(StructuredOp::Conv(Arc::new(op)));
        Tensor::from_op(op, &[a.clone(), b.clone()], Meta::new(shape, a.dtype()))
    }

    /// The sizes, from those of the operands.
    fn sizes(&self, a: &[usize], b: &[usize]) -> Sizes {
        let groups = self.groups;
        let (inputs, outputs, [input, kernel, output]) = match self.direction {
            Direction::Forward => (b[1], b[0] / groups, [spatial(a), spatial(b), self.result]),
            Direction::Input => (b[1], b[0] / groups, [self.result, spatial(b), spatial(a)]),
            Direction::Weight => (a[1] / groups, b[1] / groups, [spatial(a), self.result, spatial(b)]),
        };
        let (stride, padding, dilation) = (self.stride, self.padding, self.dilation);
        Sizes { images: a[0], groups, inputs, outputs, input, kernel, output, stride, padding, dilation }
    }

    fn compute<T: cpu::Real>(&self, inputs: &[CpuOperand], a: &[T], b: &[T], result: &mut [T]) {
        let sizes = self.sizes(&inputs[0].meta.shape, &inputs[1].meta.shape);
        cpu::convolve(self.direction, &sizes, a, b, result);
    }
}

impl Kernels for Conv {
    fn name(&self) -> &'static str {
        match self.direction {
            Direction::Forward => "conv",
            Direction::Input => "conv_transpose",
            Direction::Weight => "conv_weight",
        }
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::Contiguous
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], _: &[Scalar]) -> Result<()> {
        match (inputs[0].buffer, inputs[1].buffer, &mut outputs[0]) {
            (HostBuffer::F32(a), HostBuffer::F32(b), HostBuffer::F32(c)) => self.compute(inputs, a, b, c),
            (HostBuffer::F64(a), HostBuffer::F64(b), HostBuffer::F64(c)) => self.compute(inputs, a, b, c),
            (HostBuffer::F16(a), HostBuffer::F16(b), HostBuffer::F16(c)) => {
                let wide = |values: &[f16]| values.iter().map(|x| x.to_f32()).collect::<Vec<f32>>();
                let mut result = vec![0f32; c.len()];
                self.compute(inputs, &wide(a), &wide(b), &mut result);
                c.iter_mut().zip(result).for_each(|(c, x)| *c = f16::from_f32(x));
            }
            _ => unreachable!("a convolution's operands have one float dtype"),
        }
        Ok(())
    }

    fn takes_epilogue(&self) -> bool {
        true
    }

    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        self.shaders(call, wgsl::programs)
    }

    fn wgsl_without_barriers(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        self.shaders(call, wgsl::programs_without_barriers)
    }

    fn on_units(&self, call: &StructuredCall) -> Option<OnUnits> {
        let sizes = self.sizes(&call.inputs[0].meta.shape, &call.inputs[1].meta.shape);
        let result = &call.outputs[0].1;
        let multiplies = result.numel() > 0 && matches!(result.dtype, DType::F16 | DType::F32);
        multiplies.then(|| wgsl::on_units(self.direction, &sizes, call))
    }

    /// Every direction multiplies each element of y with each weight of its feature.
    fn flops(&self, call: &StructuredCall) -> u64 {
        let input = |input: usize| &call.inputs[input].meta;
        let (y, weight) = match self.direction {
            Direction::Forward => (&call.outputs[0].1, input(1)),
            Direction::Input => (input(0), input(1)),
            Direction::Weight => (input(1), &call.outputs[0].1),
        };
        product([2, y.numel(), product(&weight.shape[1..])]) as u64
    }
}

impl Conv {
    /// The shaders of a call, if a shader can reckon with its sizes.
    fn shaders(
        &self,
        call: &StructuredCall,
        programs: fn(Direction, &Sizes, &StructuredCall) -> Vec<Program>,
    ) -> Result<Vec<Program>> {
        if call.outputs[0].1.numel() == 0 {
            return Ok(Vec::new());
        }
        let sizes = self.sizes(&call.inputs[0].meta.shape, &call.inputs[1].meta.shape);
        for d in 0..3 {
            let last = product([sizes.output[d].saturating_sub(1), sizes.stride[d]]);
            let taps = product([sizes.kernel[d], sizes.dilation[d]]);
            let reach = last.saturating_add(taps).saturating_add(sizes.padding[d]);
            fits_shader(self.name(), "the windows' reach", reach)?;
        }
        Ok(programs(self.direction, &sizes, call))
    }
}

impl Structured for Conv {
    fn saves(&self) -> Saves {
        Saves::inputs(0b11)
    }

    /// Each direction is linear in both operands; the adjoints are the other two directions.
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let (g, a, b) = (v.grad(), v.input(0), v.input(1));
        let gradient = |needed: bool, direction, left: &Tensor, right: &Tensor, like: &Tensor| {
            let op = Conv { direction, ..self.clone() };
            needed.then(|| op.apply(left, right, like.shape())).transpose()
        };
        let [first, second] = match self.direction {
            Direction::Forward => [
                gradient(v.needs[0], Direction::Input, g, b, a)?,
                gradient(v.needs[1], Direction::Weight, a, g, b)?,
            ],
            Direction::Input => [
                gradient(v.needs[0], Direction::Forward, g, b, a)?,
                gradient(v.needs[1], Direction::Weight, g, a, b)?,
            ],
            Direction::Weight => [
                gradient(v.needs[0], Direction::Input, b, g, a)?,
                gradient(v.needs[1], Direction::Forward, a, g, b)?,
            ],
        };
        Ok(vec![first, second])
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let Meta { shape, dtype } = outputs[0].clone();
        let sizes = self.sizes(&inputs[0].shape, &inputs[1].shape);
        let (Block::F64(a), Block::F64(b)) = (&inputs[0].values, &inputs[1].values) else {
            unreachable!("convolutions are of floats")
        };
        let mut result = vec![0.0; shape.numel()];
        sizes.each_product(|x, w, y| match self.direction {
            Direction::Forward => result[y] += a[x] * b[w],
            Direction::Input => result[x] += a[y] * b[w],
            Direction::Weight => result[w] += a[x] * b[y],
        });
        Ok(vec![Exact { shape, dtype, values: Block::F64(result.into()) }])
    }
}

impl Listed for Conv {
    const NAMES: &'static [&'static str] = &["conv", "conv_transpose", "conv_weight"];
    const AUTOCAST: Autocast = Autocast::Lower;
    const HEEDS_PRECISION: bool = true;

    fn samples() -> Vec<Case> {
        samples::samples()
    }

    /// With one weight for all samples their images are those of one convolution; else every sample has groups of its own.
    fn batch(&self, call: &BatchCall) -> Result<Batched> {
        let (samples, meta) = (call.size, &call.outputs[0]);
        if samples == 0 {
            return call.one_by_one();
        }
        if let (Direction::Forward | Direction::Input, Sample::Same(weight)) =
            (self.direction, &call.inputs[1])
        {
            let shape = meta.shape.with(0, samples * meta.shape[0]);
            let images = self.apply(&folded(&call.each(0)?)?, weight, &shape)?;
            return Ok(smallvec![unfolded(&images, samples, meta)?]);
        }
        let grouped = Conv { groups: samples * self.groups, ..self.clone() };
        // (S, N, C, …) to (N, S·C, …), and back.
        let side_by_side = |x: &Tensor| {
            let sizes = x.shape().dims();
            let shape = [sizes[1], sizes[0] * sizes[2]].into_iter().chain(sizes[3..].iter().copied());
            x.try_transpose(0, 1)?.try_reshape(Shape::from_iter(shape))
        };
        let (a, b) = (side_by_side(&call.each(0)?)?, call.each(1)?);
        let result = match self.direction {
            Direction::Forward | Direction::Input => {
                let shape = meta.shape.with(1, samples * meta.shape[1]);
                let result = grouped.apply(&a, &folded(&b)?, &shape)?;
                result.try_reshape(meta.shape.inserted(1, samples))?.try_transpose(0, 1)?
            }
            Direction::Weight => {
                let shape = meta.shape.with(0, samples * meta.shape[0]);
                unfolded(&grouped.apply(&a, &side_by_side(&b)?, &shape)?, samples, meta)?
            }
        };
        Ok(smallvec![result])
    }
}
