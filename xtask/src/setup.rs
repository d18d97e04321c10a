//! What the checks need beyond cargo, and how it gets onto the machine.
//!
//! Everything is looked for first; what is missing is installed after saying what it is and why, or, where this
//! program cannot install it, named in an error with the command to type. The WebAssembly compiler is in `wasm`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use crate::runner::{Failure, Report};
use crate::shell;
use crate::workspace::Workspace;

/// The adapter the tests ask for when the user names none: it computes on the CPU, so any machine can have it.
pub const SOFTWARE_ADAPTER: &str = "llvmpipe";

/// The variable that names another adapter.
pub const ADAPTER_VARIABLE: &str = "FLAMBEAU_TEST_ADAPTER";

/// The packages with the software adapter and the Vulkan loader.
const ADAPTER_PACKAGES: &[&str] = &["mesa-vulkan-drivers", "libvulkan1"];

/// The version of cargo-deny that is installed; a newer one that is already there does as well.
const DENY_VERSION: (u32, u32, u32) = (0, 20, 2);

/// The adapter the tests are to ask for.
pub fn adapter() -> String {
    env::var(ADAPTER_VARIABLE).ok().filter(|name| !name.is_empty()).unwrap_or_else(|| SOFTWARE_ADAPTER.into())
}

/// The library's name of the device with that adapter.
pub fn device() -> &'static str {
    if adapter() == SOFTWARE_ADAPTER { "software" } else { "gpu" }
}

/// Gives Mesa the folder in which it looks for a display: without one it complains about each adapter.
pub fn quiet_mesa(command: &mut Command) {
    if env::var_os("XDG_RUNTIME_DIR").is_none() {
        command.env("XDG_RUNTIME_DIR", env::temp_dir());
    }
}

/// A GPU adapter for the tests.
pub fn software_adapter(_: &Workspace) -> Result<Report, Failure> {
    let wanted = adapter();
    if wanted != SOFTWARE_ADAPTER {
        return Ok(Report::note(format!("{ADAPTER_VARIABLE} asks for {wanted}: taken as present")));
    }
    if !cfg!(target_os = "linux") {
        return Err(Failure::new(
            format!("the tests' software adapter, {SOFTWARE_ADAPTER}, can only be installed on Linux"),
            format!("Set {ADAPTER_VARIABLE} to (a part of) the name of this machine's GPU, and start again."),
        ));
    }
    if vulkan_driver().is_none() || vulkan_loader().is_none() {
        apt_install("the GPU tests run on llvmpipe, a software Vulkan adapter", ADAPTER_PACKAGES)?;
    }
    match (vulkan_driver(), vulkan_loader()) {
        (Some(driver), Some(_)) => Ok(Report::note(format!("{SOFTWARE_ADAPTER}: {}", driver.display()))),
        (driver, _) => {
            let missing = if driver.is_none() { "lvp_icd.*.json" } else { "libvulkan.so.1" };
            Err(Failure::new(
                format!("{} are installed, yet there is no {missing}", ADAPTER_PACKAGES.join(" and ")),
                format!(
                    "Set VK_DRIVER_FILES to the driver file, or {ADAPTER_VARIABLE} to another adapter's name."
                ),
            ))
        }
    }
}

/// The driver file by which the Vulkan loader finds llvmpipe.
fn vulkan_driver() -> Option<PathBuf> {
    let is_llvmpipe = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("lvp_icd") && name.ends_with(".json")
    };
    // These variables replace the loader's own search: what they leave out does not exist for it.
    for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
        if let Some(files) = env::var_os(variable).filter(|files| !files.is_empty()) {
            return env::split_paths(&files).find(|path| is_llvmpipe(path) && path.is_file());
        }
    }
    ["/usr/share", "/usr/local/share", "/etc"]
        .iter()
        .flat_map(|folder| entries(&Path::new(folder).join("vulkan/icd.d")))
        .find(is_llvmpipe)
}

/// The Vulkan loader, which drivers do not bring along.
fn vulkan_loader() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> =
        env::var_os("LD_LIBRARY_PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    folders.extend(["/usr/lib", "/usr/lib64", "/usr/local/lib"].map(PathBuf::from));
    // One folder per architecture, as Debian has them.
    folders.extend(
        entries(Path::new("/usr/lib"))
            .into_iter()
            .filter(|path| path.to_string_lossy().ends_with("-linux-gnu")),
    );
    folders.iter().map(|folder| folder.join("libvulkan.so.1")).find(|library| library.exists())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default()
}

