//! What the last test run said, written by the lanes of `make test`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::tests_found::TestFound;
use crate::finding::Finding;

/// Where the lanes write, below the root: one `<crate>::<program>::<test path> ok|FAILED|ignored` a line.
const FOLDER: &str = "target/test-results";

/// Every test of the last run.
#[derive(Clone, Debug, Default)]
pub struct Results {
    lines: Vec<Line>,
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It passed.
    Ok,
    /// It failed.
    Failed,
    /// It was not run.
    Ignored,
}

#[derive(Clone, Debug)]
struct Line {
    krate: String,
    program: String,
    path: String,
    outcome: Outcome,
}

impl Results {
    /// Reads what the lanes left below `root`.
    pub fn read(root: &Path) -> Result<Self> {
        let folder = root.join(FOLDER);
        let entries = fs::read_dir(&folder)
            .with_context(|| format!("there is no {FOLDER}: run `make test` first, its lanes write it"))?;
        let mut texts = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "txt") {
                texts.push(fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?);
            }
        }
        Ok(Self::parse(&texts.join("\n")))
    }

    /// Reads result lines; lines of another form are passed over.
    pub fn parse(text: &str) -> Self {
        Self { lines: text.lines().filter_map(line).collect() }
    }

    /// Tagged tests that did not run, or did not pass.
    pub fn check(&self, found: &[TestFound]) -> Vec<Finding> {
        let problem = |test: &TestFound| {
            let outcomes: Vec<Outcome> = self.lines.iter().filter(|line| line.is_of(test)).map(|l| l.outcome).collect();
            let says = if outcomes.is_empty() {
                "did not run in the last `make test`"
            } else if outcomes.contains(&Outcome::Failed) {
                "failed"
            } else if outcomes.contains(&Outcome::Ok) {
                return None;
            } else {
                "is ignored: a test that verifies a requirement must run"
            };
            let tags: Vec<String> = test.tags.iter().map(ToString::to_string).collect();
            Some(Finding::new(&test.file, format!("`{}` ({}) {says}", test.path, tags.join(", "))))
        };
        found.iter().filter_map(problem).collect()
    }
}

impl Line {
    /// Tables run as one case per row below the test's own path, so those count as the test.
    fn is_of(&self, test: &TestFound) -> bool {
        let case = self.path.strip_prefix(&test.path).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
        let program = test.program.as_ref().is_none_or(|program| *program == self.program);
        case && program && self.krate == test.krate
    }
}

fn line(text: &str) -> Option<Line> {
    let (name, outcome) = text.trim().rsplit_once(char::is_whitespace)?;
    let outcome = match outcome {
        "ok" => Outcome::Ok,
        "FAILED" => Outcome::Failed,
        "ignored" => Outcome::Ignored,
        _ => return None,
    };
    let mut parts = name.trim().splitn(3, "::");
    let (krate, program, path) = (parts.next()?, parts.next()?, parts.next()?);
    Some(Line { krate: short(krate), program: program.to_owned(), path: path.to_owned(), outcome })
}

/// Packages are `hyperfleet-api` where the architecture says `api`.
fn short(package: &str) -> String {
    package.trim_start_matches("hyperfleet").trim_start_matches(['-', '_']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::find_tests;
    use crate::tree::Tree;

    fn says(results: &str) -> Vec<String> {
        let tree = Tree::of([
            ("crates/a/src/b.rs", "#[test] fn r3_8_unit() {}"),
            ("crates/a/tests/it.rs", "#[rstest] fn p9_table() {}"),
        ]);
        Results::parse(results).check(&find_tests(&tree)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn tests_that_ran_and_passed_are_fine() {
        let run = "hyperfleet-a::hyperfleet_a::b::r3_8_unit ok\nhyperfleet-a::it::p9_table::case_1 ok\nnoise\n";
        assert!(says(run).is_empty());
    }

    #[test]
    fn tests_that_did_not_run_are_named() {
        assert_eq!(
            says("hyperfleet-a::other::p9_table ok\nhyperfleet-b::b::b::r3_8_unit ok\n"),
            [
                "crates/a/src/b.rs: `b::r3_8_unit` (R3.8) did not run in the last `make test`",
                "crates/a/tests/it.rs: `p9_table` (P9) did not run in the last `make test`",
            ]
        );
    }

    #[test]
    fn failed_and_ignored_tests_are_named() {
        let run = "a::a::b::r3_8_unit ignored\na::it::p9_table::case_1 ok\na::it::p9_table::case_2 FAILED\n";
        assert_eq!(
            says(run),
            [
                "crates/a/src/b.rs: `b::r3_8_unit` (R3.8) is ignored: a test that verifies a requirement must run",
                "crates/a/tests/it.rs: `p9_table` (P9) failed",
            ]
        );
    }

    #[test]
    fn a_test_that_one_lane_leaves_to_another_is_fine() {
        assert!(says("a::a::b::r3_8_unit ignored\na::a::b::r3_8_unit ok\na::it::p9_table ok\n").is_empty());
    }

    #[test]
    fn every_lane_of_the_last_run_is_read() {
        let root = tempfile::tempdir().unwrap();
        let missing = Results::read(root.path()).unwrap_err().to_string();
        assert_eq!(missing, "there is no target/test-results: run `make test` first, its lanes write it");
        let folder = root.path().join(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("unit.txt"), "a::a::b::r3_8_unit ok\n").unwrap();
        fs::write(folder.join("integration.txt"), "a::it::p9_table ok").unwrap();
        fs::write(folder.join("notes.md"), "a::it::other ok").unwrap();
        assert_eq!(Results::read(root.path()).unwrap().lines.len(), 2);
    }
}
