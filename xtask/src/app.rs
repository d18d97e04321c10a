//! The web app: `cargo xtask web` builds `web/dist`, `--serve` puts it into the program and opens it, and
//! `cargo xtask test app` tests it in real browsers.

use std::fs;
use std::path::{Path, PathBuf};

use crate::runner::{Failure, Report};
use crate::setup::apt_install;
use crate::shell;
use crate::web::{browsers, install, node, script};
use crate::workspace::Workspace;

/// Where Debian's package puts Fashion-MNIST, and the variable by which the app's build finds it.
const FASHION: &str = "/usr/share/datasets/fashion-mnist";
const FASHION_VARIABLE: &str = "FLAMBEAU_FASHION_MNIST";

/// Where the app is.
pub fn folder(workspace: &Workspace) -> PathBuf {
    workspace.root.join("web")
}

/// Makes `web/dist` of the app and the package, which must be built.
pub fn build(workspace: &Workspace) -> Result<Report, Failure> {
    build_with(workspace, None)
}

/// The same with Fashion-MNIST from this folder; without one it is taken where `web/vite.config.ts` finds it.
fn build_with(workspace: &Workspace, fashion: Option<&str>) -> Result<Report, Failure> {
    let app = folder(workspace);
    install(workspace, &app)?;
    script(&app, &["node_modules/typescript/bin/tsc", "--noEmit"])?;
    script(&app, &["node_modules/typescript/bin/tsc", "-p", "tests/tsconfig.json"])?;
    let mut vite = node();
    vite.current_dir(&app).args(["node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"]);
    vite.envs(fashion.map(|folder| (FASHION_VARIABLE, folder)));
    shell::run(&mut vite, "Mend what is reported above, then `cargo xtask web`.")?;
    Ok(Report::note("web/dist"))
}

/// The end-to-end tests, every page in Chromium, training in Firefox too. Takes the package that the step before built.
pub fn test(workspace: &Workspace) -> Result<Report, Failure> {
    if !workspace.root.join("packages/flambeau/dist/index.js").exists() {
        crate::web::build(workspace)?;
    }
    if !Path::new(FASHION).exists() {
        apt_install("the app offers Fashion-MNIST where it is there", &["dataset-fashion-mnist"])?;
    }
    build_with(workspace, Some(FASHION))?;
    browsers()?;
    let mut run = node();
    run.current_dir(folder(workspace)).arg("tests/run.mjs");
    shell::run(&mut run, "One test alone, in web/: `node tests/run.mjs chromium <part of its name>`.")?;
    Ok(Report::note("every page in Chromium, training in Firefox too"))
}

/// Builds the program with the app inside, and opens it.
pub fn serve(workspace: &Workspace) -> Result<(), Failure> {
    let dist = folder(workspace).join("dist");
    let dist = fs::canonicalize(&dist)
        .map_err(|error| Failure::new(format!("{}: {error}", dist.display()), "Try `cargo xtask web`."))?;
    let mut run = workspace.cargo(&["run", "--release", "--package", "flambeau-cli", "--", "serve"]);
    shell::run(run.env("FLAMBEAU_APP", dist), "Read the program's error above.")
}
