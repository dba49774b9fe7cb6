//! `hyperfleet-sim runner`: a stand-in for GitHub's runner, also under the name `Runner.Listener`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use chassis::Clock;
use clap::{Args, Subcommand};
use sim::github::Standin;
use tokio::signal::unix::{SignalKind, signal};

/// The name that the real program has.
pub(crate) const NAME: &str = "Runner.Listener";

/// A stand-in for GitHub's runner: it takes one job from `hyperfleet-sim github`, lets its time pass and says how it ended.
#[derive(Debug, Args)]
pub(crate) struct Runner {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Take a job and run it.
    Run(Run),
    /// What the real program does when an image is made: nothing that shows.
    Warmup,
}

#[derive(Debug, Args)]
struct Run {
    /// The configuration that the service gave for one job.
    #[arg(long = "jitconfig", env = "ACTIONS_RUNNER_INPUT_JITCONFIG", hide_env_values = true, value_name = "BLOB")]
    jit_config: String,
    /// End after one job, as a runner with such a configuration always does.
    #[arg(long)]
    once: bool,
    /// Tell the job's result by the exit code: 100 and the result's number.
    #[arg(long, env = "ACTIONS_RUNNER_RETURN_JOB_RESULT_FOR_HOSTED", hide = true)]
    return_job_result: bool,
    /// What runs before a job.
    #[arg(long, env = "ACTIONS_RUNNER_HOOK_JOB_STARTED", hide = true)]
    job_started: Option<PathBuf>,
    /// What runs after a job.
    #[arg(long, env = "ACTIONS_RUNNER_HOOK_JOB_COMPLETED", hide = true)]
    job_completed: Option<PathBuf>,
    /// Certificates to trust.
    #[arg(long, env = "SSL_CERT_FILE", hide = true)]
    trust: Option<PathBuf>,
    /// How long to try for a session that another runner holds.
    #[arg(long, default_value_t = 240.0, hide = true)]
    patience_seconds: f64,
}

pub(crate) async fn run(args: Runner) -> Result<ExitCode> {
    let Action::Run(run) = args.action else { return Ok(ExitCode::SUCCESS) };
    let mut ended = signal(SignalKind::terminate()).context("listen for the signal to end")?;
    let stop = async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = ended.recv() => {}
        }
    };
    let root = root().context("find the runner's directory")?;
    let trust = own_variable(&root, "SSL_CERT_FILE").map(PathBuf::from).or(run.trust);
    let standin = Standin {
        jit_config: run.jit_config,
        root,
        return_job_result: run.return_job_result,
        job_started: run.job_started,
        job_completed: run.job_completed,
        trust,
        patience: Duration::try_from_secs_f64(run.patience_seconds).unwrap_or_default(),
    };
    Ok(ExitCode::from(standin.run(std::io::stdout(), Clock::system(), stop).await))
}

/// A variable that the runner's directory sets for it, in `.env`, as the real program's does: images say there whom to trust.
fn own_variable(root: &Path, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(root.join(".env")).ok()?;
    let found = text.lines().filter_map(|line| line.split_once('=')).find(|(key, _)| *key == name);
    found.map(|(_, value)| value.to_owned())
}

/// The runner's directory: above `bin`, where the real program is; else where it was started.
fn root() -> std::io::Result<PathBuf> {
    // Not resolved further: the program may be a link in a runner's tree.
    let program = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let directory = program.parent().filter(|directory| directory.ends_with("bin"));
    match directory.and_then(Path::parent) {
        Some(root) if program.is_absolute() && program.file_name().is_some_and(|name| name == NAME) => {
            Ok(root.to_owned())
        }
        Some(_) | None => std::env::current_dir(),
    }
}
