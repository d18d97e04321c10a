//! Pooling: the maximum or the mean of every window over the last one, two or three dimensions, and their adjoints.
//!
//! - `cpu`: channels on different cores, windows row by row;
//! - `wgsl`: a thread per result; going back, an element looks at the windows that contain it, so nothing is added to
//!   memory twice and no atomics are needed.

mod cpu;
mod methods;
mod samples;
mod wgsl;

use super::batch::{BatchCall, Batched};
use super::case::Case;
use super::structured::{Exact, Listed, Structured};
use super::{Grads, Meta, Op, Saves, StructuredOp, Tensor, Vjp};
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::host::{Block, HostBuffer};
use crate::ir::call::{CpuOperand, Kernels, Layout, StructuredCall};
use crate::ir::program::Program;
use crate::shader::fits_shader;
use crate::shape::{Shape, product};
use half::f16;
use smallvec::smallvec;
use std::sync::Arc;

/// The windows along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Window {
    /// Window o has the elements o·stride − padding + k·dilation, k < kernel, as far as there are such.
    Sliding { kernel: usize, stride: usize, padding: usize, dilation: usize },
    /// Window o has the elements from ⌊o·input / output⌋ to before ⌈(o + 1)·input / output⌉.
    Adaptive,
}

impl Window {
    /// A dimension of size 1 that is only formal.
    pub const FORMAL: Window = Window::Sliding { kernel: 1, stride: 1, padding: 0, dilation: 1 };
}

/// What the sum of a window is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Divisor {
    /// The size of the window, padding included.
    WithPadding,
    /// The number of its elements.
    Present,
    /// This.
    Given(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PoolKind {
    /// x → the largest element of every window, and its place in the channel (I32). The first of equal ones counts;
    /// NaN is larger than everything.
    Max,
    /// (g, places) → every g at its place, those of one place added.
    MaxBackward,
    /// x → the sum of every window, divided.
    Mean(Divisor),
    /// g → every g, divided, at all places of its window, those of one place added.
    MeanBackward(Divisor),
}

/// Pooling over depth, height and width, the last three dimensions; fewer have formal ones in front.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pool {
    pub kind: PoolKind,
    pub windows: [Window; 3],
    pub input: [usize; 3],
    pub output: [usize; 3],
    /// How many of the dimensions there are.
    pub rank: usize,
}

/// The elements of one window along one dimension: start, start + step, … before end.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    step: usize,
    /// Its share of the divisor.
    size: usize,
}

impl Span {
    fn count(&self) -> usize {
        self.end.saturating_sub(self.start).div_ceil(self.step)
    }

    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(usize)) {
        let mut at = self.start;
        while at < self.end {
            visit(at);
            at += self.step;
        }
    }
}

impl Pool {
    /// The node of the maxima: values and places.
    #[track_caller]
    pub fn max(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        if i32::try_from(self.input_plane()).is_err() {
            let message = format!("places in the channels of {} do not fit into i32", x.shape());
            return Err(Error::shape(self.name(), message));
        }
        let shape = self.shape_of(x.shape(), self.output);
        let outputs = smallvec![Meta::new(&shape, x.dtype()), Meta::new(&shape, DType::I32)];
        let op = Op::Structured(StructuredOp::Pool(Arc::new(self.clone())));
        let mut outputs = Tensor::from_op_multi(op, &[x], outputs, &[])?.into_iter();
        match (outputs.next(), outputs.next()) {
            (Some(values), Some(places)) => Ok((values, places)),
            _ => unreachable!("the op has two outputs"),
        }
    }

    /// The node of another kind with one output: of the output's size, or of the input's.
    #[track_caller]
    pub fn apply(&self, kind: PoolKind, operands: &[Tensor]) -> Result<Tensor> {
        let sizes = match kind {
            PoolKind::Max | PoolKind::Mean(_) => self.output,
            PoolKind::MaxBackward | PoolKind::MeanBackward(_) => self.input,
        };
        let meta = Meta::new(self.shape_of(operands[0].shape(), sizes), operands[0].dtype());
        let op = Op::Structured(StructuredOp::Pool(Arc::new(Pool { kind, ..self.clone() })));
        Tensor::from_op(op, operands, meta)
    }

    fn shape_of(&self, shape: &Shape, sizes: [usize; 3]) -> Shape {
        let leading = &shape[..shape.rank() - self.rank];
        leading.iter().chain(&sizes[3 - self.rank..]).copied().collect()
    }

    fn input_plane(&self) -> usize {
        product(self.input)
    }

    fn output_plane(&self) -> usize {
        product(self.output)
    }

