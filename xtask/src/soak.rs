//! Attacks on the library (`tools/soak`): one for as long as one likes, or a fixed sample of each.

use crate::runner::{Failure, Report};
use crate::setup;
use crate::shell;
use crate::workspace::Workspace;

/// `cargo xtask soak NAME [MINUTES] [OPTIONS]`: at full speed.
pub fn attack(workspace: &Workspace, args: &[&str]) -> Result<bool, Failure> {
    // One attack is on the program, which it expects beside itself.
    let mut build = workspace.cargo(&["build", "--quiet", "--release", "--package", "flambeau-cli"]);
    shell::run(&mut build, "Mend what the compiler reports above.")?;
    let mut cargo = workspace.cargo(&["run", "--quiet", "--release", "--package", "soak", "--"]);
    match args {
        [name, minutes, further @ ..] if minutes.parse::<f64>().is_ok() => {
            cargo.args([*name, "--minutes", *minutes]).args(further)
        }
        _ => cargo.args(args),
    };
    shell::run(&mut cargo, "Each failure above ends with the command that repeats it.")?;
    Ok(true)
}

/// A fixed sample of every attack, on the CPU and on the tests' GPU adapter, with debug assertions.
pub fn sample(workspace: &Workspace) -> Result<Report, Failure> {
    let mut build = workspace.cargo(&["build", "--package", "soak", "--package", "flambeau-cli"]);
    shell::run(&mut build, "Mend what the compiler reports above, then `cargo xtask test soak`.")?;
    for device in ["cpu", setup::device()] {
        let program = format!("soak{}", std::env::consts::EXE_SUFFIX);
        let mut soak = workspace.bare(workspace.target.join("debug").join(program));
        setup::quiet_mesa(&mut soak);
        soak.args(["all", "--device", device]);
        shell::run(&mut soak, "Each failure above ends with the command that repeats it.")?;
    }
    Ok(Report::default())
}
