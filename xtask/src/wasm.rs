//! A compiler for wasm32-unknown-unknown: rustup's where its server can be reached, else Debian's.
//!
//! Debian's packages bring a compiler of their own and the standard library's source, which is then built along
//! with the crate. Slower, but it needs nothing except a Debian mirror.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::runner::Failure;
use crate::setup::apt_install;
use crate::shell;
use crate::workspace::Workspace;

const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's compiler, its cargo, the standard library's source, and a linker that writes WebAssembly.
const DEBIAN_PACKAGES: &[&str] = &["rustc-web", "cargo-web", "rust-web-src", "lld-22"];

/// The cargo in the second of these packages.
const DEBIAN_CARGO: &str = "/usr/bin/cargo";

/// The linker in the last of them.
const DEBIAN_LINKER: &str = "wasm-ld-22";

/// Its own part of the target folder.
const DEBIAN_FOLDER: &str = "debian-rustc";

/// Long enough for the download (some 20 MB) on a slow line, short enough where the server is out of reach.
const RUSTUP_LIMIT: Duration = Duration::from_secs(120);

/// Debian's packages on the machine mean that rustup's server was out of reach before, and probably still is.
const RUSTUP_LIMIT_WITH_DEBIAN: Duration = Duration::from_secs(20);

/// What can build for WebAssembly on this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compiler {
    /// The toolchain in use has the target.
    Toolchain,
    /// Debian's packages.
    Debian,
}

impl Compiler {
    /// Takes the first way that works, installing what it needs.
    pub fn find(workspace: &Workspace) -> Result<Self, Failure> {
        if toolchain_has(workspace, TARGET) {
            return Ok(Self::Toolchain);
        }
        let missing = missing_packages();
        if rustup_adds(workspace, TARGET, "the library must build for the browser", missing.is_empty()) {
            return Ok(Self::Toolchain);
        }
        install_debian("a compiler for WebAssembly, since rustup's cannot be had", TARGET, &missing)?;
        Ok(Self::Debian)
    }

    /// Sees to it that `check_for` can check for these targets: rustup brings the standard library of each, or Debian's compiler builds it from source.
    pub fn prepare_checks(workspace: &Workspace, targets: &[&str]) -> Result<(), Failure> {
        let missing = missing_packages();
        let about = "everything must compile for it";
        let has = |target: &&&str| {
            toolchain_has(workspace, target) || rustup_adds(workspace, target, about, missing.is_empty())
        };
        // Where rustup cannot bring one, it is not asked for the others.
        match targets.iter().find(|target| !has(target)) {
            None => Ok(()),
            Some(target) => install_debian(
                "a compiler that builds the standard library for any platform",
                target,
                &missing,
            ),
        }
    }

    /// What the table says was used.
    pub fn name(self) -> &'static str {
        match self {
            Self::Toolchain => "the toolchain in use",
            Self::Debian => "Debian's rustc-web",
        }
    }

    /// Where it puts what it builds, by profile.
    pub fn folder(self, workspace: &Workspace) -> PathBuf {
        match self {
            Self::Toolchain => workspace.target.join(TARGET),
            Self::Debian => workspace.target.join(DEBIAN_FOLDER).join(TARGET),
        }
    }

    /// `cargo build` for WebAssembly with these further arguments.
    pub fn build(self, workspace: &Workspace, args: &[&str]) -> Command {
        self.command(workspace, "build", args)
    }

    /// The same for one crate, with arguments for the compiler.
    pub fn build_with(self, workspace: &Workspace, args: &[&str], for_compiler: &[&str]) -> Command {
        let mut command = self.command(workspace, "rustc", args);
        command.arg("--").args(for_compiler);
        command
    }

    /// Has a program that starts cargo by itself build with this compiler.
    pub fn choose(self, workspace: &Workspace, program: &mut Command) {
        if self == Self::Debian {
            choose_debian(workspace, program);
            program.env("CARGO", DEBIAN_CARGO).env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort");
        }
    }

    /// `cargo check` for another platform: nothing is linked, so no linker or library of that platform is needed. The standard
    /// library's source stands in for what rustup would bring.
    pub fn check_for(workspace: &Workspace, target: &str, args: &[&str]) -> Command {
        let has_target = toolchain_has(workspace, target);
        let mut command = if has_target { workspace.cargo(&[]) } else { debian_cargo(workspace) };
        command.args(["check", "--target", target]).args(args);
        if !has_target {
            command.arg("-Zbuild-std=std");
        }
        command
    }

    fn command(self, workspace: &Workspace, name: &str, args: &[&str]) -> Command {
        let mut command = match self {
            Self::Toolchain => workspace.cargo(&[]),
            Self::Debian => debian_cargo(workspace),
        };
        command.args([name, "--target", TARGET, "--config", &without_own_paths(workspace)]).args(args);
        if self == Self::Debian {
            command.arg("-Zbuild-std=std,panic_abort");
        }
        command
    }
}

