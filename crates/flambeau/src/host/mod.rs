//! Work on the host that kernels of the CPU share: typed memory, blocks of lanes, disjoint writes, products, sorting,
//! threads; and functions of many things on all cores.
//! It knows tensors as little as plans.

mod aligned;
mod block;
mod buffer;
mod cast;
mod disjoint;
#[cfg(not(target_arch = "wasm32"))]
mod folders;
mod mapped;
mod order;
#[cfg(not(target_arch = "wasm32"))]
mod prefetch;
mod share;
#[cfg(not(target_arch = "wasm32"))]
mod team;
pub(crate) mod tiny;

pub(crate) use aligned::Aligned;
pub(crate) use block::{Block, BlockFn, Lanes, MOST_OPERANDS, View, ViewMut, block_fn, each_lane, widest};
pub(crate) use buffer::HostBuffer;
pub(crate) use cast::{cast, wrap};
pub(crate) use disjoint::{Disjoint, Matrix, Product, Target, multiply};
#[cfg(not(target_arch = "wasm32"))]
pub use folders::user_cache;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use mapped::mapped;
pub(crate) use mapped::mapped_with;
pub(crate) use order::{Ranks, decreasing, order_rows, sorted_by};
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use prefetch::prefetch;
pub(crate) use share::share;

/// Cores that share the work.
pub(crate) fn threads() -> usize {
    #[cfg(not(target_arch = "wasm32"))]
    return rayon::current_num_threads();
    #[cfg(target_arch = "wasm32")]
    return 1;
}
