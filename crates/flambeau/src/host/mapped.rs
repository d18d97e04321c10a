//! Functions of many things, on all cores: what making a plan is made of.

/// A function of each item, in order. A thread takes at least `fewest` of them (a handful is done before another core has woken
/// up), and first makes what it works with.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn mapped_with<T: Sync, S, R: Send>(
    list: &[T],
    fewest: usize,
    start: impl Fn() -> S + Sync + Send,
    f: impl Fn(&mut S, &T) -> R + Sync + Send,
) -> Vec<R> {
    use rayon::prelude::*;
    list.par_iter().with_min_len(fewest).map_init(&start, &f).collect()
}

/// A function of each item, in order: a browser's thread is alone.
#[cfg(target_arch = "wasm32")]
pub(crate) fn mapped_with<T, S, R>(
    list: &[T],
    _: usize,
    start: impl Fn() -> S,
    f: impl Fn(&mut S, &T) -> R,
) -> Vec<R> {
    let mut own = start();
    list.iter().map(|item| f(&mut own, item)).collect()
}

/// A function of each item, in order, on all cores.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn mapped<T: Sync, R: Send>(list: &[T], f: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    mapped_with(list, 8, || (), |(), item| f(item))
}