/// Has rustup bring a target's standard library to the toolchain in use; false where it cannot.
fn rustup_adds(workspace: &Workspace, target: &str, about: &str, has_debian: bool) -> bool {
    if !shell::exists("rustup") {
        return false;
    }
    println!("Installing {target} with rustup: {about}.");
    let limit = if has_debian { RUSTUP_LIMIT_WITH_DEBIAN } else { RUSTUP_LIMIT };
    let mut add = workspace.bare("rustup");
    match shell::run_within(limit, add.args(["target", "add", target]), "") {
        Ok(()) if toolchain_has(workspace, target) => return true,
        Ok(()) => println!("note: rustup reports success, yet the toolchain in use lacks the target"),
        Err(failure) => println!("note: {}; Debian's compiler will do", failure.what),
    }
    false
}

/// Installs Debian's compiler, unless nothing of it is missing.
fn install_debian(about: &str, target: &str, missing: &[&str]) -> Result<(), Failure> {
    if missing.is_empty() {
        return Ok(());
    }
    apt_install(about, missing).map_err(|failure| {
        Failure::new(
            failure.what,
            format!("Get `rustup target add {target}` to work, or else:\n{}", failure.next),
        )
    })
}

/// A setting of cargo's that has the module name sources as they are everywhere, not by the folders of this machine: the same
/// sources then give the same bytes in every clone.
fn without_own_paths(workspace: &Workspace) -> String {
    let cargo_home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let folders = [(cargo_home, "/cargo"), (Some(workspace.root.clone()), "/flambeau")];
    let flags: Vec<String> = folders
        .iter()
        .filter_map(|(folder, name)| {
            Some(format!("'--remap-path-prefix={}={name}'", folder.as_ref()?.display()))
        })
        .collect();
    format!("target.{TARGET}.rustflags=[{}]", flags.join(", "))
}

fn toolchain_has(workspace: &Workspace, target: &str) -> bool {
    let sysroot = shell::output(workspace.bare("rustc").args(["--print", "sysroot"]));
    sysroot.is_some_and(|sysroot| Path::new(&sysroot).join("lib/rustlib").join(target).join("lib").is_dir())
}

/// The packages are asked for by name: Debian's plain `rustc`, far older, puts its files into the same places.
fn missing_packages() -> Vec<&'static str> {
    let installed = |package: &str| {
        let mut query = Command::new("dpkg-query");
        shell::output(query.args(["--show", "--showformat=${db:Status-Status}", package])).as_deref()
            == Some("installed")
    };
    DEBIAN_PACKAGES.iter().copied().filter(|package| !installed(package)).collect()
}

fn debian_cargo(workspace: &Workspace) -> Command {
    let mut command = workspace.bare(DEBIAN_CARGO);
    choose_debian(workspace, &mut command);
    command
}

fn choose_debian(workspace: &Workspace, command: &mut Command) {
    // What rustup and `cargo run` set would lead Debian's cargo to the other compiler or its libraries.
    for variable in [
        "CARGO",
        "RUSTUP_TOOLCHAIN",
        "RUSTDOC",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "LD_LIBRARY_PATH",
    ] {
        command.env_remove(variable);
    }
    command
        .env("RUSTC", "/usr/bin/rustc")
        // Building the standard library is an unstable option of a stable compiler.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", DEBIAN_LINKER)
        // Two compilers in one folder would throw each other's work away.
        .env("CARGO_TARGET_DIR", workspace.target.join(DEBIAN_FOLDER));
}
