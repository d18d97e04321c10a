//! Attacks on the library (`tools/soak`): one for as long as one likes, or a fixed sample of each. The attack in a browser
//! is the package's own, and its sample is part of the package's tests.

use crate::runner::{Failure, Report};
use crate::setup;
use crate::shell;
use crate::web;
use crate::workspace::Workspace;
use std::process::Command;

/// The attack that takes place in a browser (`packages/flambeau/tests/soak`), as the list of attacks has it.
const BROWSER: (&str, &str) = (
    "browser",
    "a tab killed while it writes checkpoints, a GPU process killed while a page trains, in Chromium",
);

/// `cargo xtask soak NAME [MINUTES] [OPTIONS]`: at full speed.
pub fn attack(workspace: &Workspace, args: &[&str]) -> Result<bool, Failure> {
    let args = match args {
        [name, minutes, further @ ..] if minutes.parse::<f64>().is_ok() => {
            [&[*name, "--minutes", *minutes], further].concat()
        }
        _ => args.to_vec(),
    };
    if let [name, options @ ..] = args.as_slice()
        && *name == BROWSER.0
    {
        web::build(workspace)?;
        return web::attack(workspace, options).map(|()| true);
    }
    let mut build = workspace.cargo(&["build", "--quiet", "--release", "--workspace", "--bin=soak", PROGRAM]);
    shell::run(&mut build, "Mend what the compiler reports above, and start again.")?;
    shell::run(program(workspace, "release").args(&args), REPEAT)?;
    if args.is_empty() {
        println!("{:<10} {}", BROWSER.0, BROWSER.1);
    }
    Ok(true)
}

/// What to do about what an attack has found.
pub const REPEAT: &str = "Each failure above ends with the command that repeats it.";

/// One attack is on the program `flambeau`, which it expects beside itself.
const PROGRAM: &str = "--bin=flambeau";

fn program(workspace: &Workspace, profile: &str) -> Command {
    let program = format!("soak{}", std::env::consts::EXE_SUFFIX);
    workspace.bare(workspace.target.join(profile).join(program))
}

/// A fixed sample of every attack, on the CPU and on the tests' GPU adapter, with debug assertions.
pub fn sample(workspace: &Workspace) -> Result<Report, Failure> {
    // With the tests' features, so that nothing is compiled twice.
    let mut build = workspace.cargo(&["build", "--workspace", "--tests", "--bin=soak", PROGRAM]);
    shell::run(&mut build, "Mend what the compiler reports above, then `cargo xtask test soak`.")?;
    for device in ["cpu", setup::device()] {
        let mut soak = program(workspace, "debug");
        setup::quiet_mesa(&mut soak);
        soak.args(["all", "--device", device]);
        shell::run(&mut soak, REPEAT)?;
    }
    Ok(Report::default())
}
