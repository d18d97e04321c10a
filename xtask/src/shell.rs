//! Starting other programs: shown before they run, and with an error that names the command.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::runner::Failure;

/// Runs a command whose output goes straight to the user. `next` is what to do if it fails.
pub fn run(command: &mut Command, next: &str) -> Result<(), Failure> {
    show(command);
    let status = command.status().map_err(|error| not_started(command, &error))?;
    check(command, status, next)
}

/// As [`run`], but gives up after a while: for what may wait for a server that does not answer.
pub fn run_within(limit: Duration, command: &mut Command, next: &str) -> Result<(), Failure> {
    show(command);
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| not_started(command, &error))?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return check(command, status, next),
            Ok(None) if start.elapsed() < limit => thread::sleep(Duration::from_millis(50)),
            Ok(None) => {
                // It may just have ended by itself, which is as good.
                let _ = child.kill();
                let _ = child.wait();
                return Err(Failure::new(
                    format!("`{}` had not finished after {} s", describe(command), limit.as_secs()),
                    next,
                ));
            }
            Err(error) => return Err(not_started(command, &error)),
        }
    }
}

/// What a command prints, if it can be started and succeeds. Nothing reaches the user.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// Whether a program can be started at all.
pub fn exists(program: &str) -> bool {
    output(Command::new(program).arg("--version")).is_some()
}

/// Prints the command as one would type it.
pub fn show(command: &Command) {
    println!("$ {}", describe(command));
}

/// Turns a bad exit status into a failure.
pub fn check(command: &Command, status: ExitStatus, next: &str) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("`{}` failed ({status})", describe(command)), next))
}

/// The failure of a program that could not even be started.
pub fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    let program = command.get_program().to_string_lossy();
    Failure::new(
        format!("`{program}` could not be run: {error}"),
        format!("Install `{program}`, or put its folder into PATH, and start again."),
    )
}

/// The command's line without its environment; a toolchain's own cargo is called cargo.
pub fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = match program.file_name() {
        Some(name) if name == "cargo" && program != Path::new("/usr/bin/cargo") => name,
        _ => program.as_os_str(),
    };
    std::iter::once(program)
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_is_named_with_what_to_do_next() {
        let failure = run(&mut Command::new("false"), "Try `true`.").expect_err("false fails");
        assert!(failure.what.contains("`false` failed"), "{failure}");
        assert_eq!(failure.next, "Try `true`.");
        assert!(run(&mut Command::new("true"), "").is_ok());
        let failure = run(&mut Command::new("no-such-program"), "").expect_err("it does not exist");
        assert!(failure.what.contains("`no-such-program` could not be run"), "{failure}");
    }

    #[test]
    fn a_slow_command_is_given_up() {
        let mut slow = Command::new("sleep");
        let failure = run_within(Duration::from_millis(100), slow.arg("10"), "Wait.")
            .expect_err("sleep 10 takes longer");
        assert!(failure.what.contains("`sleep 10` had not finished"), "{failure}");
        assert!(run_within(Duration::from_secs(10), &mut Command::new("true"), "").is_ok());
    }

    #[test]
    fn output_is_only_that_of_success() {
        assert_eq!(output(Command::new("echo").arg("hello")), Some("hello".into()));
        assert_eq!(output(&mut Command::new("false")), None);
    }
}
