//! PyTorch's answers: every case is a program, an optimizer or a schedule with the results that PyTorch gives
//! (`torch/generate.py` draws them), run in one of several orders of evaluation.
//!
//! The generator is started with `FLAMBEAU_PYTHON` (or `/usr/bin/python3`); where it cannot run, and for the sample that
//! continuous integration runs, the recorded cases in `data/` take its place.

mod call;
mod case;
mod elementwise;
mod layers;
mod losses;
mod program;
mod shapes;
mod training;

use crate::session::Session;
use case::Case;
use flambeau::{Device, Result};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// Cases of one run of the generator: it takes a second to start.
const BATCH: u64 = 5000;

/// Recorded cases, as the generator writes them.
const RECORDED: &[u8] = include_bytes!("../../data/torch-sample.jsonl.gz");

/// What came of a case: what is wrong with it, or nothing.
type Verdict = Result<Vec<String>>;

pub fn run(session: &mut Session) {
    let device = session.device();
    let mut source = Source::new(session.seed(), session.is_sample());
    let (mut programs, mut missing) = (0, 0);
    while let Some(number) = session.next() {
        let Some(case) = source.case(number) else {
            missing += 1;
            continue;
        };
        programs += u64::from(case.is_program());
        let Some(verdict) = session.guard(number, &case.title(), || judge(&case, &device, number)) else {
            continue;
        };
        match verdict {
            Ok(failures) if failures.is_empty() => {}
            Ok(failures) => session.fail(number, format!("{}: {}", case.title(), failures.join("; "))),
            Err(error) => session.fail(number, format!("{}: {error}", case.title())),
        }
    }
    session.note(format!("{programs} programs, {missing} not drawn"));
    session.note(if source.python.is_some() { "PyTorch's answers" } else { "recorded answers" });
}

fn judge(case: &Case, device: &Device, number: u64) -> Verdict {
    if !device.is_cpu() && case.needs_cpu() {
        return Ok(Vec::new());
    }
    match case {
        Case::Program(program) => program::judge(program, device, number),
        Case::Optimizer(optimizer) => training::judge_optimizer(optimizer, device),
        Case::Schedule(schedule) => training::judge_schedule(schedule, device),
    }
}

/// Where cases come from, one after the other.
struct Source {
    seed: u64,
    /// The interpreter, unless recorded cases are used.
    python: Option<String>,
    recorded: Vec<String>,
    /// The generator at work: itself, its lines, and the first case it does not give.
    running: Option<(Child, std::io::Lines<BufReader<std::process::ChildStdout>>, u64)>,
    /// A case that was read before it was its turn.
    waiting: Option<Case>,
}

impl Source {
    fn new(seed: u64, sample: bool) -> Source {
        let python = std::env::var("FLAMBEAU_PYTHON").unwrap_or_else(|_| "/usr/bin/python3".into());
        let works = !sample && {
            let test = Command::new(&python).args(["-c", "import torch"]).stderr(Stdio::null()).status();
            test.is_ok_and(|status| status.success())
        };
        let text = if works { Vec::new() } else { recorded_text() };
        let recorded = String::from_utf8_lossy(&text).lines().map(String::from).collect();
        Source { seed, python: works.then_some(python), recorded, running: None, waiting: None }
    }

    /// The case with a number; None if the generator found none.
    fn case(&mut self, number: u64) -> Option<Case> {
        if self.python.is_none() {
            let line = &self.recorded[number as usize % self.recorded.len()];
            return Some(Case::read(line).1);
        }
        if self.running.as_ref().is_none_or(|&(_, _, end)| number >= end) {
            self.start(number);
        }
        if let Some(case) = self.waiting.take() {
            return Some(case);
        }
        let (_, lines, _) = self.running.as_mut()?;
        for line in lines {
            let (found, case) = Case::read(&line.expect("the generator writes text"));
            if found == number {
                return Some(case);
            }
            if found > number {
                self.waiting = Some(case);
                return None;
            }
        }
        None
    }

    fn start(&mut self, first: u64) {
        if let Some((mut child, ..)) = self.running.take() {
            _ = child.wait();
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/torch/generate.py");
        let numbers = [self.seed, first, BATCH].map(|number| number.to_string());
        let python = self.python.as_deref().unwrap_or_default();
        let mut child = Command::new(python)
            .arg(script)
            .args(numbers)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the generator starts, as it did when it was tried");
        let output = child.stdout.take().expect("its output is a pipe");
        self.running = Some((child, BufReader::new(output).lines(), first + BATCH));
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if let Some((mut child, ..)) = self.running.take() {
            _ = child.kill();
            _ = child.wait();
        }
    }
}

fn recorded_text() -> Vec<u8> {
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(RECORDED).read_to_end(&mut text).expect("the recorded cases can be read");
    text
}
