//! `kill -9` of the program at random moments of a training run that is resumed each time: in the end the weights are
//! those of a run that was left alone, bit for bit.

use crate::random::Random;
use crate::session::Session;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A run of a moment, most of which is spent writing checkpoints.
const RUN: &[&str] =
    &["train", "spirals", "--max-steps", "120", "--checkpoint-every", "1", "--resume", "--json"];
/// Kills of a run before it is left alone.
const KILLS: usize = 4;

/// The program, and a folder for its runs that goes away with its owner.
struct Ground {
    program: PathBuf,
    folder: PathBuf,
    device: String,
}

impl Drop for Ground {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Ground {
    /// The program is beside this one, where one build puts both.
    fn new(device: &str) -> Result<Ground, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let program = own.with_file_name(format!("flambeau{}", std::env::consts::EXE_SUFFIX));
        if !program.is_file() {
            let missing = program.display();
            return Err(format!(
                "{missing} is missing: `cargo build --package flambeau-cli`, or `cargo xtask soak kills`"
            ));
        }
        let folder = std::env::temp_dir().join(format!("flambeau-kills-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Ground { program, folder, device: device.to_owned() })
    }

    fn start(&self, out: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(RUN).args(["--out", out]).current_dir(&self.folder).env("FLAMBEAU_DEVICE", &self.device);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn weights(&self, out: &str) -> Result<Vec<u8>, String> {
        let path = self.folder.join(out).join("model.safetensors");
        std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// A run that nobody disturbs: its weights, and how long it took.
    fn undisturbed(&self, out: &str) -> Result<(Vec<u8>, Duration), String> {
        let start = Instant::now();
        let output = self.start(out).output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(said(&output));
        }
        Ok((self.weights(out)?, start.elapsed()))
    }

    /// One run, killed some times, then left alone: how often it was killed, how often it was resumed, and its weights.
    fn disturbed(&self, length: Duration, random: &mut Random) -> Result<(u64, u64, Vec<u8>), String> {
        let (out, mut killed, mut resumed) = ("run", 0, 0);
        remove(&self.folder.join(out))?;
        for _ in 0..KILLS {
            let mut program = self.start(out).spawn().map_err(|error| error.to_string())?;
            std::thread::sleep(length.mul_f64(random.unit() * 0.6));
            program.kill().map_err(|error| error.to_string())?;
            let output = program.wait_with_output().map_err(|error| error.to_string())?;
            resumed += u64::from(said(&output).contains("resumed after step"));
            match output.status.code() {
                None => killed += 1,
                Some(0) => {}
                Some(code) => return Err(format!("exit code {code}: {}", said(&output))),
            }
        }
        let (weights, _) = self.undisturbed(out)?;
        Ok((killed, resumed, weights))
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn remove(folder: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}

pub fn run(session: &mut Session) {
    let ready = Ground::new(session.device_name()).and_then(|ground| {
        let (weights, length) = ground.undisturbed("whole")?;
        Ok((ground, weights, length))
    });
    let (ground, weights, length) = match ready {
        Ok(ready) => ready,
        Err(error) => return session.fail(0, error),
    };
    let (mut kills, mut resumes) = (0, 0);
    while let Some(case) = session.next() {
        match ground.disturbed(length, &mut session.random(case)) {
            Ok((killed, resumed, found)) => {
                (kills, resumes) = (kills + killed, resumes + resumed);
                if found != weights {
                    session.fail(case, format!("after {killed} kills the weights are others"));
                }
            }
            Err(error) => session.fail(case, error),
        }
    }
    session.note(format!("{kills} kills, {resumes} resumed"));
}
