//! What concerns all JavaScript of the repository, and needs neither a browser nor WebAssembly.

use crate::app;
use crate::runner::{Failure, Report};
use crate::shell;
use crate::web::{self, install, node};
use crate::workspace::Workspace;

/// The formatter and linter, where npm puts it. Its settings are in `biome.jsonc`.
const BIOME: &str = "packages/flambeau/node_modules/@biomejs/biome/bin/biome";

/// The web side is formatted, and the linter finds nothing.
pub fn lint(workspace: &Workspace) -> Result<Report, Failure> {
    install(workspace, &web::package(workspace))?;
    let mut biome = node();
    biome.current_dir(&workspace.root).args([BIOME, "check", "--error-on-warnings"]);
    shell::run(
        &mut biome,
        "Run `npm run format` in packages/flambeau, mend what is left, then `cargo xtask test lint`.",
    )?;
    Ok(Report::default())
}

/// The unit tests of the package and of the app, in Node: what needs neither a browser nor WebAssembly.
pub fn unit(workspace: &Workspace) -> Result<Report, Failure> {
    let package = web::package(workspace);
    install(workspace, &package)?;
    install(workspace, &app::folder(workspace))?;
    let mut run = node();
    run.current_dir(&package).arg("tests/unit.mjs");
    shell::run(&mut run, "One file alone, in packages/flambeau: `node tests/unit.mjs <part of its name>`.")?;
    let mut shown = node();
    shown.current_dir(app::folder(workspace)).args(["tests/programs.mjs", "--check"]);
    shell::run(&mut shown, "In web/, `node tests/programs.mjs` writes the examples that the app shows.")?;
    Ok(Report::default())
}
