//! `soak`: attacks on the library that run for as long as one likes.
//!
//! An attack draws case after case from a seed and says which of them did what must never happen: a panic, an abort, a
//! hang, a wrong number, memory beyond a budget. Every case depends on the seed and its own number alone, so
//! `--seed S --case N` repeats one. `cargo xtask soak NAME` runs an attack, `cargo xtask test soak` a fixed sample of each.

mod allocations;
mod calls;
mod files;
mod graphs;
mod growth;
mod kills;
mod lost;
mod memory;
mod nonfinite;
mod random;
mod session;
mod threads;
mod torch;
mod work;

use clap::Parser;
use session::{Limit, Session};
use std::process::ExitCode;
use std::time::Duration;

/// One way to attack the library. A new one is a module and a row of [`ATTACKS`].
struct Attack {
    name: &'static str,
    about: &'static str,
    /// The cases of a sample: what continuous integration runs, in seconds.
    sample: u64,
    place: Place,
    run: fn(&mut Session),
}

/// Where an attack makes sense; `all` runs it there alone.
#[derive(PartialEq)]
enum Place {
    /// On every device.
    Anywhere,
    /// On a GPU.
    Gpu,
    /// It has nothing to do with a device.
    Host,
}

impl Attack {
    fn is_chosen(&self, name: &str, device: &str) -> bool {
        let elsewhere = if device == "cpu" { Place::Gpu } else { Place::Host };
        self.name == name || name == "all" && self.place != elsewhere
    }
}

const ATTACKS: &[Attack] = &[
    Attack {
        name: "calls",
        about: "fallible functions called with absurd arguments",
        sample: 5000,
        place: Place::Anywhere,
        run: calls::run,
    },
    Attack {
        name: "graphs",
        about: "random graphs, read in every order, against the f64 interpreter",
        sample: 100,
        place: Place::Anywhere,
        run: graphs::run,
    },
    Attack {
        name: "files",
        about: "mutated files and bombs, for every reader: no panic, no memory beyond its limit",
        sample: 20_000,
        place: Place::Host,
        run: files::run,
    },
    Attack {
        name: "kills",
        about: "kill -9 of a training run, which is resumed: the weights are the same in the end",
        sample: 2,
        place: Place::Host,
        run: kills::run,
    },
    Attack {
        name: "lost",
        about: "the device destroyed at every step and moment of a run",
        sample: 6,
        place: Place::Gpu,
        run: lost::run,
    },
    Attack {
        name: "allocations",
        about: "every allocation of a training step fails once",
        sample: 60,
        place: Place::Gpu,
        run: allocations::run,
    },
    Attack {
        name: "nonfinite",
        about: "NaNs and infinities in data, gradients and parameters: found in their step, and nothing moves",
        sample: 20,
        place: Place::Anywhere,
        run: nonfinite::run,
    },
    Attack {
        name: "threads",
        about: "eight threads on one device, some with faults",
        sample: 4,
        place: Place::Anywhere,
        run: threads::run,
    },
    Attack {
        name: "steps",
        about: "memory over many steps",
        sample: 2000,
        place: Place::Anywhere,
        run: growth::steps,
    },
    Attack {
        name: "shapes",
        about: "memory over many shapes",
        sample: 2000,
        place: Place::Anywhere,
        run: growth::shapes,
    },
    Attack {
        name: "torch",
        about: "ops, losses, layers, optimizers and random programs with options, against PyTorch's answers",
        sample: 250,
        place: Place::Anywhere,
        run: torch::run,
    },
];

/// Attacks the library until the time or the number of cases is over.
#[derive(Parser)]
struct Options {
    /// The attack, or `all`; without one: lists them.
    attack: Option<String>,
    /// How long to go on.
    #[arg(long)]
    minutes: Option<f64>,
    /// How many cases; the attack's sample when neither this nor the minutes are given.
    #[arg(long)]
    cases: Option<u64>,
    /// Where the random numbers start.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only the case with this number.
    #[arg(long)]
    case: Option<u64>,
    /// cpu, gpu or software.
    #[arg(long, default_value = "cpu")]
    device: String,
}

impl Options {
    fn limit(&self, attack: &Attack) -> Limit {
        match (self.case, self.cases, self.minutes) {
            (Some(case), _, _) => Limit::Only(case),
            (_, Some(cases), _) => Limit::Cases(cases),
            (_, _, Some(minutes)) => Limit::Time(Duration::from_secs_f64(minutes * 60.0)),
            _ => Limit::Sample(attack.sample),
        }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let Some(name) = options.attack.as_deref() else {
        ATTACKS.iter().for_each(|attack| println!("{:<10} {}", attack.name, attack.about));
        return ExitCode::SUCCESS;
    };
    let chosen: Vec<&Attack> =
        ATTACKS.iter().filter(|attack| attack.is_chosen(name, &options.device)).collect();
    if chosen.is_empty() {
        eprintln!("error: there is no attack `{name}`; without a name, `soak` lists them");
        return ExitCode::from(2);
    }
    let mut passed = true;
    for attack in chosen {
        let mut session = Session::new(attack.name, options.limit(attack), options.seed, &options.device);
        (attack.run)(&mut session);
        passed &= session.finish();
    }
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