/// rustfmt and clippy: rustup's minimal profile comes without them.
pub fn components(workspace: &Workspace) -> Result<Report, Failure> {
    let missing: Vec<&str> = [("fmt", "rustfmt"), ("clippy", "clippy")]
        .into_iter()
        .filter(|(command, _)| shell::output(&mut workspace.cargo(&[command, "--version"])).is_none())
        .map(|(_, component)| component)
        .collect();
    if missing.is_empty() {
        return Ok(Report::note("rustfmt and clippy are there"));
    }
    println!("Installing {}: needed to check the code.", missing.join(" and "));
    let next = format!("Install {} for the toolchain in use, and start again.", missing.join(" and "));
    shell::run(workspace.bare("rustup").args(["component", "add"]).args(&missing), &next)?;
    Ok(Report::note(format!("installed {}", missing.join(" and "))))
}

/// The path of a cargo-deny that understands `deny.toml`.
pub fn cargo_deny(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let own = workspace.tools.join("bin").join(format!("cargo-deny{}", env::consts::EXE_SUFFIX));
    for program in [own.clone(), PathBuf::from("cargo-deny")] {
        let version = shell::output(Command::new(&program).arg("--version"));
        if version.as_deref().and_then(version_of).is_some_and(|version| version >= DENY_VERSION) {
            return Ok(program);
        }
    }
    let (major, minor, patch) = DENY_VERSION;
    let version = format!("{major}.{minor}.{patch}");
    println!(
        "Installing cargo-deny {version} into {}: it checks the licences and sources of all dependencies. About two \
         minutes, once.",
        workspace.tools.display()
    );
    // Unoptimised: it builds in a fraction of the time, and still checks in a second or two.
    let build = workspace.tools.join("build");
    let mut install =
        workspace.cargo(&["install", "cargo-deny", "--version", &version, "--locked", "--debug", "--force"]);
    install
        .arg("--root")
        .arg(&workspace.tools)
        .env("CARGO_TARGET_DIR", &build)
        .env("CARGO_PROFILE_DEV_DEBUG", "0");
    shell::run(
        &mut install,
        "Read the error above; `cargo install cargo-deny --locked` by hand does as well.",
    )?;
    // Kept until here so that an interrupted installation goes on where it stopped; after that, only disk space.
    if let Err(error) = fs::remove_dir_all(&build) {
        println!("note: {} could not be removed: {error}", build.display());
    }
    Ok(own)
}

/// The numbers in `cargo-deny 0.20.2`.
fn version_of(line: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = line.split_whitespace().next_back()?.splitn(3, '.');
    let mut number = || {
        let text = numbers.next()?;
        text.split(['-', '+']).next()?.parse().ok()
    };
    Some((number()?, number()?, number()?))
}

/// Installs Debian packages, saying why.
pub fn apt_install(why: &str, packages: &[&str]) -> Result<(), Failure> {
    let list = packages.join(" ");
    let by_hand = format!("apt-get update && apt-get install -y --no-install-recommends {list}");
    if !shell::exists("apt-get") {
        return Err(Failure::new(
            format!("missing: {list} ({why}), and there is no apt-get to install them with"),
            "Install what your system calls these packages, and start again.",
        ));
    }
    if shell::output(Command::new("id").arg("-u")).as_deref() != Some("0") {
        return Err(Failure::new(
            format!("missing: {list} ({why}), and only root can install packages"),
            format!("Run this, and start again:\nsudo sh -c '{by_hand}'"),
        ));
    }
    println!("Installing {list}: {why}.");
    static UPDATE: Once = Once::new();
    UPDATE.call_once(|| {
        // One unreachable source must not stand in the way of packages that come from another.
        if let Err(failure) = shell::run(&mut apt_get(&["update"]), "") {
            println!("note: {}; trying with the package lists as they are", failure.what);
        }
    });
    let mut install = apt_get(&["install", "-y", "--no-install-recommends"]);
    shell::run(
        install.args(packages),
        &format!("Read apt-get's error above, repair, and start again:\n{by_hand}"),
    )
}

fn apt_get(args: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    // One line per package: the progress bars are for terminals, and fill a log.
    command.args(["-qq", "-o", "Dpkg::Use-Pty=0"]).args(args).env("DEBIAN_FRONTEND", "noninteractive");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        assert_eq!(version_of("cargo-deny 0.20.2"), Some((0, 20, 2)));
        assert_eq!(version_of("cargo-deny 1.0.0-rc.1"), Some((1, 0, 0)));
        assert_eq!(version_of("no version"), None);
        assert!(version_of("cargo-deny 0.9.12") < version_of("cargo-deny 0.20.2"));
    }
}
