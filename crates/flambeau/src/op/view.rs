//! Views: other ways to index the same elements. They move no data; the kernels that use them read through them.
//!
//! `Slice` and `Embed` are each other's adjoint, which is what makes their derivatives, of any order, views too.

use super::{Grads, Vjp};
use crate::error::Result;
use crate::ir::View;

impl View {
    pub fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let (g, shape) = (v.grad(), v.input(0).shape());
        let start = || v.data[0].to_i64();
        let gradient = match self {
            View::Reshape => g.try_reshape(shape)?,
            View::Permute(order) => {
                let mut inverse = vec![0; order.len()];
                order.iter().enumerate().for_each(|(to, &from)| inverse[from] = to as isize);
                g.try_permute(&inverse)?
            }
            View::Expand => {
                let expanded = (0..shape.rank()).filter(|&d| shape[d] != g.shape()[d]).map(|d| d as isize);
                g.try_sum_keepdim(expanded.collect::<Vec<_>>())?
            }
            View::Slice { dim, step } if *step > 0 => g.embed(*dim, shape[*dim], start(), *step as usize)?,
            View::Slice { dim, step } => {
                let length = g.shape()[*dim];
                let lowest = start() + (length as i64 - 1) * *step as i64;
                g.try_flip(*dim as isize)?.embed(*dim, shape[*dim], lowest, step.unsigned_abs())?
            }
            View::Embed { dim, step } => g.slice_strided(*dim, start(), *step as isize, shape[*dim])?,
            View::Window { dim, step } => {
                let last = g.shape().rank() - 1;
                let mut total = g.try_select(last as isize, 0)?.embed(*dim, shape[*dim], 0, *step)?;
                for k in 1..g.shape()[last] {
                    let window = g.try_select(last as isize, k as isize)?;
                    total = total.try_add(&window.embed(*dim, shape[*dim], k as i64, *step)?)?;
                }
                total
            }
        };
        Ok(vec![Some(gradient)])
    }
}
