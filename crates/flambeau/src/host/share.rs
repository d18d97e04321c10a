//! One kernel's work on all cores.

#[cfg(not(target_arch = "wasm32"))]
use super::team::together;
#[cfg(not(target_arch = "wasm32"))]
use smallvec::SmallVec;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

/// Does pieces of work, numbered from 0, on all cores. The calling thread begins at once, without waiting for others to
/// wake up. Each thread has a range of pieces of its own, the same whenever there are as many, so that what a core has in its cache is
/// what it needs next; when it is done with them it takes others'. The first error that comes up ends the work.
pub(crate) fn share<E: Send>(pieces: usize, work: impl Fn(usize) -> Result<(), E> + Sync) -> Result<(), E> {
    #[cfg(not(target_arch = "wasm32"))]
    if pieces > 1 && super::threads() > 1 {
        let threads = super::threads().min(pieces);
        let first = |range: usize| range * pieces / threads;
        let next: SmallVec<[AtomicUsize; 16]> =
            (0..threads).map(|own| AtomicUsize::new(first(own))).collect();
        let failed = Mutex::new(None);
        let take = |number: usize| {
            let own = number % threads;
            for range in (own..threads).chain(0..own) {
                while let piece = next[range].fetch_add(1, Ordering::Relaxed)
                    && piece < first(range + 1)
                {
                    if let Err(error) = work(piece) {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                        next.iter().for_each(|next| next.store(pieces, Ordering::Relaxed));
                    }
                }
            }
        };
        together(threads - 1, &take);
        return failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err);
    }
    (0..pieces).try_for_each(work)
}

#[cfg(test)]
mod tests {
    use super::share;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_piece_is_done_once_whatever_the_number_of_threads() {
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for pieces in [0, 1, 2, 7, 100] {
                let done: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
                let count = |piece: usize| {
                    done[piece].fetch_add(1, Ordering::Relaxed);
                    Ok::<(), ()>(())
                };
                pool.install(|| share(pieces, count)).unwrap();
                share(pieces, count).unwrap();
                assert!(done.iter().all(|done| done.load(Ordering::Relaxed) == 2), "{threads} {pieces}");
            }
        }
    }

    #[test]
    fn an_error_comes_back_and_ends_the_work() {
        let begun = AtomicUsize::new(0);
        let result = share(1 << 20, |piece| {
            begun.fetch_add(1, Ordering::Relaxed);
            if piece == 3 { Err("the third") } else { Ok(()) }
        });
        assert_eq!(result, Err("the third"));
        assert!(begun.into_inner() < 1 << 20);
    }
}
