//! The library and the program compile for the platforms that nobody here has: `cargo check` for each, by the compiler that also
//! builds for WebAssembly. It judges types, features and the code of each platform's GPU interface; it links and runs nothing.

use crate::runner::{Failure, Report};
use crate::shell;
use crate::wasm::Compiler;
use crate::workspace::Workspace;

/// What is checked, and for whom. Programs do not run on phones: there it is the library.
const TARGETS: &[(&str, &str)] = &[
    ("x86_64-pc-windows-msvc", "flambeau-cli"),
    ("aarch64-apple-darwin", "flambeau-cli"),
    ("aarch64-apple-ios", "flambeau"),
    ("aarch64-linux-android", "flambeau"),
    ("armv7-linux-androideabi", "flambeau"),
    ("armv7-unknown-linux-gnueabihf", "flambeau-cli"),
    ("aarch64-unknown-linux-gnu", "flambeau-cli"),
];

/// `cargo xtask builds targets`.
pub fn check(workspace: &Workspace) -> Result<Report, Failure> {
    let targets: Vec<&str> = TARGETS.iter().map(|(target, _)| *target).collect();
    Compiler::prepare_checks(workspace, &targets)?;
    for (target, package) in TARGETS {
        let mut check = Compiler::check_for(workspace, target, &["--package", package]);
        let next = format!("Mend what the compiler reports above for {target}: only there does it differ.");
        shell::run(&mut check, &next)?;
    }
    Ok(Report::note(targets.join(", ")))
}
