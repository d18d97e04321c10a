//! What is published must be ready to be: every feature of the library compiles by itself, crates say what they are, and crates and the
//! npm package can be packed.

use std::fs;

use crate::runner::{Failure, Report};
use crate::shell;
use crate::web::{install, package};
use crate::workspace::Workspace;

/// The crates that are published, those that others need first.
const CRATES: &[&str] = &[
    "flambeau-derive",
    "flambeau-decompose",
    "flambeau",
    "flambeau-flower",
    "flambeau-page",
    "flambeau-cli",
];

/// What a crate's page in the registry is made of.
const FIELDS: &[&str] = &[
    "description",
    "license",
    "documentation",
    "readme",
    "keywords",
    "categories",
    "version",
    "rust-version",
];

/// The library's features; each must do without the others.
const FEATURES: &[&str] = &["", "gpu", "download", "ndarray", "image", "serde"];

/// What the npm package must have in it, once it is built.
const PACKED: &[&str] = &["README.md", "package.json", "dist/index.js", "dist/index.d.ts"];

/// `cargo xtask builds features`.
pub fn features(workspace: &Workspace) -> Result<Report, Failure> {
    for feature in FEATURES {
        let mut clippy =
            workspace.cargo(&["clippy", "--package", "flambeau", "--lib", "--no-default-features"]);
        clippy.args(["--features", feature, "--", "-D", "warnings"]);
        shell::run(
            &mut clippy,
            "Mend what the compiler reports above: with these features alone there must be no warning.",
        )?;
    }
    Ok(Report::note(format!("{} sets of features", FEATURES.len())))
}

/// `cargo xtask test publish`.
pub fn check(workspace: &Workspace) -> Result<Report, Failure> {
    for name in CRATES {
        let manifest = workspace.root.join("crates").join(name).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).map_err(|error| {
            Failure::new(format!("{}: {error}", manifest.display()), "Is the clone whole? Try `git status`.")
        })?;
        let missing: Vec<&str> = FIELDS.iter().copied().filter(|field| !has(&text, field)).collect();
        if !missing.is_empty() {
            let next = format!("Write them into {}.", manifest.display());
            return Err(Failure::new(format!("{name} does not say its {}", missing.join(", ")), next));
        }
    }
    // Together, so that each finds the others, which are not in the registry yet.
    let mut pack = workspace.cargo(&["package", "--no-verify", "--allow-dirty"]);
    for name in CRATES {
        pack.args(["--package", name]);
    }
    shell::run(&mut pack, "Mend what cargo reports above, then `cargo xtask test publish`.")?;
    pack_for_npm(workspace)?;
    Ok(Report::note(format!("{} crates, 1 npm package", CRATES.len())))
}

/// Does a manifest say this of its package, by itself or by the workspace?
fn has(manifest: &str, field: &str) -> bool {
    let package = manifest.split("\n[").next().unwrap_or_default();
    let mut lines = package.lines();
    lines.any(|line| line.strip_prefix(field).is_some_and(|rest| rest.starts_with([' ', '.', '='])))
}

/// What is packed for npm, which must be built.
fn pack_for_npm(workspace: &Workspace) -> Result<(), Failure> {
    let package = package(workspace);
    if !package.join("dist/index.js").exists() {
        crate::web::build(workspace)?;
    }
    install(workspace, &package)?;
    let next = "Mend `files` in packages/flambeau/package.json, then `cargo xtask test publish`.";
    let mut pack = workspace.bare("npm");
    pack.current_dir(&package).args(["pack", "--dry-run", "--json"]);
    let packed = shell::output(&mut pack).ok_or_else(|| Failure::new("`npm pack --dry-run` failed", next))?;
    let missing: Vec<&str> =
        PACKED.iter().copied().filter(|file| !packed.contains(&format!("\"{file}\""))).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!("not in the npm package: {}", missing.join(", ")), next)),
    }
}

#[cfg(test)]
mod tests {
    use super::has;

    #[test]
    fn fields_are_those_of_the_package() {
        let manifest =
            "[package]\nname = \"x\"\nversion.workspace = true\nreadme=\"R\"\n\n[lib]\nlicense = \"MIT\"\n";
        assert!(has(manifest, "version") && has(manifest, "readme") && has(manifest, "name"));
        assert!(!has(manifest, "license") && !has(manifest, "keywords") && !has(manifest, "read"));
    }
}
