//! One life, from the seed to the moment before power-off.

mod class;
mod clock;
mod course;
mod keep;
mod patience;
mod report;
mod start;
mod watch;

use protocol::{Order, Report, Seed, Welcome};
use tokio::time::{Instant, timeout};

use crate::{Exit, Line, Machine};

pub use patience::Patience;

/// How a life ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ending {
    /// The service was not reached in time.
    #[error("{0}")]
    Unreachable(String),
    /// Whoever answered was not the service; it was told nothing.
    #[error("{0}")]
    Untrusted(String),
    /// The service did not believe us.
    #[error("{0}")]
    Refused(String),
    /// The work could not begin.
    #[error("the work could not begin: {0}")]
    Unprepared(String),
    /// The work exited by itself.
    #[error("the work is done: {0}")]
    Finished(Exit),
    /// The runner did not come to wait for a job in time.
    #[error("the runner did not wait for a job within {0} s of its beginning")]
    Unready(u64),
    /// The runner waited for a job as long as it may, and was stopped.
    #[error("no job came within {0} s")]
    Idle(u64),
    /// The runner was stopped before a job had begun, on the service's order.
    #[error("drained before a job had begun")]
    Drained,
    /// The runner was stopped because it had no job, and had one after all.
    #[error("a job began while the runner was being stopped")]
    JobLost,
    /// The work took longer than it may.
    #[error("the work ran longer than {0} s")]
    DeadlinePassed(u64),
    /// The service ordered the end.
    #[error("ended on the service's order")]
    EndedByService,
    /// The service did not let us go on, or could not be asked for too long.
    #[error("the lease was lost: {0}")]
    LeaseLost(String),
}

/// Lives: proves itself with the seed, gets a plan, works, reports. Powers nothing off.
///
/// `firmware` is the machine's UUID as the machine reads it.
pub async fn live(
    seed: &Seed,
    firmware: &str,
    line: &impl Line,
    machine: &impl Machine,
    patience: &Patience,
) -> Ending {
    let Welcome { plan, lease, clock } = match start::start(seed, firmware, line, machine, patience).await {
        Ok(welcome) => welcome,
        Err(ending) => return ending,
    };
    let heard = Instant::now();
    tracing::info!(seconds = lease.seconds, "the service believes us; there is work");
    let begun = async {
        if lease.order == Order::End {
            return Err(Ending::EndedByService);
        }
        clock::agrees(machine, plan.runner.as_ref(), (clock, heard), patience.clock)
            .await
            .map_err(Ending::Unprepared)?;
        machine.begin(&plan).await.map_err(Ending::Unprepared)
    };
    match begun.await {
        Ok(work) => {
            tracing::info!("the work has begun");
            watch::watch(work, &plan, line, lease, patience).await
        }
        Err(ending) => {
            tracing::error!(%ending, "the work does not begin");
            let runner = plan.runner.as_ref();
            let end = class::End { ending: &ending, runner, began: false, shortage: None, output: None };
            let told = report::tell(line, Report::Finished(end.finish()), patience);
            let _: Result<(), _> = timeout(patience.last_word, told).await;
            ending
        }
    }
}

#[cfg(test)]
mod tests;
