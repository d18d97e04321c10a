//! The examples, each run for a few steps: people read them first, so they must work.

use std::collections::BTreeSet;
use std::fs;

use crate::runner::{Failure, Report};
use crate::setup;
use crate::shell;
use crate::workspace::Workspace;

const FOLDER: &str = "crates/flambeau/examples";

/// The variable that `Device::best` looks at.
const DEVICE_VARIABLE: &str = "FLAMBEAU_DEVICE";

/// An example with the arguments that make it short, and where it runs. A new example is a new row.
struct Run {
    example: &'static str,
    arguments: &'static [&'static str],
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    Cpu,
    /// The adapter of the tests.
    Gpu,
}

const fn run(example: &'static str, arguments: &'static [&'static str], place: Place) -> Run {
    Run { example, arguments, place }
}

const RUNS: &[Run] = &[
    run("linear_regression", &[], Place::Cpu),
    run("linear_regression", &[], Place::Gpu),
    run("higher_order", &["20"], Place::Cpu),
    // On the CPU it says what a GPU needs.
    run("gpu_demo", &[], Place::Cpu),
    run("gpu_demo", &[], Place::Gpu),
    run("mnist", &["5"], Place::Cpu),
    // What the app shows as code (web/tests/programs.mjs writes them).
    run("app_perceptron", &[], Place::Cpu),
    run("app_convolutions", &[], Place::Cpu),
    run("app_residual", &[], Place::Cpu),
    run("transfer", &["10"], Place::Cpu),
    run("char_gpt", &["5"], Place::Cpu),
    run("vae", &["5"], Place::Cpu),
    run("cartpole", &["2"], Place::Cpu),
    // To the end: they check what they have learnt.
    run("pinn", &[], Place::Cpu),
    run("maml", &[], Place::Cpu),
    run("ensemble", &[], Place::Cpu),
    // Megabytes that the device may have, and steps: it checks that it stays within them, and its losses.
    run("out_of_core", &["12", "6"], Place::Cpu),
];

/// Builds all of them once, and runs the table.
pub fn check(workspace: &Workspace) -> Result<Report, Failure> {
    let present = complete(workspace)?;
    // With the tests' features, so that nothing is compiled twice.
    let mut build = workspace.cargo(&["build", "--workspace", "--tests", "--examples"]);
    shell::run(&mut build, "Mend what the compiler reports above, then `cargo xtask test examples`.")?;
    for run in RUNS {
        let program = format!("{}{}", run.example, std::env::consts::EXE_SUFFIX);
        let mut command = workspace.bare(workspace.target.join("debug/examples").join(program));
        let device = run.place.device();
        command.args(run.arguments).env(DEVICE_VARIABLE, device);
        setup::quiet_mesa(&mut command);
        println!("\n{DEVICE_VARIABLE}={device}");
        shell::run(&mut command, "Mend the example, or what it found; then `cargo xtask test examples`.")?;
    }
    Ok(Report::note(format!("{} examples, {} runs", present.len(), RUNS.len())))
}

/// The examples that there are, if the table has a row for each of them and for no other.
fn complete(workspace: &Workspace) -> Result<BTreeSet<String>, Failure> {
    let listed: BTreeSet<String> = RUNS.iter().map(|run| run.example.to_owned()).collect();
    let present = examples(workspace)?;
    if listed != present {
        let other: Vec<_> = listed.symmetric_difference(&present).map(String::as_str).collect();
        return Err(Failure::new(
            format!("in {FOLDER} or in the table, but not in both: {}", other.join(", ")),
            "Give it a row in xtask/src/examples.rs, or take the row away.",
        ));
    }
    Ok(present)
}

impl Place {
    /// The device's name for the library.
    fn device(self) -> &'static str {
        match self {
            Place::Cpu => "cpu",
            Place::Gpu => setup::device(),
        }
    }
}

/// The examples that there are.
fn examples(workspace: &Workspace) -> Result<BTreeSet<String>, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::new(format!("{FOLDER} cannot be read: {error}"), "Start it in a whole clone.")
    };
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(workspace.root.join(FOLDER)).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if let (Some(name), Some("rs")) = (path.file_stem(), path.extension().and_then(|end| end.to_str())) {
            names.insert(name.to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_has_a_row() {
        let workspace = Workspace::locate().expect("the tests run in a clone");
        if let Err(failure) = complete(&workspace) {
            panic!("{failure}");
        }
    }
}
