//! Reductions over dimensions, which stay with size 1. Mean, variance, norms and the like are composites.

use super::{Grads, Saves, Vjp, not_differentiable};
use crate::dtype::DType;
use crate::error::Result;
use smallvec::SmallVec;

/// What is done with the values of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ReduceKind {
    Sum,
    /// Over one dimension.
    Prod,
    Max,
    Min,
    /// The first position of the largest value, over one dimension.
    ArgMax,
    /// The first position of the smallest value, over one dimension.
    ArgMin,
}

/// A reduction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Reduce {
    pub kind: ReduceKind,
    /// The reduced dimensions, in increasing order.
    pub dims: SmallVec<[usize; 6]>,
}

impl ReduceKind {
    pub const ALL: [ReduceKind; 6] = [
        ReduceKind::Sum,
        ReduceKind::Prod,
        ReduceKind::Max,
        ReduceKind::Min,
        ReduceKind::ArgMax,
        ReduceKind::ArgMin,
    ];

    pub fn name(self) -> &'static str {
        match self {
            ReduceKind::Sum => "sum",
            ReduceKind::Prod => "prod",
            ReduceKind::Max => "amax",
            ReduceKind::Min => "amin",
            ReduceKind::ArgMax => "argmax",
            ReduceKind::ArgMin => "argmin",
        }
    }

    pub fn is_index(self) -> bool {
        matches!(self, ReduceKind::ArgMax | ReduceKind::ArgMin)
    }

    /// Has it a value for a row of no elements?
    pub fn has_identity(self) -> bool {
        matches!(self, ReduceKind::Sum | ReduceKind::Prod)
    }

    pub fn result(self, dtype: DType) -> DType {
        if self.is_index() { DType::I32 } else { dtype }
    }

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
