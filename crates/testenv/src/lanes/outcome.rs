//! What a test executable said: one result a test, held against its own summary.

use anyhow::{Context, Result, ensure};

/// How a test came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed,
    Ignored,
}

impl Outcome {
    /// The word in the list of results.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed => "FAILED",
            Self::Ignored => "ignored",
        }
    }
}

/// How many tests came out how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) ignored: usize,
}

impl Counts {
    /// Adds one more.
    pub(super) fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Ignored => self.ignored += 1,
        }
    }

    /// The sum of both.
    #[must_use]
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            ignored: self.ignored + other.ignored,
        }
    }

    /// How many tests did something.
    pub(super) fn ran(self) -> usize {
        self.passed + self.failed
    }
}

/// What came of a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcomes {
    pub(super) counts: Counts,
    /// What failed, with its words.
    pub(super) failures: String,
}

/// The named results in the output of a test executable.
///
/// The summary lines count the same tests. Where the two differ, something has garbled the output, and the list would
/// claim too much or too little: that is an error.
pub(super) fn parse(output: &str) -> Result<Vec<(String, Outcome)>> {
    let results: Vec<(String, Outcome)> = output.lines().filter_map(result).collect();
    let mut counts = Counts::default();
    for (_, outcome) in &results {
        counts.count(*outcome);
    }
    let summaries: Vec<Counts> = output.lines().filter_map(summary).collect();
    let summary = summaries.into_iter().reduce(Counts::plus).context("it ended without a summary")?;
    ensure!(counts == summary, "its lines show {counts:?}, its summary says {summary:?}");
    Ok(results)
}

/// `test path::of::test ... ok`
fn result(line: &str) -> Option<(String, Outcome)> {
    let (name, rest) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let outcome = match rest {
        "ok" => Outcome::Passed,
        "FAILED" => Outcome::Failed,
        _ if rest.starts_with("ignored") => Outcome::Ignored,
        _ => return None,
    };
    let markers = [" - should panic", " - compile fail", " - compile"];
    let name = markers.iter().find_map(|marker| name.strip_suffix(marker)).unwrap_or(name);
    Some((name.to_owned(), outcome))
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`
fn summary(line: &str) -> Option<Counts> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |word| counts.split("; ").find_map(|part| part.strip_suffix(word)?.trim().parse().ok());
    Some(Counts { passed: count("passed")?, failed: count("failed")?, ignored: count("ignored")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 5 tests
test a::works ... ok
test b::breaks ... FAILED
test c::waits ... ignored, takes an hour
test d::screams - should panic ... ok
test crates/api/src/lib.rs - Thing (line 3) - compile ... ok

failures:

---- b::breaks stdout ----
test talk that is no result

test result: FAILED. 3 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
";

    #[test]
    fn every_test_is_listed_with_its_outcome() {
        let results = parse(OUTPUT).unwrap();
        let names: Vec<_> = results.iter().map(|(name, outcome)| (name.as_str(), outcome.word())).collect();
        assert_eq!(
            names,
            [
                ("a::works", "ok"),
                ("b::breaks", "FAILED"),
                ("c::waits", "ignored"),
                ("d::screams", "ok"),
                ("crates/api/src/lib.rs - Thing (line 3)", "ok"),
            ]
        );
    }

    #[test]
    fn garbled_output_is_an_error() {
        let garbled = OUTPUT.replace("test a::works ... ok", "test a::works ... noise\nok");
        assert!(parse(&garbled).unwrap_err().to_string().contains("its summary says"));
    }

    #[test]
    fn an_executable_that_dies_has_no_summary() {
        assert!(parse("running 1 test\n").unwrap_err().to_string().contains("without a summary"));
    }

    #[test]
    fn several_summaries_add_up() {
        let twice = format!("{OUTPUT}{OUTPUT}");
        assert_eq!(parse(&twice).unwrap().len(), 10);
    }
}
