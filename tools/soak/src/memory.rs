//! What the process has allocated: attacks judge cases by it, and a limit stands between a bomb and the machine.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The system's allocator with a count. Allocations beyond [`LIMIT`] fail, as they would on a small machine.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The case that runs now.
static CASE: AtomicU64 = AtomicU64::new(0);

/// Bytes the process may have allocated at once.
const LIMIT: usize = 4 << 30;
/// Allocations below this cannot be expected to be fallible: where they meet the limit, something was built without
/// end, and the process aborts.
const SMALL: usize = 4096;

impl Counting {
    /// Counts an allocation; false if it goes beyond the limit. One that is refused is never seen in the count: other
    /// threads allocate meanwhile.
    fn take(bytes: usize) -> bool {
        let within = |in_use: usize| in_use.checked_add(bytes).filter(|now| *now <= LIMIT);
        match IN_USE.fetch_update(Relaxed, Relaxed, within) {
            Ok(before) => {
                PEAK.fetch_max(before + bytes, Relaxed);
                true
            }
            Err(_) if bytes >= SMALL => false,
            Err(_) => {
                eprintln!("case {} FAILED: it used up {LIMIT} bytes in small pieces", CASE.load(Relaxed));
                false
            }
        }
    }
}

// Safety: every call is the system allocator's, or a null pointer, which says that there is no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !Counting::take(layout.size()) {
            return std::ptr::null_mut();
        }
        // Safety: the caller's promise about the layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !Counting::take(layout.size()) {
            return std::ptr::null_mut();
        }
        // Safety: the caller's promise about the layout.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // Safety: the caller's promise that the pointer came from here, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Says which case runs, for the message of one that uses up all memory.
pub fn begin(case: u64) {
    CASE.store(case, Relaxed);
}

/// Bytes allocated now.
pub fn in_use() -> usize {
    IN_USE.load(Relaxed)
}

/// Starts a new measurement of the peak; returns the bytes allocated now.
pub fn start_peak() -> usize {
    let now = in_use();
    PEAK.store(now, Relaxed);
    now
}

/// The most bytes allocated at once since [`start_peak`].
pub fn peak() -> usize {
    PEAK.load(Relaxed)
}

/// The process's resident memory in bytes, by the system's count: what drivers allocate is in it too.
pub fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap_or(0) * 1024
}
