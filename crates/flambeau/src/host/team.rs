//! Threads that help another one with its work.
//!
//! Kernels are short and come one after the other: a thread that went to sleep between them would wake up when half of the next one is
//! done. So those of rayon's pool that have helped stay awake for a moment, looking for more, and who has called them does not sleep while
//! they finish. They take work from here and not from the pool's queue, where each job would wake another thread; and nobody waits for one that has not come yet.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long a thread stays awake without work: longer than it takes to begin the next kernel.
const AWAKE: Duration = Duration::from_micros(100);
/// How often a thread looks for what it waits for, before it lets somebody else's thread have its core.
const LOOKS: usize = 16;

/// Work that several threads do, on the stack of the one that wants it done.
struct Task {
    /// It lives until nobody can reach the task any more.
    work: *const (dyn Fn(usize) + Sync),
    /// How many helpers are at it.
    inside: AtomicUsize,
    failed: Mutex<Option<Box<dyn Any + Send>>>,
    caller: Thread,
}

/// A task that more helpers may come to.
struct Open {
    task: *const Task,
    /// How many more.
    places: usize,
}

// Safety: `together` keeps what is pointed to until the task is closed and nobody is inside, and it may be used by several threads.
unsafe impl Send for Open {}

/// What helpers and those who call them know of each other.
struct Team {
    open: Vec<Open>,
    /// Helpers that are awake or have been called: those at work are some of them.
    helpers: usize,
    working: usize,
    /// For every number of a helper: has somebody got it?
    numbers: Vec<bool>,
}

static TEAM: Mutex<Team> = Mutex::new(Team { open: Vec::new(), helpers: 0, working: 0, numbers: Vec::new() });
/// Places of all open tasks, for those who look again and again.
static PLACES: AtomicUsize = AtomicUsize::new(0);

