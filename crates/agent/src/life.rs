//! One life, from the seed to the moment before power-off.

mod keep;
mod patience;
mod report;
mod start;

use std::pin::pin;
use std::time::Duration;

use protocol::{Finish, Order, Plan, Report, Seed, Welcome};
use tokio::time::{sleep, timeout};

use crate::{Exit, Line, Machine, Work};

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
    let Welcome { plan, lease } = match start::start(seed, firmware, line, machine, patience).await {
        Ok(welcome) => welcome,
        Err(ending) => return ending,
    };
    tracing::info!(seconds = lease.seconds, "the service believes us; there is work");
    let last_word = async |finish| {
        let _: Result<(), _> =
            timeout(patience.last_word, report::tell(line, &Report::Finished(finish), patience)).await;
    };
    if lease.order == Order::End {
        last_word(finish(&Ending::EndedByService, None)).await;
        return Ending::EndedByService;
    }
    let work = match machine.begin(&plan).await {
        Ok(work) => work,
        Err(why) => {
            tracing::error!(why, "the work cannot begin");
            let ending = Ending::Unprepared(why);
            last_word(finish(&ending, None)).await;
            return ending;
        }
    };
    tracing::info!("the work has begun");
    watch(work, &plan, line, lease, patience).await
}

/// Stays with the work until it has ended and the service knows.
async fn watch(
    mut work: impl Work,
    plan: &Plan,
    line: &impl Line,
    lease: protocol::Lease,
    patience: &Patience,
) -> Ending {
    let mut started = pin!(report::tell(line, &Report::Started, patience));
    let mut kept = pin!(keep::keep(line, lease));
    let mut deadline = pin!(deadline(plan));
    let mut told = false;
    let ending = loop {
        tokio::select! {
            biased;
            exit = work.wait() => break Ending::Finished(exit),
            ending = &mut deadline => break ending,
            ending = &mut kept => break ending,
            () = &mut started, if !told => told = true,
        }
    };
    tracing::info!(%ending, "the work ends");
    work.end().await;
    let finished = Report::Finished(finish(&ending, work.output()));
    // The service hears of the beginning before the end, even if the work was faster than the first report.
    let both = async {
        if !told {
            started.await;
        }
        report::tell(line, &finished, patience).await;
    };
    let lost = matches!(ending, Ending::LeaseLost(_));
    if timeout(if lost { patience.lost_word } else { patience.last_word }, both).await.is_err() {
        tracing::warn!("the service does not know how the work ended");
    }
    ending
}

async fn deadline(plan: &Plan) -> Ending {
    match plan.deadline_seconds {
        None => std::future::pending().await,
        Some(seconds) => {
            sleep(Duration::from_secs(seconds)).await;
            Ending::DeadlinePassed(seconds)
        }
    }
}

/// What the service is told of an ending.
fn finish(ending: &Ending, output: Option<String>) -> Finish {
    let (exit_code, trouble) = match ending {
        Ending::Finished(Exit::Code(code)) => (Some(*code), None),
        Ending::Finished(exit @ Exit::Signal(_)) => (None, Some(exit.to_string())),
        Ending::DeadlinePassed(seconds) => (None, Some(format!("ran longer than {seconds} s"))),
        Ending::Unreachable(_)
        | Ending::Untrusted(_)
        | Ending::Refused(_)
        | Ending::Unprepared(_)
        | Ending::EndedByService
        | Ending::LeaseLost(_) => (None, Some(ending.to_string())),
    };
    Finish { exit_code, trouble, output }
}

#[cfg(test)]
mod tests;
