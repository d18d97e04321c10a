//! Reads what `cargo test -- --show-output` prints: hides the output of tests that passed, and adds up the results.
//!
//! Tests report figures worth keeping (how many ops were compared, the largest error) on lines that begin with
//! `summary: `. The harness shows a passing test's lines only together with all others', hence this filter.

/// What begins a line that a test wants the user to see.
const SUMMARY: &str = "summary: ";

/// The results of all test binaries so far.
#[derive(Debug, Default, PartialEq)]
pub struct Results {
    /// Tests that passed.
    pub passed: usize,
    /// Tests that failed.
    pub failed: usize,
    /// Tests that were not run.
    pub ignored: usize,
    /// The names of those that failed.
    pub failures: Vec<String>,
    /// The lines that begin with `summary: `.
    pub summaries: Vec<String>,
    in_successes: bool,
}

impl Results {
    /// Takes note of one line; true if the user should see it.
    pub fn line(&mut self, line: &str) -> bool {
        if line.starts_with(SUMMARY) {
            self.summaries.push(line.to_string());
            return true;
        }
        match line {
            "successes:" => self.in_successes = true,
            "failures:" => self.in_successes = false,
            _ => {}
        }
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.in_successes = false;
            self.passed += count(counts, "passed");
            self.failed += count(counts, "failed");
            self.ignored += count(counts, "ignored");
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failures.push(name.to_string());
        }
        !self.in_successes
    }

    /// One line for the table.
    pub fn total(&self) -> String {
        format!("{} passed, {} failed, {} ignored", self.passed, self.failed, self.ignored)
    }
}

/// The number before a word in `ok. 3 passed; 0 failed; 1 ignored; …`.
fn count(counts: &str, word: &str) -> usize {
    let words: Vec<&str> = counts.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
    words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 3 tests
test ops::table ... ok
test ops::slow ... ignored
test ops::sum ... FAILED

successes:

---- ops::table stdout ----
a line nobody needs
summary: 140 ops, largest error 3e-7

successes:
    ops::table

failures:

---- ops::sum stdout ----
expected 3, got 4

failures:
    ops::sum

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.02s

running 2 tests
test a ... ok
test b ... ok

successes:

successes:
    a
    b

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn results_of_all_binaries_are_added_up() {
        let mut results = Results::default();
        for line in OUTPUT.lines() {
            results.line(line);
        }
        assert_eq!((results.passed, results.failed, results.ignored), (3, 1, 1));
        assert_eq!(results.failures, ["ops::sum"]);
        assert_eq!(results.summaries, ["summary: 140 ops, largest error 3e-7"]);
        assert_eq!(results.total(), "3 passed, 1 failed, 1 ignored");
    }

    #[test]
    fn passing_tests_are_quiet_but_for_their_summary() {
        let mut results = Results::default();
        let seen: Vec<&str> = OUTPUT.lines().filter(|line| results.line(line)).collect();
        assert!(seen.contains(&"summary: 140 ops, largest error 3e-7"));
        assert!(seen.contains(&"expected 3, got 4"));
        assert!(seen.contains(&"test b ... ok"));
        assert!(!seen.contains(&"a line nobody needs"));
        assert!(!seen.contains(&"    ops::table"));
    }
}
