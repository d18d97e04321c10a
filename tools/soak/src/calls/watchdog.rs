//! Ends the process when a case does not come back: a hang is a failure like any other, and nothing can be done about
//! the thread that hangs.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a case may take.
const LIMIT: Duration = Duration::from_secs(20);
/// How often the watchdog looks.
const LOOK: Duration = Duration::from_millis(200);

pub struct Watchdog {
    now: Arc<Mutex<(u64, &'static str, Instant)>>,
    ended: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Watchdog {
    pub fn start() -> Watchdog {
        let now = Arc::new(Mutex::new((0, "the start", Instant::now())));
        let ended = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let (now, ended) = (now.clone(), ended.clone());
            move || {
                while !ended.load(Relaxed) {
                    std::thread::sleep(LOOK);
                    let (case, name, since) = *now.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    if since.elapsed() > LIMIT && !ended.load(Relaxed) {
                        println!("case {case} FAILED: {name} has not come back after {} s", LIMIT.as_secs());
                        std::process::exit(1);
                    }
                }
            }
        });
        Watchdog { now, ended, thread }
    }

    /// A case begins.
    pub fn begin(&self, case: u64, name: &'static str) {
        *self.now.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = (case, name, Instant::now());
    }

    pub fn end(self) {
        self.ended.store(true, Relaxed);
        // It does nothing that could fail.
        let _ = self.thread.join();
    }
}
