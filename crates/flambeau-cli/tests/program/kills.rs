//! Runs that are stopped in every way there is, and taken up again, end as if nothing had happened.

use crate::support::*;
use flambeau::Generator;
use flambeau::data::HostRandom;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const RUN: &[&str] =
    &["train", "spirals", "--epochs", "150", "--checkpoint-every", "7", "--resume", "--json"];

#[track_caller]
fn assert_same_end(result: &Value, whole: &Value) {
    for name in ["test_loss", "train_loss", "test_accuracy", "steps", "epochs"] {
        assert_eq!(result[name], whole[name], "{name}: {result} {whole}");
    }
}

/// Kills the program, `FLAMBEAU_KILLS` times (10 if not set), at moments that a seed gives.
#[test]
fn killed_at_random_moments() {
    let kills: usize =
        std::env::var("FLAMBEAU_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(10);
    let seed = std::env::var("FLAMBEAU_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64);
    println!("FLAMBEAU_SEED={seed}");
    let folder = Folder::new("kills");
    let start = SystemTime::now();
    let whole = json(folder.path(), &[&RUN[..RUN.len() - 1], &["--out", "whole"]].concat());
    let length = start.elapsed().unwrap().as_secs_f64();
    let mut random = HostRandom::new(&Generator::new(seed));
    let (mut killed, mut resumed, mut finished) = (0, 0, 0);
    while killed < kills {
        let mut program = command(folder.path(), &[RUN, &["--out", "run"]].concat());
        let mut program = program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs_f64(length * 0.6 * random.uniform()));
        program.kill().unwrap();
        let output = program.wait_with_output().unwrap();
        resumed += usize::from(stderr(&output).contains("resumed after step"));
        if output.status.success() {
            finished += 1;
            std::fs::remove_dir_all(folder.join("run")).unwrap();
        } else {
            assert_eq!(output.status.code(), None, "{}", stderr(&output));
            killed += 1;
        }
    }
    println!("{killed} kills, {resumed} resumed, {finished} finished before");
    assert!(resumed > 0 || kills == 0);
    let result = json(folder.path(), &[&RUN[..RUN.len() - 1], &["--out", "run"]].concat());
    assert_same_end(&result, &whole);
    assert_files(folder.path(), &result);
    let evaluated = json(folder.path(), &["eval", "run/model.safetensors"]);
    assert_eq!(evaluated["items"], 1000);
}

/// Ctrl-C writes a checkpoint and names the command that goes on; that command does.
#[cfg(unix)]
#[test]
fn interrupted_and_resumed_by_the_command_it_names() {
    let folder = Folder::new("interrupt");
    let run = ["train", "spirals", "--epochs", "150", "--json"];
    let whole = json(folder.path(), &[&run[..4], &["--out", "whole"]].concat());
    let mut program = command(folder.path(), &[&run[..], &["--out", "a run's folder"]].concat());
    let mut program = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut words = BufReader::new(program.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("step ") {
        line.clear();
        assert!(words.read_line(&mut line).unwrap() > 0, "it ended before its first step");
    }
    let pid = program.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let rest: Vec<String> = words.lines().map_while(Result::ok).collect();
    let output = program.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{rest:?}");
    let stopped = parsed(&output);
    assert_eq!(stopped["stopped"], true);
    let command = stopped["resume"].as_str().unwrap();
    assert!(rest.iter().any(|line| line.ends_with(command)), "{rest:?}");
    assert!(stopped["steps"].as_u64().unwrap() < 1500, "{stopped}");
    let mut shell = std::process::Command::new("sh");
    let output = shell
        .args(["-c", command])
        .current_dir(folder.path())
        .env("FLAMBEAU_DEVICE", "cpu")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let result = parsed(&output);
    assert_eq!(result["resumed_from"], stopped["steps"]);
    assert_same_end(&result, &whole);
}

/// A finished run that is resumed has nothing left to do, and says the same again.
#[test]
fn a_finished_run_is_resumed() {
    let folder = Folder::new("finished");
    let run = ["train", "spirals", "--max-steps", "50", "--resume"];
    let first = json(folder.path(), &run);
    let second = json(folder.path(), &run);
    assert_eq!(second["resumed_from"], 50);
    assert_same_end(&second, &first);
}
