//! Running test executables, a few at a time, and keeping what came of each test.

use std::fmt::Write as _;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use testenv::{Program, Signal, Stopwatch};

use super::Expect;
use super::executables::cargo;
use super::outcome::{Counts, Outcome, Outcomes, parse};
use super::words;
use crate::cli::say;

/// An executable that takes longer hangs.
const PATIENCE: Duration = Duration::from_mins(15);
/// The big numbers take their time.
const MUCH_PATIENCE: Duration = Duration::from_hours(3);

/// How long the last words of an executable that has ended may take to arrive. Longer means that something it started
/// still holds its output open.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How often a running executable is looked at.
const PERIOD: Duration = Duration::from_millis(20);

/// Lines that tests print with this are repeated here: how many seeds ran, which one failed.
const REMARK: &str = "lane: ";

/// The tests of one lane.
pub(super) struct Suite {
    file: PathBuf,
    list: String,
    came: Outcomes,
    patience: Duration,
}

impl Suite {
    /// A lane that writes its list to `file`.
    pub(super) fn new(file: PathBuf) -> Self {
        Self { file, list: String::new(), came: Outcomes::default(), patience: PATIENCE }
    }

    /// The same with much more time for each executable.
    pub(super) fn patient(mut self) -> Self {
        self.patience = MUCH_PATIENCE;
        self
    }

    /// Runs executables, each under a name, in this order, `at_once` at a time: while one of them waits, or has one long
    /// test left, another goes on.
    pub(super) fn run(&mut self, tests: &[(String, Command)], at_once: usize) -> Result<()> {
        let patience = self.patience;
        let (next, suite) = (AtomicUsize::new(0), Mutex::new(self));
        let work = || {
            while let Some((name, command)) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                let ran = Ran::of(name, command, patience);
                suite.lock().unwrap_or_else(PoisonError::into_inner).keep(&ran)?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
        })
    }

    /// Runs the examples in the documentation. Cargo alone can compile and run them.
    pub(super) fn run_documentation(&mut self, root: &Path) -> Result<()> {
        let mut command = Command::new(cargo());
        command.args(["test", "--release", "--workspace", "--doc"]).current_dir(root);
        self.keep(&Ran::of("workspace::documentation", &command, self.patience))
    }

    /// Keeps what came of an executable, and tells it.
    fn keep(&mut self, ran: &Ran) -> Result<()> {
        let Ran { name, results, complaint, .. } = ran;
        let mut counts = Counts::default();
        for (test, outcome) in results {
            counts.count(*outcome);
            writeln!(self.list, "{name}::{test} {}", outcome.word()).context("a string takes any text")?;
            if *outcome == Outcome::Failed {
                let words = words::of_failure(&ran.output, test);
                write!(self.came.failures, "{name}::{test}\n{words}").context("a string takes any text")?;
            }
        }
        if let Some(complaint) = complaint {
            counts.count(Outcome::Failed);
            writeln!(self.list, "{name}::{complaint} {}", Outcome::Failed.word()).context("a string takes any text")?;
            writeln!(self.came.failures, "{name}: {complaint}").context("a string takes any text")?;
        }
        self.came.counts = self.came.counts.plus(counts);
        ran.report(counts);
        Ok(())
    }

    /// Writes the list and returns what came of the lane.
    pub(super) fn finish(self, expect: Expect) -> Result<Outcomes> {
        std::fs::write(&self.file, &self.list).with_context(|| format!("write {}", self.file.display()))?;
        expect.check(self.came.counts)?;
        Ok(self.came)
    }
}

/// An executable that has run.
struct Ran {
    name: String,
    took: Duration,
    results: Vec<(String, Outcome)>,
    /// What is wrong with the executable as a whole.
    complaint: Option<String>,
    output: String,
}

impl Ran {
    fn of(name: &str, command: &Command, patience: Duration) -> Self {
        let watch = Stopwatch::start();
        let program = Program::start(command);
        let status = wait(&program, patience);
        let output = program.output();
        let (results, complaint) = judge(status, &output);
        Self { name: name.to_owned(), took: watch.elapsed(), results, complaint, output }
    }

    fn report(&self, counts: Counts) {
        if counts == Counts::default() {
            return;
        }
        let Self { name, took, complaint, output, .. } = self;
        if counts.failed > 0 {
            say(output);
        }
        if let Some(complaint) = complaint {
            say(&format!("{name}: {complaint}"));
        }
        let Counts { passed, failed, ignored } = counts;
        let took = took.as_secs_f64();
        say(&format!("{name:<50} {passed:>4} passed {failed:>3} failed {ignored:>3} ignored {took:>7.1} s"));
        for remark in output.lines().filter_map(remark) {
            say(&format!("  {remark}"));
        }
    }
}

/// Waits for a program to end and for its last words; `None` if it took too long and was killed.
fn wait(program: &Program, patience: Duration) -> Option<ExitStatus> {
    let status = within(patience, || program.ended());
    if status.is_none() {
        program.signal(Signal::Kill);
    }
    within(LAST_WORDS, || program.is_silent().then_some(()));
    status
}

