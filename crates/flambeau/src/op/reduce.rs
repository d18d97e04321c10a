//! Reductions over dimensions, which stay with size 1. Mean, variance, norms and the like are composites.

use super::{Grads, Saves, Vjp, not_differentiable};
use crate::error::Result;
use crate::ir::{Reduce, ReduceKind};

impl ReduceKind {
    pub fn saves(self) -> Saves {
        match self {
            ReduceKind::Sum | ReduceKind::ArgMax | ReduceKind::ArgMin => Saves::NOTHING,
            ReduceKind::Prod => Saves::inputs(1),
            ReduceKind::Max | ReduceKind::Min => Saves { inputs: 1, outputs: true },
        }
    }
}

impl Reduce {
    /// Derivatives: sum: 1. Product: the product of all the others, also where elements are zero. Largest and
    /// smallest: 1 shared evenly among equal ones.
    pub fn vjp(&self, v: &Vjp) -> Result<Grads> {
        let (g, x) = (v.grad(), v.input(0));
        let gradient = match self.kind {
            ReduceKind::Sum => g.try_expand(x.shape())?,
            ReduceKind::Prod => {
                let dim = self.dims[0];
                let n = x.shape()[dim];
                let square = x.shape().inserted(dim, n);
                let all = x.try_unsqueeze(dim as isize)?.try_expand(&square)?;
                let (i, j) = (x.iota_of(&square, dim)?, x.iota_of(&square, dim + 1)?);
                let others = i.try_eq(&j)?.try_where_cond(all.ones_like(), &all)?;
                g.try_mul(&others.try_prod(dim as isize + 1)?)?
            }
            ReduceKind::Max | ReduceKind::Min => {
                let hit = x.try_eq(v.output())?.try_to_dtype(x.dtype())?;
                let dims: Vec<isize> = self.dims.iter().map(|&dim| dim as isize).collect();
                g.try_mul(&hit)?.try_div(&hit.try_sum_keepdim(dims)?)?
            }
            ReduceKind::ArgMax | ReduceKind::ArgMin => return not_differentiable(v),
        };
        Ok(vec![Some(gradient)])
    }
}
