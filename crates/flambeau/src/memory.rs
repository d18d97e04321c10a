//! Memory of the host that a caller's numbers ask for, and that there may not be.

use crate::error::{Error, Result};

/// Room for this many elements.
pub(crate) fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    let requested = (count as u64).saturating_mul(size_of::<T>() as u64);
    let reserved = elements.try_reserve_exact(count);
    reserved.map_err(|_| Error::OutOfMemory { requested, in_use: 0, limit: None })?;
    Ok(elements)
}

/// The same element this many times.
pub(crate) fn filled<T: Clone>(element: T, count: usize) -> Result<Vec<T>> {
    let mut elements = reserved(count)?;
    elements.resize(count, element);
    Ok(elements)
}
