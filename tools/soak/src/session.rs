//! What every attack shares: how long it goes on, what it found, and what it says meanwhile.

use crate::random::Random;
use flambeau::{Device, block_on};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// When an attack ends.
pub enum Limit {
    Cases(u64),
    /// After the attack's own number of cases.
    Sample(u64),
    Time(Duration),
    /// After one case, to look at it.
    Only(u64),
}

/// Failures that are printed in full.
const SHOWN: usize = 20;

thread_local! {
    /// Where this thread panicked last: the hook knows, the catcher does not.
    static PANICKED_AT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// One run of an attack.
pub struct Session {
    name: &'static str,
    limit: Limit,
    seed: u64,
    device: String,
    started: Instant,
    said: Instant,
    done: u64,
    failures: u64,
    /// Further counts for the last line.
    notes: Vec<String>,
}

impl Session {
    pub fn new(name: &'static str, limit: Limit, seed: u64, device: &str) -> Session {
        std::panic::set_hook(Box::new(|info| {
            PANICKED_AT.set(info.location().map(ToString::to_string).unwrap_or_default());
        }));
        println!("{name}: seed {seed}, {device}");
        let now = Instant::now();
        let (done, failures, notes) = (0, 0, Vec::new());
        Session { name, limit, seed, device: device.into(), started: now, said: now, done, failures, notes }
    }

    /// The number of the next case; None when the attack is over.
    pub fn next(&mut self) -> Option<u64> {
        if self.said.elapsed() > Duration::from_secs(10) {
            self.said = Instant::now();
            println!("{}: {} cases, {} failures", self.name, self.done, self.failures);
        }
        let case = self.done;
        let goes_on = match self.limit {
            Limit::Cases(cases) | Limit::Sample(cases) => case < cases,
            Limit::Time(time) => self.started.elapsed() < time,
            Limit::Only(_) => case < 1,
        };
        self.done += u64::from(goes_on);
        let case = if let Limit::Only(only) = self.limit { only } else { case };
        crate::memory::begin(case);
        goes_on.then_some(case)
    }

    /// The random numbers of a case.
    pub fn random(&self, case: u64) -> Random {
        Random::new(self.seed, case)
    }

    /// Is this the sample that continuous integration runs? It must not depend on what is installed.
    pub fn is_sample(&self) -> bool {
        matches!(self.limit, Limit::Sample(_))
    }

    /// Where the random numbers start.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The device the attack was asked to use.
    pub fn device(&self) -> Device {
        self.opener()()
    }

    /// Its name.
    pub fn device_name(&self) -> &str {
        &self.device
    }

    /// What opens that device anew each time.
    pub fn opener(&self) -> impl Fn() -> Device + use<> {
        let name = self.device.clone();
        move || {
            block_on(Device::named(&name)).unwrap_or_else(|error| {
                eprintln!("error: {error}");
                std::process::exit(2)
            })
        }
    }

    /// Records that a case failed.
    pub fn fail(&mut self, case: u64, what: impl std::fmt::Display) {
        self.failures += 1;
        if self.failures <= SHOWN as u64 {
            println!(
                "{}: case {case} FAILED: {what}\n    again: soak {} --seed {} --case {case} --device {}",
                self.name, self.name, self.seed, self.device
            );
        }
    }

    /// Runs a part of a case; a panic is recorded as its failure.
    pub fn guard<T>(&mut self, case: u64, what: &str, part: impl FnOnce() -> T) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(part)) {
            Ok(value) => Some(value),
            Err(payload) => {
                let text = payload.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
                self.fail(case, format!("{what} panicked at {}: {text}", PANICKED_AT.take()));
                None
            }
        }
    }

    /// Says something on the last line, such as what the cases consisted of.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Prints what came out; true if nothing failed.
    pub fn finish(self) -> bool {
        let notes: String = self.notes.iter().map(|note| format!(", {note}")).collect();
        println!(
            "summary: soak {}: {} cases, {} failures{notes} (seed {}, {}, {:.1} s)",
            self.name,
            self.done,
            self.failures,
            self.seed,
            self.device,
            self.started.elapsed().as_secs_f64()
        );
        self.failures == 0 && self.done > 0
    }
}
