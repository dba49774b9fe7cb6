//! Asks a platform for its jobs again and again, and for what it failed to deliver.

use std::collections::BTreeSet;
use std::time::Duration;

use api::{DemandMode, ObjectName};
use fleet::demand::{Snapshot, Step, missing};
use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use providers::platform::{Error, Hint, Job};
use reconcile::{Backoff, Fault};
use tokio::time::Instant;

use super::super::intake::{Seen, Taken};
use super::{Desk, Outpost};
use crate::each::Life;

/// How often a platform is asked for what it failed to deliver.
const RECOVERY: Duration = Duration::from_mins(5);

/// How far back that goes at the start: polls find what is older.
const PAST: SignedDuration = SignedDuration::from_hours(1);

/// Jobs that are stored at the same time.
const HANDS: usize = 16;

/// Polls that are not answered are repeated.
const BACKOFF: Backoff =
    Backoff { initial: Duration::from_secs(5), factor: 2.0, max: Duration::from_mins(5), jitter: 0.2 };

/// Polls until `life` is over.
pub(super) async fn run(desk: &Desk, outpost: &Outpost, life: &Life) {
    tokio::select! {
        biased;
        () = life.over() => {}
        () = go_round(desk, outpost) => {}
    }
}

async fn go_round(desk: &Desk, outpost: &Outpost) {
    let clock = desk.outposts.0.parts.clock;
    let recovers = outpost.link.mode == DemandMode::Webhook && outpost.capabilities().recovers;
    let mut since = clock.now().saturating_sub(PAST).unwrap_or(Timestamp::MIN);
    let (mut recovered, mut failures) = (None::<Instant>, 0);
    loop {
        if recovers && recovered.is_none_or(|at| at.elapsed() >= RECOVERY) {
            let asked = clock.now();
            match recover(desk, outpost, since).await {
                Ok(()) => (since, recovered) = (asked, Some(Instant::now())),
                Err(fault) => note(desk, &fault),
            }
        }
        let pause = match poll(desk, outpost).await {
            Ok(()) => {
                failures = 0;
                period(desk)
            }
            Err(error) => {
                failures += 1;
                let fault = error.clone().fault("ask for jobs");
                note(desk, &fault);
                error.wait().unwrap_or_else(|| BACKOFF.delay(failures, &desk.source)).max(period(desk))
            }
        };
        tokio::select! {
            biased;
            () = outpost.post.look.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// How often the source wants to be polled, as it says now.
fn period(desk: &Desk) -> Duration {
    let source = desk.outposts.0.sources.get(&desk.source);
    source.map_or(RECOVERY, |source| source.spec.demand.poll_interval.as_duration())
}

/// One poll: what is listed is stored, and what is not listed any more is asked about.
async fn poll(desk: &Desk, outpost: &Outpost) -> Result<(), Error> {
    let as_of = desk.outposts.0.parts.clock.now();
    let snapshot = outpost.heed(outpost.link.platform.poll(as_of).await)?;
    store(desk, outpost, &snapshot.jobs).await;
    if snapshot.complete {
        desk.outposts.0.figures.told(&desk.source, as_of);
    }
    let listed = Snapshot {
        source: ObjectName::new(&desk.source.name),
        as_of,
        complete: snapshot.complete,
        keys: snapshot.jobs.iter().map(|job| job.key.as_str().to_owned()).collect::<BTreeSet<_>>(),
    };
    for step in missing(&listed, &desk.feed.intake.jobs_of(&desk.source)) {
        let Step::AskPlatform { key } = step else { continue };
        if let Err(fault) = desk.feed.intake.ask(&desk.source, outpost, &key).await {
            note(desk, &fault);
        }
    }
    Ok(())
}

/// Stores what the platform failed to deliver.
async fn recover(desk: &Desk, outpost: &Outpost, since: Timestamp) -> Result<(), Fault> {
    let hints = outpost.heed(outpost.link.platform.recover(since).await);
    let hints = hints.map_err(|error| error.fault("ask for lost deliveries"))?;
    let jobs = hints.into_iter().filter_map(|hint| match hint {
        Hint::Job(job) => Some(*job),
        Hint::Look | Hint::Ignored(_) | Hint::Unreadable => None,
    });
    store(desk, outpost, &jobs.collect::<Vec<_>>()).await;
    Ok(())
}

/// Stores jobs, several at a time; what cannot be stored now comes again with the next poll.
async fn store(desk: &Desk, outpost: &Outpost, jobs: &[Job]) {
    let source = &desk.source;
    let take = |job| desk.feed.intake.take(Seen { source, outpost, job, certain: false, queue: None });
    let storing: Vec<_> = jobs.iter().map(take).collect();
    let stored = futures::stream::iter(storing).buffer_unordered(HANDS).collect::<Vec<Result<Taken, Fault>>>();
    for fault in stored.await.into_iter().filter_map(Result::err) {
        note(desk, &fault);
    }
}

fn note(desk: &Desk, fault: &Fault) {
    let _span = tracing::info_span!("demand", source = %desk.source).entered();
    chassis::telemetry::report(fault);
}
