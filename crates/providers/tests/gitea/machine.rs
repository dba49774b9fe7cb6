//! What an agent does with a plan, as far as the platform can tell: the real runner as a program of its own.

use std::path::Path;
use std::process::{Command, ExitStatus};

use providers::platform::{RunnerPlan, Sign};
use secrecy::ExposeSecret;
use tempfile::TempDir;
use testenv::{Program, Signal, Tool};

use crate::ground::until;

/// A runner at work, in directories of its own.
pub(crate) struct Machine {
    runner: Program,
    directory: TempDir,
    busy: String,
}

impl Machine {
    /// Starts the runner as the plan says and waits until it listens.
    pub(crate) async fn start(plan: &RunnerPlan) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let (files, work) = (directory.path().join("files"), directory.path().join("work"));
        let filled = |text: &str| text.replace("{files}", path(&files)).replace("{work}", path(&work));
        for place in [&files, &work] {
            std::fs::create_dir(place).expect("a new directory");
        }
        for item in &plan.files {
            std::fs::write(files.join(&item.path), filled(item.content.expose_secret())).expect("a new file");
        }
        let mut command = Command::new(Tool::GiteaRunner.path().expect("the runner is built"));
        assert_eq!(plan.argv[0], "gitea-runner");
        command.args(plan.argv[1..].iter().map(|argument| filled(argument))).current_dir(&work);
        for (name, value) in &plan.env {
            command.env(name, filled(value.expose_secret()));
        }
        let runner = Program::start(&command);
        until("the runner listens", || runner.output().contains("declare successfully")).await;
        let Sign::Line(busy) = plan.busy.clone() else { panic!("it says so in its log") };
        Self { runner, directory, busy }
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.runner.output().contains(&self.busy)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.runner.ended().is_some()
    }

    /// Lets its job end well; how the runner ended then.
    pub(crate) async fn finish(&self) -> ExitStatus {
        self.release();
        self.end().await
    }

    /// Asks it to end.
    pub(crate) async fn drain(&self) -> ExitStatus {
        self.runner.signal(Signal::Terminate);
        self.end().await
    }

    async fn end(&self) -> ExitStatus {
        until("the runner ends", || self.has_ended()).await;
        self.runner.ended().expect("it has ended")
    }

    /// Ends it at once, as a machine that is switched off does; its job's own programs follow.
    pub(crate) fn kill(&self) {
        self.runner.kill();
        self.release();
    }

    fn release(&self) {
        std::fs::write(self.directory.path().join("work/finish"), "").expect("a new file");
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("temporary directories have plain names")
}
