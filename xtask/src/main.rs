//! `cargo xtask`: sets a machine up for Flambeau's checks and runs them.
//!
//! Everything continuous integration does is a command here, so that a contributor gets the same verdict from
//! the same program. The standard library is all it uses: it must build before anything has been installed.

mod app;
mod arrows;
mod examples;
mod flower;
mod libtest;
mod mpi;
mod project;
mod publish;
#[cfg(test)]
mod requirements;
mod runner;
mod scripts;
mod setup;
mod shell;
mod soak;
mod steps;
mod targets;
mod wasm;
mod web;
mod workspace;

use std::process::ExitCode;

use runner::{Failure, Step};
use workspace::Workspace;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if args.is_empty() || args.iter().any(|arg| matches!(*arg, "-h" | "--help" | "help")) {
        print!("{}", help());
        return ExitCode::SUCCESS;
    }
    let done = match args[0] {
        "test" => select(steps::CHECKS, &args[1..]).and_then(|steps| run(&steps)),
        "builds" => select(steps::BUILDS, &args[1..]).and_then(|steps| run(&steps)),
        "web" => web(&args[1..]),
        "flower" => Workspace::locate().and_then(|workspace| flower::measure(&workspace, &args[1..])),
        "soak" => Workspace::locate().and_then(|workspace| soak::attack(&workspace, &args[1..])),
        "setup" => select(steps::INSTALLS, &args[1..]).and_then(|steps| run(&steps)),
        other => Err(Failure::new(format!("there is no command `{other}`"), "Try `cargo xtask --help`.")),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        // The runner has already said what failed and what to do.
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(2)
        }
    }
}

fn run(steps: &[&Step]) -> Result<bool, Failure> {
    let workspace = Workspace::locate()?;
    println!("Build products: {}", workspace.target.display());
    println!("Tools:          {}", workspace.tools.display());
    Ok(runner::run_all(&workspace, steps))
}

/// Builds what runs in browsers; with `--serve`, opens the app.
fn web(args: &[&str]) -> Result<bool, Failure> {
    let (flags, names): (Vec<&str>, Vec<&str>) = args.iter().partition(|arg| **arg == "--serve");
    let built = run(&select(steps::WEB, &names)?)?;
    if built && !flags.is_empty() {
        app::serve(&Workspace::locate()?)?;
    }
    Ok(built)
}

/// The steps named on the command line, in the table's order; all of them when none is named.
fn select(table: &'static [Step], names: &[&str]) -> Result<Vec<&'static Step>, Failure> {
    if let Some(unknown) = names.iter().find(|name| table.iter().all(|step| step.name != **name)) {
        let known: Vec<&str> = table.iter().map(|step| step.name).collect();
        return Err(Failure::new(
            format!("there is no step `{unknown}`"),
            format!("The steps are: {}.", known.join(", ")),
        ));
    }
    Ok(table.iter().filter(|step| names.is_empty() || names.contains(&step.name)).collect())
}

fn help() -> String {
    let list = |table: &[Step]| -> String {
        table.iter().map(|step| format!("    {:<12} {}\n", step.name, step.about)).collect()
    };
    format!(
        "\
Flambeau's development tasks.

Usage: cargo xtask <COMMAND> [STEP...]

  test      Installs what is missing, saying what and why, and runs every check in order, up to the first
            that fails. With names of steps: only those.
{}
  builds    Checks that need builds of their own, and so take longer. With names of steps: only those.
{}
  web       Builds the browser package, packages/flambeau/dist, and the web app, web/dist. With --serve:
            opens the app, from a program that has it inside.
{}
  flower    One run of a Flower server with clients of ours: --native COUNT, --tabs COUNT, --numpy COUNT (Flower's own),
            --rounds COUNT, --first COUNT, --clip LENGTH, --noise MULTIPLIER, --simulate.
  soak      Attacks the library: NAME [MINUTES] [OPTIONS]; without a name, lists the attacks.
  setup     Only installs what the checks need.
{}
Environment:
  FLAMBEAU_CACHE         where build products and tools are kept from one clone to the next
                         (default: flambeau in $XDG_CACHE_HOME or ~/.cache; safe to delete)
  CARGO_TARGET_DIR       where cargo builds (default: target in that cache)
  FLAMBEAU_TEST_ADAPTER  the GPU adapter the tests ask for (default: llvmpipe, which runs on the CPU)
",
        list(steps::CHECKS),
        list(steps::BUILDS),
        list(steps::WEB),
        list(steps::INSTALLS),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_selected_by_name_in_the_tables_order() {
        let names = |args: &[&str]| -> Vec<&str> {
            select(steps::CHECKS, args).expect("known steps").iter().map(|step| step.name).collect()
        };
        assert_eq!(names(&["deny", "fmt"]), ["fmt", "deny"]);
        assert_eq!(names(&[]).len(), steps::CHECKS.len());
        assert!(select(steps::CHECKS, &["fmt", "nonsense"]).is_err());
    }

    #[test]
    fn help_names_every_step() {
        let help = help();
        assert!(
            steps::CHECKS
                .iter()
                .chain(steps::BUILDS)
                .chain(steps::INSTALLS)
                .all(|step| help.contains(step.name))
        );
    }
}
