//! One job: what runs before it, the time it takes, what runs after it.

use std::future::Future;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use tokio::process::Command;

use super::line::{Line, Said, Work};
use super::{Standin, Terminal};

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Succeeded,
    Failed,
    Canceled,
    Skipped,
}

impl Ended {
    const fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Canceled => "Canceled",
            Self::Skipped => "Skipped",
        }
    }

    /// What it adds to the exit code that tells a result.
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Succeeded => 0,
            Self::Failed => 2,
            Self::Canceled => 3,
            Self::Skipped => 4,
        }
    }

    fn of(word: &str) -> Self {
        match word {
            "succeeded" => Self::Succeeded,
            "canceled" => Self::Canceled,
            "skipped" => Self::Skipped,
            _ => Self::Failed,
        }
    }
}

/// How long the end of a job may be reported for in vain.
const REPORTS: u32 = 20;

impl Standin {
    pub(super) async fn carry_out<W: Write>(
        &self,
        terminal: &Terminal<W>,
        line: &Line,
        session: &str,
        job: &Work,
        stop: &mut (impl Future<Output = ()> + Unpin),
    ) -> Ended {
        terminal.say_at(&format!("Running job: {}", job.name));
        let mut ended = if hooked(self.job_started.as_deref(), job).await {
            tokio::select! {
                ended = spent(line, session, job) => ended,
                () = stop => {
                    terminal.say("Exiting...");
                    Ended::Canceled
                }
            }
        } else {
            Ended::Failed
        };
        if !hooked(self.job_completed.as_deref(), job).await && ended == Ended::Succeeded {
            ended = Ended::Failed;
        }
        for _ in 0..REPORTS {
            if line.finish(session, job.id, ended.word()).await.is_ok_and(|status| status < 500) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        terminal.say_at(&format!("Job {} completed with result: {}", job.name, ended.word()));
        ended
    }
}

/// Lets the job's time pass, unless somebody cancels it.
async fn spent(line: &Line, session: &str, job: &Work) -> Ended {
    let over = tokio::time::sleep(job.span);
    tokio::pin!(over);
    loop {
        tokio::select! {
            () = &mut over => return Ended::of(&job.result),
            said = line.next(session) => match said {
                Ok(Said::Cancel(id)) if id == job.id => return Ended::Canceled,
                // The registration is gone under the job: nobody will hear how it ends.
                Ok(Said::Gone) => return Ended::Failed,
                Ok(Said::Cancel(_) | Said::Run(_) | Said::Nothing) => {}
                Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            },
        }
    }
}

/// Runs a hook; whether there is none, or it went well.
async fn hooked(script: Option<&Path>, job: &Work) -> bool {
    let Some(script) = script else { return true };
    let status = Command::new(script)
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_JOB", &job.name)
        .env("GITHUB_REPOSITORY", &job.repository)
        .env("GITHUB_RUN_ID", job.run.to_string())
        .env("GITHUB_RUN_ATTEMPT", job.attempt.to_string())
        .env_remove("ACTIONS_RUNNER_INPUT_JITCONFIG")
        .status()
        .await;
    status.is_ok_and(|status| status.success())
}
