//! The lanes of `make test`: which tests run, with what around them, and what came of it.
//!
//! | lane | what runs |
//! |---|---|
//! | lint | formatting, clippy, everything generated, dependency edges, file sizes |
//! | unit | every test of libraries and programs, documentation, and `tests/*.rs` that no other lane claims |
//! | virtual | `tests/virtual_*.rs`: whole operators in virtual time |
//! | real | `tests/real_*.rs`: against one real control plane, started for the lane |
//! | soak | every ignored test named `soak_…`, with a control plane |
//! | trace | that every test which claims a requirement ran and passed |
//!
//! Everything was compiled before, in one go; the lanes only run what is there.

mod checks;
mod executables;
mod outcome;
mod suite;
mod table;
mod words;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use testenv::{CONTROL_PLANE_VARIABLE, ControlPlane, Stopwatch};

use crate::cli::say;
use crate::wrap;
use executables::{Built, TestExecutable};
use outcome::{Counts, Outcomes};
use suite::Suite;
use table::Row;

/// One lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lane {
    /// Formatting, lints, generated files, dependency edges, file sizes.
    Lint,
    /// Unit and property tests.
    Unit,
    /// Whole operators in virtual time.
    Virtual,
    /// Integration with the real control plane.
    Real,
    /// The big numbers.
    Soak,
    /// Requirements and the tests that verify them.
    Trace,
}

impl Lane {
    fn name(self) -> &'static str {
        match self {
            Self::Lint => "lint",
            Self::Unit => "unit",
            Self::Virtual => "virtual",
            Self::Real => "real",
            Self::Soak => "soak",
            Self::Trace => "trace",
        }
    }

    /// What a warm run on two cores should take.
    fn budget(self) -> Option<Duration> {
        match self {
            Self::Lint | Self::Unit => Some(Duration::from_mins(2)),
            Self::Virtual => Some(Duration::from_mins(3)),
            Self::Real => Some(Duration::from_mins(5)),
            Self::Soak | Self::Trace => None,
        }
    }
}

/// Runs the lanes, prints the table, and fails if anything failed.
pub(crate) fn run(lanes: &[Lane], compiling: Duration) -> Result<ExitCode> {
    let watch = Stopwatch::start();
    let built = Built::find()?;
    let results = Results::at(&built.root)?;
    if lanes.contains(&Lane::Trace) {
        // A test that was renamed or removed must not live on in an old file.
        results.clear()?;
    }
    let (mut rows, mut failures) = (vec![Row::untested("build", compiling + watch.elapsed())], String::new());
    for lane in lanes {
        say(&format!("\n== {}", lane.name()));
        let watch = Stopwatch::start();
        let ran = run_lane(*lane, &built, &results).with_context(|| format!("lane {}", lane.name()))?;
        rows.push(Row::tested(lane.name(), watch.elapsed(), lane.budget(), ran.counts));
        failures += &ran.failures;
    }
    if !failures.is_empty() {
        say(&format!("\n== failed\n{failures}"));
    }
    say(&format!("\n{}", table::render(&rows)));
    let failed = rows.iter().any(Row::failed);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn run_lane(lane: Lane, built: &Built, results: &Results) -> Result<Outcomes> {
    match lane {
        Lane::Lint => checks::lint(built),
        Lane::Trace => checks::trace(built),
        Lane::Unit => {
            let mut suite = Suite::new(results.file(lane));
            suite.run(&commands(built, lane, |test| test.command(&[])), AT_ONCE)?;
            suite.run_documentation(&built.root)?;
            suite.finish(Expect::Tests)
        }
        Lane::Virtual => {
            let mut suite = Suite::new(results.file(lane));
            suite.run(&commands(built, lane, |test| test.command(&["--show-output"])), AT_ONCE)?;
            suite.finish(Expect::Anything)
        }
        Lane::Real => {
            let plane = start_plane()?;
            let mut suite = Suite::new(results.file(lane));
            // They wait more than they compute, so more of them than cores make progress at once.
            let command = |test: &TestExecutable| with_plane(&plane, test.command(&["--test-threads=4"]));
            suite.run(&commands(built, lane, command), WAITING_AT_ONCE)?;
            suite.finish(Expect::Tests)
        }
        Lane::Soak => {
            let plane = start_plane()?;
            let mut suite = Suite::new(results.file(lane)).patient();
            let command =
                |test: &TestExecutable| with_plane(&plane, test.command(&["--show-output", "--ignored", "soak_"]));
            let tests: Vec<_> = built.tests.iter().map(|test| (test.name(), command(test))).collect();
            suite.run(&tests, 1)?;
            suite.finish(Expect::Anything)
        }
    }
}

/// Executables that run at the same time.
const AT_ONCE: usize = 2;
/// The same for those that wait for real programs: two of them leave a core idle.
const WAITING_AT_ONCE: usize = 3;

/// The executables of a lane, each with how it is run.
fn commands(built: &Built, lane: Lane, command: impl Fn(&TestExecutable) -> Command) -> Vec<(String, Command)> {
    built.tests.iter().filter(|test| test.lane() == lane).map(|test| (test.name(), command(test))).collect()
}

fn start_plane() -> Result<ControlPlane> {
    let watch = Stopwatch::start();
    let plane = wrap::start()?;
    say(&format!("control plane at {}, ready in {:.1} s", plane.url(), watch.elapsed().as_secs_f64()));
    Ok(plane)
}

fn with_plane(plane: &ControlPlane, mut command: Command) -> Command {
    command.env(CONTROL_PLANE_VARIABLE, plane.directory());
    command
}

/// What a lane must have run to count as run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    /// At least one test: none would mean that the tests were not found.
    Tests,
    /// Nothing in particular.
    Anything,
}

/// Where the lanes leave the names of what ran.
struct Results(PathBuf);

impl Results {
    fn at(root: &Path) -> Result<Self> {
        let directory = root.join("target/test-results");
        std::fs::create_dir_all(&directory).with_context(|| format!("make {}", directory.display()))?;
        Ok(Self(directory))
    }

    fn clear(&self) -> Result<()> {
        for entry in std::fs::read_dir(&self.0)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "txt") {
                std::fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
            }
        }
        Ok(())
    }

    fn file(&self, lane: Lane) -> PathBuf {
        self.0.join(lane.name()).with_extension("txt")
    }
}

impl Expect {
    fn check(self, counts: Counts) -> Result<()> {
        ensure!(self == Self::Anything || counts.ran() > 0, "no test was found, though there are some");
        Ok(())
    }
}
