//! What concerns all JavaScript of the repository, and needs neither a browser nor WebAssembly.

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