fn team() -> MutexGuard<'static, Team> {
    TEAM.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` here, as number 0, and meanwhile on up to `helpers` other threads, each with a number that is nearly always the same; returns
/// when all that have begun are done. What is to be done is divided by `work` itself, so that it does not matter how many come.
pub(super) fn together(helpers: usize, work: &(dyn Fn(usize) + Sync)) {
    // Safety: the lifetime is only left out. Below, the task is closed before this function ends, and nobody is inside then.
    let work = unsafe {
        std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync)>(work)
    };
    let (inside, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let task = Task { work, inside, failed, caller: thread::current() };
    open(&task, helpers);
    let own = catch_unwind(AssertUnwindSafe(|| task.run(0)));
    close(&task);
    let done = || task.inside.load(Ordering::Acquire) == 0;
    if !look_for(done, || false) {
        while !done() {
            thread::park();
        }
    }
    let failed = task.failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(panic) = own.err().or(failed) {
        resume_unwind(panic);
    }
}

/// Looks for something until it is there, or for as long as it is better not to sleep. Between looks it may do something else, and says
/// whether it has.
fn look_for(is_there: impl Fn() -> bool, do_else: impl Fn() -> bool) -> bool {
    let mut start = Instant::now();
    loop {
        for _ in 0..LOOKS {
            if is_there() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() > AWAKE {
            return false;
        }
        if do_else() {
            start = Instant::now();
        } else {
            // Somebody else's thread may wait for this core.
            thread::yield_now();
        }
    }
}

fn open(task: &Task, places: usize) {
    let mut team = team();
    team.open.push(Open { task, places });
    PLACES.fetch_add(places, Ordering::Release);
    let awake = team.helpers - team.working;
    let missing = places.saturating_sub(awake).min(places.saturating_sub(team.helpers));
    team.helpers += missing;
    drop(team);
    (0..missing).for_each(|_| rayon::spawn(help));
}

fn close(task: &Task) {
    let mut team = team();
    let at = team.open.iter().position(|open| std::ptr::eq(open.task, task));
    let closed = team.open.swap_remove(at.expect("a task is closed once"));
    PLACES.fetch_sub(closed.places, Ordering::Relaxed);
}

/// Helps until there has been nothing to do for a while.
fn help() {
    let mut now = team();
    let number = now.numbers.iter().position(|is_taken| !is_taken).unwrap_or(now.numbers.len());
    if number == now.numbers.len() {
        now.numbers.push(true);
    }
    now.numbers[number] = true;
    let mut is_called = true;
    loop {
        match now.open.iter_mut().rev().find(|open| open.places > 0) {
            Some(open) => {
                open.places -= 1;
                PLACES.fetch_sub(1, Ordering::Relaxed);
                // Safety: the task is open, so it is there; and it stays as long as somebody is inside.
                let task = unsafe { &*open.task };
                task.inside.fetch_add(1, Ordering::Relaxed);
                now.working += 1;
                drop(now);
                task.help(number + 1);
                now = team();
                now.working -= 1;
            }
            None if !is_called => break,
            // Others have been quicker.
            None => {}
        }
        drop(now);
        let work_of_the_pool = || rayon::yield_now() == Some(rayon::Yield::Executed);
        is_called = look_for(|| PLACES.load(Ordering::Acquire) > 0, work_of_the_pool);
        now = team();
    }
    now.helpers -= 1;
    now.numbers[number] = false;
}

impl Task {
    fn run(&self, number: usize) {
        // Safety: who calls this is inside, or has not closed the task yet.
        unsafe { (*self.work)(number) }
    }

    /// Does some of it, and leaves.
    fn help(&self, number: usize) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run(number))) {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
        let caller = self.caller.clone();
        // The task may be gone as soon as nobody is inside.
        if self.inside.fetch_sub(1, Ordering::Release) == 1 {
            caller.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{team, together};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    /// Does numbers below `count`, each by one of those who come; says how often they were done.
    fn done(helpers: usize, count: usize, work: impl Fn(usize) + Sync) -> usize {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        together(helpers, &|_| {
            while let number = next.fetch_add(1, Ordering::Relaxed)
                && number < count
            {
                work(number);
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
        done.into_inner()
    }

    #[test]
    fn everything_is_done_when_it_is_over() {
        for helpers in [0, 1, 3, 7] {
            for count in [0, 1, 100, 10_000] {
                assert_eq!(done(helpers, count, |_| ()), count);
            }
        }
        // Long enough for those who wait to fall asleep.
        assert_eq!(done(3, 8, |_| std::thread::sleep(Duration::from_millis(3))), 8);
    }

    #[test]
    fn helpers_come_also_after_they_have_slept() {
        let most = Instant::now() + Duration::from_secs(60);
        let mut came = 0;
        while came < 3 {
            assert!(Instant::now() < most, "nobody comes");
            std::thread::sleep(Duration::from_millis(1));
            let callers = AtomicUsize::new(0);
            together(1, &|number| {
                callers.fetch_add(1, Ordering::Relaxed);
                let start = Instant::now();
                while number == 0 && callers.load(Ordering::Relaxed) < 2 && start.elapsed().as_millis() < 50 {
                }
            });
            came += callers.into_inner() - 1;
        }
    }

    #[test]
    fn work_may_call_for_help_itself_and_many_may_call_at_once() {
        let sums: Vec<usize> = std::thread::scope(|scope| {
            let each = || {
                let sum = AtomicUsize::new(0);
                done(3, 50, |_| {
                    sum.fetch_add(done(2, 20, |_| std::hint::spin_loop()), Ordering::Relaxed);
                });
                sum.into_inner()
            };
            let callers: Vec<_> = (0..6).map(|_| scope.spawn(each)).collect();
            callers.into_iter().map(|caller| caller.join().unwrap()).collect()
        });
        assert_eq!(sums, [1000; 6]);
    }

    #[test]
    fn a_panic_comes_back_to_who_has_called() {
        for who in 0..200 {
            let result = std::panic::catch_unwind(|| {
                done(3, 200, |number| assert!(number != who, "the number {number}"));
            });
            assert!(result.is_err(), "{who}");
        }
        assert_eq!(done(3, 100, |_| ()), 100);
    }

    #[test]
    fn helpers_without_work_go_to_sleep() {
        done(1, 100, |_| ());
        let most = Instant::now() + Duration::from_secs(60);
        // Other tests call helpers as well.
        while team().helpers > 0 {
            assert!(Instant::now() < most, "a helper is still awake");
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}
