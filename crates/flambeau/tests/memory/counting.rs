//! The most bytes that a piece of work has allocated at once, and how often it has allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// Safety: every call is the system allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        PEAK.fetch_max(IN_USE.fetch_add(layout.size(), SeqCst) + layout.size(), SeqCst);
        // Safety: the caller's promise about the layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        PEAK.fetch_max(IN_USE.fetch_add(layout.size(), SeqCst) + layout.size(), SeqCst);
        // Safety: the caller's promise about the layout.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), SeqCst);
        // Safety: the caller's promise that the pointer came from here, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// One measurement at a time: the count is the whole process's.
static ALONE: Mutex<()> = Mutex::new(());

/// The result of some work on an input, and the most bytes it had allocated at once.
pub fn peak<I, T>(input: impl FnOnce() -> I, work: impl FnOnce(&I) -> T) -> (T, usize) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let input = input();
    let before = IN_USE.load(SeqCst);
    PEAK.store(before, SeqCst);
    let result = work(&input);
    (result, PEAK.load(SeqCst) - before)
}

/// How often this thread has allocated memory so far.
pub fn allocations() -> usize {
    ALLOCATIONS.get()
}
