//! Where things are: the clone, and the cache outside it that lets the next clone's run be quick.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::runner::Failure;

/// The folders the steps work in.
pub struct Workspace {
    /// The root of the clone.
    pub root: PathBuf,
    /// What cargo is given as its target folder.
    pub target: PathBuf,
    /// Programs installed for the checks, kept apart from the user's own.
    pub tools: PathBuf,
}

impl Workspace {
    /// Finds the clone this program was started from, and the cache.
    pub fn locate() -> Result<Self, Failure> {
        // Asked at run time: a build product that outlives its clone would otherwise name a folder that is gone.
        let xtask = env::var_os("CARGO_MANIFEST_DIR")
            .map(PathBuf::from)
            .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
        let root = xtask.parent().filter(|root| root.join("Cargo.toml").is_file()).ok_or_else(|| {
            Failure::new(
                format!("the workspace is not where it was expected, above {}", xtask.display()),
                "Start it as `cargo xtask` inside the clone.",
            )
        })?;
        let cache = cache()?;
        Ok(Self {
            root: root.to_path_buf(),
            target: folder("CARGO_TARGET_DIR").unwrap_or_else(|| cache.join("target")),
            tools: cache.join("tools"),
        })
    }

    /// Cargo, in the clone's root, building into the cache.
    pub fn cargo(&self, args: &[&str]) -> Command {
        // `cargo run` says which cargo it is: the same toolchain then runs the checks.
        let mut command = self.bare(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(args).env("CARGO_TARGET_DIR", &self.target);
        command
    }

    /// Any program, in the clone's root, without what `cargo run` put into the environment about xtask itself:
    /// build scripts may watch those variables, and would run again whenever the checks start differently.
    pub fn bare(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        for (name, _) in env::vars_os() {
            let about_xtask = name.to_str().is_some_and(|name| {
                name.starts_with("CARGO_PKG_")
                    || name.starts_with("CARGO_MANIFEST_")
                    || name == "CARGO_BIN_NAME"
            });
            if about_xtask {
                command.env_remove(name);
            }
        }
        command
    }
}

fn cache() -> Result<PathBuf, Failure> {
    folder("FLAMBEAU_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("flambeau")))
        .or_else(|| env::home_dir().map(|home| home.join(".cache/flambeau")))
        .ok_or_else(|| {
            Failure::new(
                "there is no home folder to keep a cache in",
                "Set FLAMBEAU_CACHE to a folder that can be written.",
            )
        })
}

/// A folder named by the environment, made absolute because the steps run in another folder than the caller's.
fn folder(variable: &str) -> Option<PathBuf> {
    let value = env::var_os(variable).filter(|value| !value.is_empty())?;
    std::path::absolute(value).ok()
}
