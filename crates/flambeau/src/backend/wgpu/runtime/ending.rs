//! The end of the process. Libraries of drivers are taken down while it goes on; a thread that still compiles or submits then, or a
//! kernel that still runs on a software adapter, would end it with a fault. A device that is dropped waits for its work, but one
//! in a static never is: what it has begun is waited for here.
//!
//! Functions that are to be called at the end are called in the reverse of the order in which they were named. A driver names its own not
//! only when it is loaded, but whenever it first uses a part of its compiler. So ours is named again and again, ever more
//! seldom, after the GPU has done something.

use super::lock;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};

/// What may be at work when the process ends.
pub(in crate::backend::wgpu) trait AtWork: Send + Sync {
    /// Begins nothing more, and waits for what has begun.
    fn finish(&self);
}

static AT_WORK: Mutex<Vec<Weak<dyn AtWork>>> = Mutex::new(Vec::new());

/// Has the end of the process wait for this.
pub(in crate::backend::wgpu) fn wait_for<T: AtWork + 'static>(what: &Arc<T>) {
    let what: Weak<T> = Arc::downgrade(what);
    let mut at_work = lock(&AT_WORK);
    at_work.retain(|what| what.strong_count() > 0);
    at_work.push(what);
}

unsafe extern "C" {
    /// The C library's: has a function called at the end of the process.
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

/// The GPU has done something.
pub(super) fn has_worked() {
    static TIMES: AtomicU32 = AtomicU32::new(0);
    if (TIMES.fetch_add(1, Relaxed) + 1).is_power_of_two() {
        atexit(finish);
    }
}

extern "C" fn finish() {
    let at_work: Vec<_> = lock(&AT_WORK).iter().filter_map(Weak::upgrade).collect();
    at_work.iter().for_each(|what| what.finish());
}