/// Looks again and again until there is something to see, or the time is up.
fn within<T>(patience: Duration, look: impl Fn() -> Option<T>) -> Option<T> {
    let watch = Stopwatch::start();
    loop {
        let seen = look();
        if seen.is_some() || watch.elapsed() >= patience {
            return seen;
        }
        std::thread::sleep(PERIOD);
    }
}

/// The results of an executable, and what is wrong with the executable as a whole.
fn judge(status: Option<ExitStatus>, output: &str) -> (Vec<(String, Outcome)>, Option<String>) {
    let parsed = parse(output);
    let failed = parsed.as_ref().is_ok_and(|results| results.iter().any(|(_, outcome)| *outcome == Outcome::Failed));
    let complaint = match (status, &parsed) {
        (None, _) => Some("it hung and was killed".to_owned()),
        (Some(status), Err(error)) => Some(format!("it ended with {status}: {error}")),
        (Some(status), Ok(_)) if !status.success() && !failed => {
            Some(format!("it ended with {status} though no test failed"))
        }
        (Some(_), Ok(_)) => None,
    };
    (parsed.unwrap_or_default(), complaint)
}

/// What a line tells the reader of the lane. A test that runs alone has its name before its first words.
fn remark(line: &str) -> Option<&str> {
    let named = || line.strip_prefix("test ")?.split_once(" ... ").map(|(_, words)| words);
    line.strip_prefix(REMARK).or_else(|| named()?.strip_prefix(REMARK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use testenv::Stream;

    const GOOD: &str = "test a ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\n";
    const BAD: &str = "test a ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured\n";

    fn script(text: &str, code: u8) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("printf '%s' \"$0\"; exit {code}"), text]);
        command
    }

    fn after(command: &Command, patience: Duration) -> (Counts, String) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("unit.txt");
        let mut suite = Suite { patience, ..Suite::new(file.clone()) };
        suite.keep(&Ran::of("crate::target", command, patience)).unwrap();
        let counts = suite.finish(Expect::Anything).unwrap().counts;
        (counts, std::fs::read_to_string(file).unwrap())
    }

    #[test]
    fn a_remark_is_found_behind_the_name_of_a_test_too() {
        assert_eq!(remark("lane: 5 seeds"), Some("5 seeds"));
        assert_eq!(remark("test a_thing ... lane: 5 seeds"), Some("5 seeds"));
        assert_eq!(remark("test a_thing ... ok"), None);
        assert_eq!(remark("it says lane: 5"), None);
    }

    #[test]
    fn the_list_names_package_target_and_test() {
        let (counts, list) = after(&script(GOOD, 0), PATIENCE);
        assert_eq!((counts.passed, counts.failed), (1, 0));
        assert_eq!(list, "crate::target::a ok\n");
        let (counts, list) = after(&script(BAD, 101), PATIENCE);
        assert_eq!((counts.passed, counts.failed), (0, 1));
        assert_eq!(list, "crate::target::a FAILED\n");
    }

    #[test]
    fn an_executable_that_crashes_after_its_tests_is_a_failure() {
        let (counts, list) = after(&script(GOOD, 139), PATIENCE);
        assert_eq!((counts.passed, counts.failed), (1, 1), "{list}");
    }

    #[test]
    fn an_executable_that_crashes_before_its_summary_is_a_failure() {
        let (counts, list) = after(&script("test a ... ok\n", 134), PATIENCE);
        assert_eq!(counts.failed, 1, "{list}");
    }

    #[test]
    fn an_executable_that_hangs_is_killed_and_is_a_failure() {
        let mut command = Command::new("sleep");
        command.arg("1000");
        let (counts, list) = after(&command, Duration::from_millis(200));
        assert_eq!(counts.failed, 1);
        assert!(list.contains("hung"), "{list}");
    }

    #[test]
    fn executables_run_side_by_side_and_each_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| directory.path().join(name));
        // Each waits until the other has begun.
        let meets = |own: &Path, other: &Path| {
            let mut command = Command::new("sh");
            let script = format!("touch \"$0\"; until [ -e \"$1\" ]; do sleep 0.01; done; printf '%s' '{GOOD}'");
            command.args(["-c", &script]).args([own, other]);
            command
        };
        let file = directory.path().join("unit.txt");
        let mut suite = Suite { patience: Duration::from_secs(20), ..Suite::new(file) };
        let tests = [("one".to_owned(), meets(&one, &other)), ("other".to_owned(), meets(&other, &one))];
        suite.run(&tests, 2).unwrap();
        let counts = suite.finish(Expect::Tests).unwrap().counts;
        assert_eq!((counts.passed, counts.failed), (2, 0));
    }

    #[test]
    fn a_lane_without_tests_is_an_error_where_there_must_be_some() {
        let directory = tempfile::tempdir().unwrap();
        let suite = || Suite::new(directory.path().join("real.txt"));
        assert!(suite().finish(Expect::Tests).is_err());
        assert!(suite().finish(Expect::Anything).is_ok());
    }

    #[test]
    fn what_a_test_says_on_both_streams_is_read() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2"]);
        let program = Program::start(&command);
        wait(&program, PATIENCE).unwrap();
        let streams: Vec<Stream> = program.lines().into_iter().map(|line| line.stream).collect();
        assert!(streams.contains(&Stream::Out) && streams.contains(&Stream::Err));
    }
}
