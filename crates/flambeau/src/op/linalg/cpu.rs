//! What the ops' CPU kernels share: typed memory, and the matrices of a batch one after the other or on different cores.

use super::{NOT_FINITE, refused};
use crate::error::Result;
use crate::host::{Disjoint, HostBuffer};
use flambeau_decompose::Real;

/// A number that the host's memory has.
pub(super) trait Element: Real + Default + PartialEq {
    fn read(buffer: &HostBuffer) -> &[Self];
    fn write(buffer: &mut HostBuffer) -> &mut [Self];
    fn is_finite(self) -> bool;
}

macro_rules! element {
    ($($variant:ident: $type:ty),*) => {$(
        impl Element for $type {
            fn read(buffer: &HostBuffer) -> &[$type] {
                match buffer {
                    HostBuffer::$variant(values) => values,
                    _ => unreachable!("operands of a decomposition have one dtype"),
                }
            }

            fn write(buffer: &mut HostBuffer) -> &mut [$type] {
                match buffer {
                    HostBuffer::$variant(values) => values,
                    _ => unreachable!("results of a decomposition have the dtype of its operands"),
                }
            }

            fn is_finite(self) -> bool {
                <$type>::is_finite(self)
            }
        }
    )*};
}
element!(F32: f32, F64: f64);

/// Refuses a matrix whose eigenvalues or singular values no iteration would find.
pub(super) fn require_finite<T: Element>(op: &'static str, number: usize, a: &[T]) -> Result<()> {
    match a.iter().all(|&x| x.is_finite()) {
        true => Ok(()),
        false => Err(refused(op, number, NOT_FINITE)),
    }
}

/// Work (in multiplications) below which one core is enough, of a batch and of one matrix.
#[cfg(not(target_arch = "wasm32"))]
const ALONE: usize = 1 << 16;
#[cfg(not(target_arch = "wasm32"))]
const ALONE_IN_MATRIX: usize = 1 << 21;

/// Decomposes each matrix of a batch, which is about `work` multiplications: `body(number, results, threads)`, with the matrix's own part
/// of each result. The first error in the batch's order is the result.
pub(super) fn each<T: Send, const N: usize>(
    batch: usize,
    work: usize,
    results: [&mut [T]; N],
    body: impl Fn(usize, [&mut [T]; N], usize) -> Result<()> + Sync,
) -> Result<()> {
    let results = results.map(|all| (all.len() / batch.max(1), Disjoint::new(all)));
    let body = |number: usize, threads: usize| {
        let own = results.each_ref().map(|(size, all)| {
            // Safety: each number is visited once, and its parts are no other's.
            unsafe { all.slice(number * size..(number + 1) * size) }
        });
        body(number, own, threads)
    };
    #[cfg(not(target_arch = "wasm32"))]
    {
        let threads = crate::host::threads();
        // Few large matrices are cut themselves.
        if threads > 1 && work >= ALONE_IN_MATRIX && batch < 2 * threads {
            return (0..batch).try_for_each(|number| body(number, threads));
        }
        if threads > 1 && batch > 1 && work.saturating_mul(batch) >= ALONE {
            use rayon::prelude::*;
            let failed = (0..batch).into_par_iter().map(|number| body(number, 1)).find_first(Result::is_err);
            return failed.unwrap_or(Ok(()));
        }
    }
    _ = work;
    (0..batch).try_for_each(|number| body(number, 1))
}