    /// Window `o` along dimension `d`.
    fn span(&self, d: usize, o: usize) -> Span {
        let (input, output) = (self.input[d], self.output[d]);
        match self.windows[d] {
            Window::Adaptive => {
                let share = |o: usize| (o as u128 * input as u128, output as u128);
                let ((before, parts), (past, _)) = (share(o), share(o + 1));
                let (start, end) = ((before / parts) as usize, past.div_ceil(parts) as usize);
                Span { start, end, step: 1, size: end - start }
            }
            Window::Sliding { kernel, stride, padding, dilation } => {
                let (first, past) = (o * stride, o * stride + (kernel - 1) * dilation + 1);
                let skipped = padding.saturating_sub(first).div_ceil(dilation) * dilation;
                let start = (first + skipped).saturating_sub(padding);
                let end = past.saturating_sub(padding).min(input);
                let size = match self.kind {
                    PoolKind::Mean(Divisor::WithPadding) | PoolKind::MeanBackward(Divisor::WithPadding) => {
                        (first + kernel).min(input + 2 * padding).saturating_sub(first)
                    }
                    _ => end.saturating_sub(start),
                };
                Span { start, end, step: dilation, size }
            }
        }
    }

    /// The windows along each dimension.
    fn spans(&self) -> [Vec<Span>; 3] {
        std::array::from_fn(|d| (0..self.output[d]).map(|o| self.span(d, o)).collect())
    }

    /// Does some window have no element at all? Only one that starts before the input can step over all of it, and only
    /// with steps that are larger.
    pub fn has_empty_window(&self) -> bool {
        (0..3).any(|d| match self.windows[d] {
            Window::Sliding { stride, padding, dilation, .. } if dilation > self.input[d] => {
                let early = padding.div_ceil(stride).min(self.output[d]);
                (0..early).map(|o| self.span(d, o)).any(|span| span.start >= span.end)
            }
            _ => false,
        })
    }

    /// What the sums of a window are divided by, given its spans.
    fn divisor(&self, spans: [Span; 3]) -> usize {
        match self.kind {
            PoolKind::Mean(Divisor::Given(divisor)) | PoolKind::MeanBackward(Divisor::Given(divisor)) => {
                divisor
            }
            _ => product(spans.map(|span| span.size)),
        }
    }

    /// Visits the windows of a channel, in order: their number and spans.
    fn each_window(
        &self,
        [depths, heights, widths]: &[Vec<Span>; 3],
        mut visit: impl FnMut(usize, [Span; 3]),
    ) {
        let mut number = 0;
        for &depth in depths {
            for &height in heights {
                for &width in widths {
                    visit(number, [depth, height, width]);
                    number += 1;
                }
            }
        }
    }

    /// Visits the elements of a window, in order: their places in the channel.
    fn each_place(&self, [depth, height, width]: [Span; 3], mut visit: impl FnMut(usize)) {
        depth.each(|d| {
            height.each(|h| {
                let row = (d * self.input[1] + h) * self.input[2];
                width.each(|w| visit(row + w));
            });
        });
    }
}

impl Kernels for Pool {
    fn name(&self) -> &'static str {
        match self.kind {
            PoolKind::Max => "max_pool",
            PoolKind::MaxBackward => "max_pool_backward",
            PoolKind::Mean(_) => "avg_pool",
            PoolKind::MeanBackward(_) => "avg_pool_backward",
        }
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::Contiguous
    }

    fn cpu(&self, inputs: &[CpuOperand], outputs: &mut [HostBuffer], _: &[Scalar]) -> Result<()> {
        let places = match self.kind {
            PoolKind::MaxBackward => inputs[1].buffer.slice::<i32>(),
            _ => None,
        };
        let (first, rest) = outputs.split_at_mut(1);
        let found = rest.first_mut().and_then(|places| places.slice_mut::<i32>());
        match (inputs[0].buffer, &mut first[0]) {
            (HostBuffer::F32(from), HostBuffer::F32(to)) => cpu::pool(self, from, places, to, found),
            (HostBuffer::F64(from), HostBuffer::F64(to)) => cpu::pool(self, from, places, to, found),
            (HostBuffer::F16(from), HostBuffer::F16(to)) => {
                let wide: Vec<f32> = from.iter().map(|x| x.to_f32()).collect();
                let mut result = vec![0f32; to.len()];
                cpu::pool(self, &wide, places, &mut result, found);
                to.iter_mut().zip(result).for_each(|(to, x)| *to = f16::from_f32(x));
            }
            _ => unreachable!("pooling is of floats, to the same dtype"),
        }
        Ok(())
    }

    fn takes_epilogue(&self) -> bool {
        true
    }

    /// A comparison or an addition for each element of each window, and the division of a mean; where gradients go back to one
    /// place each, an addition for each of them.
    fn flops(&self, call: &StructuredCall) -> u64 {
        let windows = match self.kind {
            PoolKind::Max | PoolKind::Mean(_) => &call.outputs[0].1,
            PoolKind::MaxBackward | PoolKind::MeanBackward(_) => &call.inputs[0].meta,
        };
        let count = windows.numel() as u64;
        if count == 0 {
            return 0;
        }
        let along = |d: usize| (0..self.output[d]).map(|o| self.span(d, o).count()).sum();
        let channels = windows.numel() / self.output_plane();
        let visited = product([channels, along(0), along(1), along(2)]) as u64;
        match self.kind {
            PoolKind::Max => visited,
            PoolKind::MaxBackward => count,
            PoolKind::Mean(_) | PoolKind::MeanBackward(_) => visited.saturating_add(count),
        }
    }

    fn wgsl(&self, call: &StructuredCall) -> Result<Vec<Program>> {
        if call.outputs[0].1.numel() == 0 {
            return Ok(Vec::new());
        }
        for d in 0..3 {
            let reach = match self.windows[d] {
                Window::Sliding { kernel, stride, padding, dilation } => {
                    let last = product([self.output[d].saturating_sub(1), stride]);
                    last.saturating_add(product([kernel, dilation])).saturating_add(padding)
                }
                Window::Adaptive => product([self.input[d], self.output[d].saturating_add(1)]),
            };
            fits_shader(self.name(), "the windows' reach", reach)?;
        }
        Ok(vec![wgsl::program(self, call)])
    }
}

