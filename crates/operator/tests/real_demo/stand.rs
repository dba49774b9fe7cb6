//! The program with a directory for temporary files of its own, so that whatever it leaves is found.

use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use testenv::{Program, Stopwatch};

/// How long anything may take on a busy machine.
pub(crate) const SOON: Duration = Duration::from_mins(4);

/// Where a demo runs.
pub(crate) struct Stand {
    files: TempDir,
}

impl Stand {
    pub(crate) fn new() -> Self {
        Self { files: tempfile::tempdir().unwrap() }
    }

    /// The program with these arguments, not started yet.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet"));
        command.arg("demo").args(arguments.split_whitespace()).env("TMPDIR", self.files.path());
        // What a person has set elsewhere is none of the demo's business.
        command.env("KUBECONFIG", "/nonexistent").env("LOG_LEVEL", "nonsense").env("NO_COLOR", "");
        command
    }

    pub(crate) fn start(&self, arguments: &str) -> Program {
        Program::start(&self.command(arguments))
    }

    /// What it left behind.
    pub(crate) fn left(&self) -> Vec<String> {
        let listed = std::fs::read_dir(self.files.path()).unwrap();
        listed.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    /// Runs it to its end; everything it said, and how it ended. It leaves nothing if all is well.
    pub(crate) async fn run(&self, arguments: &str) -> (String, Option<i32>) {
        let watch = Stopwatch::start();
        let program = self.start(arguments);
        let ended = program.wait(SOON).await;
        println!("lane: demo {arguments} took {:.1} s", watch.elapsed().as_secs_f64());
        (program.output(), ended.code())
    }
}
