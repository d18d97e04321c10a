//! What a random graph is made of: a list of steps that any device can be asked to build.

use crate::device::Device;
use crate::dtype::DType;
use crate::error::Result;
use crate::op::elementwise::apply;
use crate::op::{Elementwise, ReduceKind};
use crate::selftest::{Input, Values};
use crate::shape::{Dims, Shape};
use crate::tensor::Tensor;

/// One value of the graph; other steps are named by their position.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Values of its own; `grid` rounds them to multiples of 1/8.
    Leaf {
        input: Input,
        grid: bool,
        requires_grad: bool,
    },
    /// An elementwise primitive.
    Map {
        op: &'static Elementwise,
        args: Vec<usize>,
    },
    /// The value pressed between two numbers, smoothly.
    Squeeze {
        from: usize,
        low: f64,
        high: f64,
    },
    /// The value times a number.
    Scale {
        from: usize,
        by: f64,
    },
    Cast {
        from: usize,
        dtype: DType,
    },
    Reshape {
        from: usize,
        shape: Shape,
    },
    Permute {
        from: usize,
        order: Vec<isize>,
    },
    Expand {
        from: usize,
        shape: Shape,
    },
    Slice {
        from: usize,
        dim: usize,
        start: i64,
        step: isize,
        length: usize,
    },
    Embed {
        from: usize,
        dim: usize,
        size: usize,
        start: i64,
        step: usize,
    },
    Window {
        from: usize,
        dim: usize,
        size: usize,
        step: usize,
    },
    Reduce {
        from: usize,
        kind: ReduceKind,
        dims: Vec<isize>,
    },
    Gather {
        from: usize,
        dim: usize,
        index: usize,
    },
    MatMul {
        a: usize,
        b: usize,
    },
}

impl Step {
    /// The steps it reads.
    pub fn reads(&self) -> Vec<usize> {
        match self {
            Step::Leaf { .. } => Vec::new(),
            Step::Map { args, .. } => args.clone(),
            Step::Squeeze { from, .. }
            | Step::Scale { from, .. }
            | Step::Cast { from, .. }
            | Step::Reshape { from, .. }
            | Step::Permute { from, .. }
            | Step::Expand { from, .. }
            | Step::Slice { from, .. }
            | Step::Embed { from, .. }
            | Step::Window { from, .. }
            | Step::Reduce { from, .. } => vec![*from],
            Step::Gather { from, index, .. } => vec![*from, *index],
            Step::MatMul { a, b } => vec![*a, *b],
        }
    }

    /// The values of a leaf; `nudge` moves smooth ones by their last bits, to see how much that matters.
    fn leaf_values(input: &Input, grid: bool, salt: u32, nudge: f64) -> Vec<f64> {
        let mut values = input.leaf_values(salt);
        if matches!(input.values, Values::Range(..)) && input.dtype.is_float() {
            for (k, value) in values.iter_mut().enumerate() {
                let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
                *value = if grid { (*value * 8.0).round() / 8.0 } else { *value * (1.0 + sign * nudge) };
            }
        }
        values
    }

    /// Makes the step's tensor; `at` gives those of earlier steps.
    pub fn build<'a>(
        &self,
        salt: u32,
        nudge: f64,
        device: &Device,
        at: impl Fn(usize) -> &'a Tensor,
    ) -> Result<Tensor> {
        match self {
            Step::Leaf { input, grid, requires_grad } => {
                let leaf = input.leaf(&Step::leaf_values(input, *grid, salt, nudge), input.dtype, device)?;
                if *requires_grad { leaf.try_requires_grad() } else { Ok(leaf) }
            }
            Step::Map { op, args } => apply(op, &args.iter().map(|&arg| at(arg)).collect::<Vec<_>>()),
            Step::Squeeze { from, low, high } => {
                // x / √(1 + x²): smooth, and shaders compile it faster than tanh.
                let (x, middle, half) = (at(*from), (low + high) / 2.0, (high - low) * 0.475);
                x.try_div(x.try_mul(x)?.try_add(1.0)?.try_sqrt()?)?.try_mul(half)?.try_add(middle)
            }
            Step::Scale { from, by } => at(*from).try_mul(*by),
            Step::Cast { from, dtype } => at(*from).try_to_dtype(*dtype),
            Step::Reshape { from, shape } => at(*from).try_reshape(shape),
            Step::Permute { from, order } => at(*from).try_permute(order),
            Step::Expand { from, shape } => at(*from).try_expand(shape),
            Step::Slice { from, dim, start, step, length } => {
                at(*from).slice_strided(*dim, *start, *step, *length)
            }
            Step::Embed { from, dim, size, start, step } => at(*from).embed(*dim, *size, *start, *step),
            Step::Window { from, dim, size, step } => at(*from).try_unfold(*dim as isize, *size, *step),
            Step::Reduce { from, kind, dims } => at(*from).reduce_keepdim(*kind, &Dims::from(dims.clone())),
            Step::Gather { from, dim, index } => at(*from).try_gather(*dim as isize, at(*index)),
            Step::MatMul { a, b } => at(*a).try_matmul(at(*b)),
        }
    }
}