impl Structured for Pool {
    fn saves(&self) -> Saves {
        match self.kind {
            PoolKind::Max => Saves { inputs: 0, outputs: true },
            PoolKind::MaxBackward => Saves::inputs(0b10),
            PoolKind::Mean(_) | PoolKind::MeanBackward(_) => Saves::NOTHING,
        }
    }

    /// Each kind is the adjoint of another; that of putting gradients at their places is to gather from there.
    fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let g = v.grad();
        let own = std::slice::from_ref(g);
        Ok(match self.kind {
            PoolKind::Max => {
                let operands = [g.clone(), v.outputs[1].clone()];
                vec![Some(self.apply(PoolKind::MaxBackward, &operands)?)]
            }
            PoolKind::MaxBackward => {
                let places = v.input(1);
                let channels = places.numel() / self.output_plane().max(1);
                let flat = g.try_reshape([channels, self.input_plane()])?;
                let picked = flat.try_gather(1, &places.try_reshape([channels, self.output_plane()])?)?;
                vec![Some(picked.try_reshape(places.shape())?), None]
            }
            PoolKind::Mean(divisor) => vec![Some(self.apply(PoolKind::MeanBackward(divisor), own)?)],
            PoolKind::MeanBackward(divisor) => vec![Some(self.apply(PoolKind::Mean(divisor), own)?)],
        })
    }

    fn exact(&self, inputs: &[Exact], outputs: &[Meta], _: &[Scalar]) -> Result<Vec<Exact>> {
        let Block::F64(from) = &inputs[0].values else { unreachable!("pooling is of floats") };
        let mut values = vec![0.0; outputs[0].numel()];
        let mut places = vec![0i64; outputs[0].numel()];
        let (input, output) = (self.input_plane(), self.output_plane());
        let channels = if input * output == 0 { 0 } else { (from.len() + values.len()) / (input + output) };
        let spans = self.spans();
        for channel in 0..channels {
            let (x, y) = (channel * input, channel * output);
            self.each_window(&spans, |number, spans| {
                let (y, divisor) = (y + number, self.divisor(spans) as f64);
                match self.kind {
                    PoolKind::Max => {
                        (values[y], places[y]) = (f64::NEG_INFINITY, -1);
                        self.each_place(spans, |place| {
                            let value = from[x + place];
                            if places[y] < 0 || value > values[y] || value.is_nan() {
                                (values[y], places[y]) = (value, place as i64);
                            }
                        });
                    }
                    PoolKind::MaxBackward => {
                        let Block::I64(places) = &inputs[1].values else {
                            unreachable!("places are integers")
                        };
                        values[x + places[y] as usize] += from[y];
                    }
                    PoolKind::Mean(_) => {
                        self.each_place(spans, |place| values[y] += from[x + place]);
                        values[y] /= divisor;
                    }
                    PoolKind::MeanBackward(_) => {
                        self.each_place(spans, |place| values[x + place] += from[y] / divisor);
                    }
                }
            });
        }
        let exact = |meta: &Meta, values| Exact { shape: meta.shape.clone(), dtype: meta.dtype, values };
        let mut results = vec![exact(&outputs[0], Block::F64(values.into()))];
        results.extend(outputs.get(1).map(|meta| exact(meta, Block::I64(places.into()))));
        Ok(results)
    }
}

impl Listed for Pool {
    const NAMES: &'static [&'static str] =
        &["max_pool", "max_pool_backward", "avg_pool", "avg_pool_backward"];

    fn samples() -> Vec<Case> {
        samples::samples()
    }

    fn batch(&self, call: &BatchCall) -> Result<Batched> {
        call.leading()
    }
}
