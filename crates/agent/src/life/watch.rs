//! Staying with the work until it has ended and the service knows.

use std::pin::pin;
use std::time::Duration;

use protocol::{Lease, Plan, Report, Stop};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::class::End;
use super::course::{Course, Due};
use super::patience::Patience;
use super::report::Reports;
use super::{Ending, keep};
use crate::{Event, Exit, Line, Work};

/// Watches over work of this plan, which has just begun.
pub(super) async fn watch(
    mut work: impl Work,
    plan: &Plan,
    line: &impl Line,
    lease: Lease,
    patience: &Patience,
) -> Ending {
    let mut reports = Reports::new(line, patience);
    let mut course = Course::new(plan, Instant::now());
    if course.works() {
        reports.say(Report::Started { job: None });
    }
    let drain = Notify::new();
    let mut kept = pin!(keep::keep(line, lease, &drain));
    let ending = loop {
        tokio::select! {
            biased;
            event = work.next() => match event {
                Event::Ready if course.ready(Instant::now()) => reports.say(Report::Listening),
                Event::Ready => {}
                Event::Began(job) => {
                    course.began(Instant::now());
                    reports.say(Report::Started { job: job.0 });
                }
                Event::Exited(exit) => break Ending::Finished(exit),
            },
            () = course.due() => match course.rings(Instant::now()) {
                Due::Ask(signal) => work.ask(signal),
                Due::End(ending) => break ending,
            },
            ending = &mut kept => break ending,
            () = drain.notified() => course.drain(Instant::now()),
            () = reports.done(), if reports.are_waiting() => {}
        }
    };
    tracing::info!(%ending, "the work ends");
    let exit = if let Ending::Finished(exit) = ending {
        Some(exit)
    } else {
        leave(&mut work, &course.farewell(patience.grace)).await
    };
    work.end().await;
    let ending = settle(ending, exit, &mut course, &mut work, &mut reports);
    tell(ending, plan, &course, &work, reports, patience).await
}

/// Asks the program to exit, in one way after the other, until it has.
async fn leave(work: &mut impl Work, ways: &[Stop]) -> Option<Exit> {
    for Stop { signal, seconds } in ways {
        work.ask(*signal);
        let exited = async {
            loop {
                if let Event::Exited(exit) = work.next().await {
                    return exit;
                }
            }
        };
        if let Ok(exit) = timeout(Duration::from_secs(*seconds), exited).await {
            return Some(exit);
        }
    }
    None
}

/// What it was in the end: nothing can begin any more, so that what is seen now is what was.
fn settle<L: Line>(
    ending: Ending,
    exit: Option<Exit>,
    course: &mut Course<'_>,
    work: &mut impl Work,
    reports: &mut Reports<'_, L>,
) -> Ending {
    let why = course.stopped();
    if !course.works()
        && let Some(job) = work.job()
    {
        course.began(Instant::now());
        reports.say(Report::Started { job: job.0 });
    }
    match (why, exit) {
        // Somebody else's order is what ended it, whatever was under way.
        _ if matches!(ending, Ending::EndedByService | Ending::LeaseLost(_)) => ending,
        (None, _) => ending,
        (Some(why), _) if !course.works() => why,
        (Some(_), Some(exit)) => Ending::Finished(exit),
        (Some(_), None) => Ending::JobLost,
    }
}

/// Tells the service of the end, as long as that makes sense.
async fn tell<L: Line>(
    ending: Ending,
    plan: &Plan,
    course: &Course<'_>,
    work: &impl Work,
    mut reports: Reports<'_, L>,
    patience: &Patience,
) -> Ending {
    let (output, shortage) = (work.output(), work.shortage());
    let end = End { ending: &ending, runner: plan.runner.as_ref(), began: course.works(), shortage, output };
    reports.say(Report::Finished(end.finish()));
    let lost = matches!(ending, Ending::LeaseLost(_));
    if timeout(if lost { patience.lost_word } else { patience.last_word }, reports.done()).await.is_err() {
        tracing::warn!("the service does not know how the work ended");
    }
    ending
}
