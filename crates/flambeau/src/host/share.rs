//! One kernel's work on all cores.

#[cfg(not(target_arch = "wasm32"))]
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

/// Does pieces of work, numbered from 0, on all cores. The calling thread begins at once, without waiting for others to
/// wake up; each thread takes the next piece when it is done with one. The first error that comes up ends the work.
pub(crate) fn share<E: Send>(pieces: usize, work: impl Fn(usize) -> Result<(), E> + Sync) -> Result<(), E> {
    #[cfg(not(target_arch = "wasm32"))]
    if pieces > 1 && super::threads() > 1 {
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
        let take = || {
            while let piece = next.fetch_add(1, Ordering::Relaxed)
                && piece < pieces
            {
                if let Err(error) = work(piece) {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    next.store(pieces, Ordering::Relaxed);
                }
            }
        };
        rayon::in_place_scope(|scope| {
            (1..super::threads().min(pieces)).for_each(|_| scope.spawn(|_| take()));
            take();
        });
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
