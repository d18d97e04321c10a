//! Attacks on the library (`tools/soak`): one for as long as one likes, or a fixed sample of each.

use crate::runner::{Failure, Report};
use crate::setup;
use crate::shell;
use crate::workspace::Workspace;
use std::process::Command;

/// `cargo xtask soak NAME [MINUTES] [OPTIONS]`: at full speed.
pub fn attack(workspace: &Workspace, args: &[&str]) -> Result<bool, Failure> {
    let mut build = workspace.cargo(&["build", "--quiet", "--release", "--workspace", "--bin=soak", PROGRAM]);
    shell::run(&mut build, "Mend what the compiler reports above, and start again.")?;
    let mut soak = program(workspace, "release");
    match args {
        [name, minutes, further @ ..] if minutes.parse::<f64>().is_ok() => {
            soak.args([*name, "--minutes", *minutes]).args(further)
        }
        _ => soak.args(args),
    };
    shell::run(&mut soak, "Each failure above ends with the command that repeats it.")?;
    Ok(true)
}

/// One attack is on the program `flambeau`, which it expects beside itself.
const PROGRAM: &str = "--bin=flambeau";

fn program(workspace: &Workspace, profile: &str) -> Command {
    let program = format!("soak{}", std::env::consts::EXE_SUFFIX);
    workspace.bare(workspace.target.join(profile).join(program))
}

/// A fixed sample of every attack, on the CPU and on the tests' GPU adapter, with debug assertions.
pub fn sample(workspace: &Workspace) -> Result<Report, Failure> {
    let mut build = workspace.cargo(&["build", "--workspace", "--bin=soak", PROGRAM]);
    shell::run(&mut build, "Mend what the compiler reports above, then `cargo xtask test soak`.")?;
    for device in ["cpu", setup::device()] {
        let mut soak = program(workspace, "debug");
        setup::quiet_mesa(&mut soak);
        soak.args(["all", "--device", device]);
        shell::run(&mut soak, "Each failure above ends with the command that repeats it.")?;
    }
    Ok(Report::default())
}
