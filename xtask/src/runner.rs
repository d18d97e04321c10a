//! Runs steps one after the other, with a heading and a duration each, and closes with a table.
//!
//! It knows nothing of what a step does.

use std::fmt;
use std::time::{Duration, Instant};

use crate::workspace::Workspace;

/// One thing that is installed or checked.
pub struct Step {
    /// What it is called on the command line and in the table.
    pub name: &'static str,
    /// What it does, for the heading and the help.
    pub about: &'static str,
    /// Does it.
    pub run: fn(&Workspace) -> Result<Report, Failure>,
}

/// What a step that succeeded has to say.
#[derive(Default)]
pub struct Report {
    /// For its row of the table: what was found or used.
    pub note: String,
    /// Longer lines, repeated below the table because they would be lost in the output above it.
    pub summaries: Vec<String>,
}

impl Report {
    /// A report with only a note.
    pub fn note(note: impl Into<String>) -> Self {
        Self { note: note.into(), summaries: Vec::new() }
    }
}

/// Why a step failed, and what the user can do next.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong.
    pub what: String,
    /// The next thing to do.
    pub next: String,
}

impl Failure {
    /// A failure and the way out of it.
    pub fn new(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), next: next.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "error: {}\nnext:  {}", self.what, self.next.replace('\n', "\n       "))
    }
}

/// Runs the steps up to the first that fails; true if none did.
pub fn run_all(workspace: &Workspace, steps: &[&Step]) -> bool {
    let mut rows = vec![["step".to_string(), "result".into(), "time".into(), String::new()]];
    let (mut summaries, mut failures) = (Vec::new(), Vec::new());
    let (mut passed, mut failed) = (0, 0);
    for (index, step) in steps.iter().enumerate() {
        if failed > 0 {
            rows.push([step.name.into(), "not run".into(), String::new(), String::new()]);
            continue;
        }
        println!("\n==> {}/{} {}: {}", index + 1, steps.len(), step.name, step.about);
        let start = Instant::now();
        let outcome = (step.run)(workspace);
        let time = duration(start.elapsed());
        match outcome {
            Ok(report) => {
                println!("==> {} passed in {time}", step.name);
                passed += 1;
                rows.push([step.name.into(), "passed".into(), time, report.note]);
                summaries.extend(report.summaries);
            }
            Err(failure) => {
                println!("==> {} FAILED after {time}\n\n{failure}", step.name);
                failed += 1;
                rows.push([step.name.into(), "FAILED".into(), time, failure.what.clone()]);
                failures.push(format!("{} FAILED: {failure}", step.name));
            }
        }
    }
    print!("\n{}", table(&rows));
    for summary in &summaries {
        println!("{summary}");
    }
    // Once more at the end: of a long log people, and what keeps logs, see the last lines.
    for failure in &failures {
        println!("\n{failure}");
    }
    println!("\n{passed} passed, {failed} failed");
    failed == 0
}

/// Columns under each other; the time is set to the right so that long steps stand out.
fn table(rows: &[[String; 4]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (name, result, time) = (width(0), width(1), width(2));
    rows.iter()
        .map(|row| {
            let line = format!("{:<name$}  {:<result$}  {:>time$}  {}", row[0], row[1], row[2], row[3]);
            format!("{}\n", line.trim_end())
        })
        .collect()
}

fn duration(time: Duration) -> String {
    let tenths = (time.as_millis() + 50) / 100;
    if tenths < 600 {
        format!("{}.{} s", tenths / 10, tenths % 10)
    } else {
        let seconds = (tenths + 5) / 10;
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        assert_eq!(duration(Duration::from_millis(40)), "0.0 s");
        assert_eq!(duration(Duration::from_millis(12_349)), "12.3 s");
        assert_eq!(duration(Duration::from_millis(59_970)), "1 min 00 s");
        assert_eq!(duration(Duration::from_secs(125)), "2 min 05 s");
    }

    #[test]
    fn table_lines_up() {
        let row = |cells: [&str; 4]| cells.map(String::from);
        let rows = [row(["step", "result", "time", ""]), row(["fmt", "passed", "12.0 s", "fine"])];
        assert_eq!(table(&rows), "step  result    time\nfmt   passed  12.0 s  fine\n");
    }

    #[test]
    fn the_first_failure_ends_the_run() {
        fn good(_: &Workspace) -> Result<Report, Failure> {
            Ok(Report::note("fine"))
        }
        fn bad(_: &Workspace) -> Result<Report, Failure> {
            Err(Failure::new("broken", "Mend it."))
        }
        fn never(_: &Workspace) -> Result<Report, Failure> {
            panic!("a step ran after one that failed")
        }
        let workspace = Workspace { root: ".".into(), target: ".".into(), tools: ".".into() };
        let good = Step { name: "good", about: "", run: good };
        let bad = Step { name: "bad", about: "", run: bad };
        let never = Step { name: "never", about: "", run: never };
        assert!(run_all(&workspace, &[&good]));
        assert!(!run_all(&workspace, &[&good, &bad, &never]));
    }
}
