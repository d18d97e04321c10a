//! Views: other ways to index the same elements. They move no data; kernels read through them (see `access`).

use smallvec::SmallVec;

/// How the output's coordinates are found in the input. Sizes are those of the node's shapes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum View {
    /// The same elements in the same order, in another shape.
    Reshape,
    /// Output dimension i is input dimension p\[i\].
    Permute(SmallVec<[usize; 6]>),
    /// Dimensions of size 1 repeated; the rank stays.
    Expand,
    /// out[i] = in[start + i·step] along `dim`; the start is data\[0\].
    Slice { dim: usize, step: isize },
    /// out[start + i·step] = in[i] along `dim`, zero elsewhere; the start is data\[0\], the step positive.
    Embed { dim: usize, step: usize },
    /// Overlapping windows along `dim`, `step` apart: in[n] to out[count, …, size], the window's elements last.
    Window { dim: usize, step: usize },
}

impl View {
    pub fn name(&self) -> &'static str {
        match self {
            View::Reshape => "reshape",
            View::Permute(_) => "permute",
            View::Expand => "expand",
            View::Slice { .. } => "slice",
            View::Embed { .. } => "pad",
            View::Window { .. } => "unfold",
        }
    }
}
