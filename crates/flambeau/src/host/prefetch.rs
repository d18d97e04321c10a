//! Hints to the caches: what will be read soon.

/// Asks for numbers that will be read soon.
pub(crate) fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        for line in values.chunks((64 / size_of::<T>()).max(1)) {
            // Safety: a hint reads nothing, and all x86-64 processors have it.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}
