//! Reductions over dimensions, which stay with size 1.

use crate::dtype::DType;
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
}
