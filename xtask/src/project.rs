//! A project of a user's own, as `flambeau new` writes it: built and trained on this machine and in Chromium.
//!
//! It lies outside of the clone and has its own lock file, but builds into the same target folder: only what is the project's own
//! or differs in features is compiled anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::runner::{Failure, Report};
use crate::shell;
use crate::wasm::Compiler;
use crate::web::{browsers, install, node, package};
use crate::workspace::Workspace;

const NAME: &str = "spiral-net";

/// Makes the project, and runs it everywhere.
pub fn check(workspace: &Workspace) -> Result<Report, Failure> {
    browsers()?;
    install(workspace, &package(workspace))?;
    let parent = std::env::temp_dir().join(format!("flambeau-project-{}", std::process::id()));
    fs::create_dir_all(&parent).map_err(|error| unwritable(&parent, &error))?;
    let checked = make_and_run(workspace, &parent);
    // Left behind after a failure, to look at.
    if checked.is_ok() {
        fs::remove_dir_all(&parent).map_err(|error| unwritable(&parent, &error))?;
    }
    checked
}

fn make_and_run(workspace: &Workspace, parent: &Path) -> Result<Report, Failure> {
    let next = "Mend what is reported above, in examples/in-the-page or in the program; then `cargo xtask builds project`.";
    let mut example = workspace.cargo(&["fmt", "--all", "--check"]);
    shell::run(
        example.current_dir(workspace.root.join("examples/in-the-page")),
        "Run `cargo fmt --all` in examples/in-the-page, then `cargo test -p flambeau-cli template`.",
    )?;
    // With the tests' features, so that nothing is compiled twice.
    shell::run(&mut workspace.cargo(&["build", "--workspace", "--tests"]), next)?;
    let mut new = workspace.bare(workspace.target.join("debug").join(program("flambeau")));
    shell::run(new.current_dir(parent).args(["new", NAME, "--path"]).arg(&workspace.root), next)?;
    let project = parent.join(NAME);
    // The same versions of all crates as here: nothing else is fetched or compiled.
    let lock = project.join("Cargo.lock");
    fs::copy(workspace.root.join("Cargo.lock"), &lock).map_err(|error| unwritable(&lock, &error))?;

    let mut clippy = workspace.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    shell::run(clippy.current_dir(&project), next)?;
    let mut native = workspace.cargo(&["run", "--quiet"]);
    native.current_dir(&project).env("FLAMBEAU_DEVICE", "cpu");
    shell::show(&native);
    let output = native.output().map_err(|error| shell::not_started(&native, &error))?;
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    shell::check(&native, output.status, next)?;
    let lines = project.join("native.txt");
    fs::write(&lines, &output.stdout).map_err(|error| unwritable(&lines, &error))?;

    add_addresses(workspace, &project)?;
    shell::run(workspace.cargo(&["build", "--package", "page"]).current_dir(&project), next)?;
    shell::run(&mut page(workspace, &project)?, next)?;
    let mut train = node();
    train.current_dir(package(workspace)).arg("tests/project.mjs").args([project.join("dist"), lines]);
    shell::run(&mut train, next)?;
    Ok(Report::note("made by `flambeau new`, trained natively and in Chromium with the same losses"))
}

/// Gives the project a module that fetches data and weights, as its owner would write it.
fn add_addresses(workspace: &Workspace, project: &Path) -> Result<(), Failure> {
    let from = package(workspace).join("tests/project/addresses.rs");
    let (to, lib) = (project.join("src/addresses.rs"), project.join("src/lib.rs"));
    fs::copy(&from, &to).map_err(|error| unwritable(&from, &error))?;
    let text = fs::read_to_string(&lib).map_err(|error| unwritable(&lib, &error))?;
    let text = text + "\n#[cfg(target_arch = \"wasm32\")]\nmod addresses;\n";
    fs::write(&lib, text).map_err(|error| unwritable(&lib, &error))
}

/// What `cargo page` runs, with the compiler for WebAssembly that there is.
fn page(workspace: &Workspace, project: &Path) -> Result<Command, Failure> {
    let mut page = workspace.bare(workspace.target.join("debug").join(program("page")));
    page.env("CARGO_TARGET_DIR", &workspace.target);
    Compiler::find(workspace)?.choose(workspace, &mut page);
    page.current_dir(project).args(["--build-only", "--profile", "dev"]);
    Ok(page)
}

fn program(name: &str) -> PathBuf {
    format!("{name}{}", std::env::consts::EXE_SUFFIX).into()
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()), "Let it be written, and start again.")
}
