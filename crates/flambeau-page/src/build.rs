//! A project's library as WebAssembly with the JavaScript around it, beside the files of its page.

use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fmt, fs, io};
use wasm_bindgen_cli_support::Bindgen;

const TARGET: &str = "wasm32-unknown-unknown";

/// By this variable cargo is told to build the standard library along, so that the compiler need not bring the target's.
const BUILD_STD: &str = "CARGO_UNSTABLE_BUILD_STD";

/// What the module's files begin with: pages import `./app.js`.
const NAME: &str = "app";

/// What is built, and from where.
#[derive(Debug, Clone)]
pub struct Build {
    /// The folder of the project, whose library is compiled.
    pub project: PathBuf,
    /// The folder of the files that are copied beside it.
    pub public: PathBuf,
    /// Cargo's profile.
    pub profile: String,
}

/// What could not be built, and what to do.
#[derive(Debug)]
pub struct BuildError {
    what: String,
    next: String,
}

impl BuildError {
    pub(crate) fn new(what: impl Into<String>, next: impl Into<String>) -> BuildError {
        BuildError { what: what.into(), next: next.into() }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nnext: {}", self.what, self.next)
    }
}

impl std::error::Error for BuildError {}

/// Builds the page into the folder `dist` of the project; returns that folder.
///
/// ```no_run
/// use flambeau_page::{Build, build};
/// let (project, public) = (".".into(), "page/public".into());
/// let dist = build(&Build { project, public, profile: "release".into() })?;
/// assert!(dist.join("app.js").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn build(build: &Build) -> Result<PathBuf, BuildError> {
    have_target(&build.project)?;
    let module = compile(build)?;
    let dist = build.project.join("dist");
    let unwritable = |error: io::Error| {
        BuildError::new(format!("{}: {error}", dist.display()), "let it be written, and start again")
    };
    if dist.exists() {
        fs::remove_dir_all(&dist).map_err(unwritable)?;
    }
    copy(&build.public, &dist).map_err(unwritable)?;
    bind(&module, &dist).map_err(|error| {
        BuildError::new(
            format!("the JavaScript around {} cannot be written: {error}", module.display()),
            "`cargo update`, and start again: the crate wasm-bindgen and what writes its JavaScript must be of one version",
        )
    })?;
    Ok(dist)
}

/// A tool of the toolchain, where the user or cargo names another one by this variable.
fn tool(variable: &str, name: &str) -> OsString {
    env::var_os(variable).filter(|value| !value.is_empty()).unwrap_or_else(|| name.into())
}

/// Installs the target, if the compiler has none and rustup is there.
fn have_target(project: &Path) -> Result<(), BuildError> {
    if env::var_os(BUILD_STD).is_some() || has_target(project) {
        return Ok(());
    }
    eprintln!("Installing {TARGET} with rustup: the program is compiled for the browser.");
    let added = Command::new("rustup").args(["target", "add", TARGET]).current_dir(project).status();
    if added.is_ok_and(|status| status.success()) && has_target(project) {
        return Ok(());
    }
    Err(BuildError::new(
        format!("the compiler in use cannot compile for {TARGET}"),
        format!(
            "get `rustup target add {TARGET}` to work, or choose another compiler by CARGO and RUSTC \
             (https://docs.rs/flambeau-page says how)"
        ),
    ))
}

fn has_target(project: &Path) -> bool {
    let mut rustc = Command::new(tool("RUSTC", "rustc"));
    let asked = rustc.args(["--print", "sysroot"]).current_dir(project).output();
    asked.is_ok_and(|output| {
        let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        output.status.success() && sysroot.join("lib/rustlib").join(TARGET).join("lib").is_dir()
    })
}

/// Compiles the project's library; returns the module that cargo says it made.
fn compile(build: &Build) -> Result<PathBuf, BuildError> {
    let mut cargo = Command::new(tool("CARGO", "cargo"));
    cargo.args(["build", "--lib", "--target", TARGET, "--message-format", "json-render-diagnostics"]);
    cargo.args(["--profile", &build.profile]).current_dir(&build.project).stderr(Stdio::inherit());
    let output = cargo.output().map_err(|error| {
        BuildError::new(format!("cargo could not be started: {error}"), "install it from https://rustup.rs")
    })?;
    if !output.status.success() {
        return Err(BuildError::new(
            format!("the program could not be compiled for {TARGET}"),
            "mend what the compiler says above",
        ));
    }
    module(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
        BuildError::new(
            format!("{} has no library that a page can load", build.project.display()),
            "write `crate-type = [\"cdylib\", \"rlib\"]` under [lib] in its Cargo.toml",
        )
    })
}

/// The module that cargo's messages name last: those of what a crate depends on come before it.
fn module(messages: &str) -> Option<PathBuf> {
    let artifact = |line: &str| -> Option<PathBuf> {
        let message: Value = serde_json::from_str(line).ok()?;
        let kinds = message["target"]["kind"].as_array()?;
        let is_module = message["reason"] == "compiler-artifact" && kinds.iter().any(|kind| kind == "cdylib");
        let files = message["filenames"].as_array().filter(|_| is_module)?;
        let name = files.iter().filter_map(Value::as_str).find(|name| name.ends_with(".wasm"))?;
        Some(PathBuf::from(name))
    };
    messages.lines().filter_map(artifact).next_back()
}

/// Writes the module and its JavaScript as `app_bg.wasm` and `app.js`.
fn bind(module: &Path, folder: &Path) -> Result<(), impl fmt::Display> {
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).typescript(false).remove_producers_section(true).out_name(NAME);
    // The page's script finds the module beside it by itself.
    bindgen.omit_default_module_path(false);
    bindgen.web(true).and_then(|bindgen| bindgen.generate(folder))
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_the_one_that_cargo_names() {
        let said = concat!(
            r#"{"reason":"compiler-artifact","target":{"kind":["rlib"]},"filenames":["/t/libother.rlib"]}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"kind":["cdylib","rlib"]},"filenames":["/t/mine.wasm","/t/libmine.rlib"]}"#,
            "\nnot JSON\n",
            r#"{"reason":"build-finished","success":true}"#
        );
        assert_eq!(module(said), Some(PathBuf::from("/t/mine.wasm")));
        assert_eq!(module(said.lines().next().unwrap()), None);
    }

    #[test]
    fn folders_are_copied_whole() {
        let folder = env::temp_dir().join(format!("flambeau-page-{}", std::process::id()));
        fs::create_dir_all(folder.join("public/inner")).unwrap();
        fs::write(folder.join("public/index.html"), "page").unwrap();
        fs::write(folder.join("public/inner/data"), "data").unwrap();
        copy(&folder.join("public"), &folder.join("dist")).unwrap();
        assert_eq!(fs::read_to_string(folder.join("dist/index.html")).unwrap(), "page");
        assert_eq!(fs::read_to_string(folder.join("dist/inner/data")).unwrap(), "data");
        fs::remove_dir_all(folder).unwrap();
    }
}
