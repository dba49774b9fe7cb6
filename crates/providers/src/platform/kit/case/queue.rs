//! Queue sessions: one holder, at least once, hand-over.

use super::super::bench::Bench;
use super::super::workshop::{Failure, Workshop, ensure, requires};
use crate::platform::{Batch, Error, JobResult, JobState, Platform, RunnerOrder, Session, SessionOrder};

type Seen = Result<String, Failure>;

/// How often a queue is asked for news that must come: each may wait for most of a minute.
const PATIENCE: u32 = 5;

/// The next news.
async fn news<S: Session>(session: &mut S) -> Result<Batch, Failure> {
    for _ in 0..PATIENCE {
        let batch = session.next(1).await?;
        if batch.message.is_some() {
            return Ok(batch);
        }
    }
    Err(Failure::Unmet("the queue tells of its job".to_owned()))
}

async fn acknowledge<S: Session>(session: &mut S, batch: &Batch) -> Result<(), Failure> {
    let Some(message) = batch.message else { return Ok(()) };
    Ok(session.acknowledge(message).await?)
}

fn by(order: &SessionOrder, holder: &str) -> SessionOrder {
    SessionOrder { holder: holder.to_owned(), ..order.clone() }
}

pub(super) async fn one_holder<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    requires(shop.platform.capabilities().sessions, "queue sessions")?;
    let order = shop.session_order("first");
    let first = shop.platform.open_session(&order).await?;
    let second = shop.platform.open_session(&by(&order, "second")).await.err();
    ensure(matches!(second, Some(Error::Conflict { .. })), format!("one listens at a time: {second:?}"))?;
    first.close().await?;
    shop.platform.open_session(&by(&order, "second")).await?.close().await?;
    Ok("the second listens once the first has ended".to_owned())
}

pub(super) async fn at_least_once<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    requires(shop.platform.capabilities().sessions, "queue sessions")?;
    let order = shop.session_order("first");
    let mut first = shop.platform.open_session(&order).await?;
    shop.bench.queue(&order.labels).await?;
    let mut told = news(&mut first).await?;
    while told.jobs.is_empty() {
        // An offer was accepted; what became of it follows.
        acknowledge(&mut first, &told).await?;
        told = news(&mut first).await?;
    }
    let again = news(&mut first).await?;
    ensure(again == told, format!("it comes again: {told:?}, {again:?}"))?;
    first.close().await?;
    let mut second = shop.platform.open_session(&by(&order, "second")).await?;
    ensure(second.statistics().jobs == 1, format!("the level is known at once: {:?}", second.statistics()))?;
    let inherited = news(&mut second).await?;
    ensure(inherited.jobs == told.jobs, format!("the next holder is told as well: {inherited:?}"))?;
    acknowledge(&mut second, &inherited).await?;
    let after = second.next(1).await?;
    ensure(after.jobs.is_empty(), format!("and not once it is acknowledged: {after:?}"))?;
    second.close().await?;
    Ok("until it is acknowledged, and to the next holder".to_owned())
}

pub(super) async fn runner<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    requires(shop.platform.capabilities().sessions, "queue sessions")?;
    let order = shop.session_order("first");
    let mut session = shop.platform.open_session(&order).await?;
    let wanted = RunnerOrder { labels: order.labels.clone(), session: Some(order.clone()), ..shop.order() };
    let grant = shop.mint(&wanted).await?;
    shop.bench.connect(&grant).await?;
    shop.bench.queue(&order.labels).await?;
    let (mut states, mut finished) = (Vec::new(), false);
    for _ in 0..PATIENCE * 2 {
        let batch = session.next(1).await?;
        acknowledge(&mut session, &batch).await?;
        states.extend(batch.jobs.iter().map(|job| job.state));
        if states.contains(&JobState::Running) && !finished {
            shop.bench.finish(&grant.runner.name).await?;
            finished = true;
        }
        if states.iter().any(|state| matches!(state, JobState::Done(_))) {
            break;
        }
    }
    session.close().await?;
    let wanted = [JobState::Queued, JobState::Running, JobState::Done(JobResult::Succeeded)];
    ensure(states == wanted, format!("the queue tells of its job: {states:?}"))?;
    Ok("its own runner took its job".to_owned())
}
