//! Jobs as we ask for them, and what keeps us from asking.

use std::time::Duration;

use super::super::bench::{Bench, Trouble};
use super::super::workshop::{Failure, Workshop, ensure, eventually, requires};
use crate::platform::{Error, JobResult, JobState, Platform};

type Seen = Result<String, Failure>;

pub(super) async fn health<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    let health = shop.platform.validate().await?;
    ensure(health.missing.is_empty(), format!("nothing is missing: {:?}", health.missing))?;
    Ok(health.version.map_or_else(|| "it can be used".to_owned(), |version| format!("version {version}")))
}

pub(super) async fn refused_credential<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    shop.bench.arrange(Trouble::RefusedCredential).await?;
    let error = shop.platform.validate().await.err();
    ensure(matches!(error, Some(Error::Auth { .. })), format!("the credential is said to be refused: {error:?}"))?;
    let minted = shop.mint(&shop.order()).await.err();
    ensure(matches!(minted, Some(Error::Auth { .. })), format!("nothing is registered with it: {minted:?}"))?;
    Ok("it is refused, and said to be".to_owned())
}

pub(super) async fn missing_permission<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    shop.bench.arrange(Trouble::MissingPermission).await?;
    let missing = shop.platform.validate().await?.missing;
    ensure(!missing.is_empty(), "what is missing is named")?;
    Ok(format!("{missing:?}"))
}

pub(super) async fn states<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    let job = shop.queued().await?;
    let grant = shop.mint(&shop.order()).await?;
    shop.bench.connect(&grant).await?;
    let running = shop.only_job(|state| *state == JobState::Running).await?;
    ensure(running.key == job.key, format!("it stays {}: {}", job.key, running.key))?;
    let named = running.runner.as_deref().is_none_or(|name| name == grant.runner.name);
    ensure(named, format!("{} has it: {:?}", grant.runner.name, running.runner))?;
    shop.bench.finish(&grant.runner.name).await?;
    let done = eventually("the job is done", || async {
        let job = shop.platform.job(&job.key).await?;
        Ok(job.filter(|job| matches!(job.state, JobState::Done(_))))
    });
    let done = done.await?;
    ensure(done.state == JobState::Done(JobResult::Succeeded), format!("it passed: {:?}", done.state))?;
    Ok("queued, running, done".to_owned())
}

pub(super) async fn cancelled<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    let job = shop.queued().await?;
    shop.bench.cancel().await?;
    eventually("no job waits", || async {
        let snapshot = shop.platform.poll(shop.bench.now()).await?;
        Ok((snapshot.complete && snapshot.jobs.is_empty()).then_some(()))
    })
    .await?;
    let job = shop.platform.job(&job.key).await?;
    // A platform may forget what never ran.
    let over = job.as_ref().is_none_or(|job| job.state == JobState::Done(JobResult::Cancelled));
    ensure(over, format!("it was cancelled: {job:?}"))?;
    Ok("it is over".to_owned())
}

pub(super) async fn unknown<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    let job = shop.platform.job(&shop.bench.nobody()).await?;
    ensure(job.is_none(), format!("there is no such job: {job:?}"))?;
    Ok("there is none".to_owned())
}

pub(super) async fn matching<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    let offered = shop.platform.offered(&shop.bench.pool());
    ensure(shop.platform.matches(&offered, &offered), "a runner matches a job that asks for all it offers")?;
    let mut more = offered.clone();
    more.push("kit-nobody-has-this".to_owned());
    ensure(!shop.platform.matches(&more, &offered), "a runner does not match a job that asks for more")?;
    shop.bench.queue(&more).await?;
    let other = shop.only_job(|state| *state == JobState::Queued).await?;
    let grant = shop.mint(&shop.order()).await?;
    shop.bench.connect(&grant).await?;
    shop.bench.queue(&offered).await?;
    let taken = eventually("the runner has a job", || async {
        let jobs = shop.platform.poll(shop.bench.now()).await?.jobs;
        Ok(jobs.into_iter().find(|job| job.state == JobState::Running))
    });
    let taken = taken.await?;
    ensure(taken.key != other.key, "the platform gives the runner the job that it matches")?;
    Ok("as we think, so does the platform".to_owned())
}

pub(super) async fn rate_limit<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    let span = Duration::from_secs(90);
    shop.bench.arrange(Trouble::RateLimited(span)).await?;
    let order = shop.order();
    let error = shop.mint(&order).await.err();
    let Some(Error::RateLimited { wait, .. }) = error else {
        return Err(Failure::Unmet(format!("the limit is reported: {error:?}")));
    };
    ensure(!wait.is_zero(), "it is said how long to wait")?;
    tokio::time::sleep(wait).await;
    shop.bench.calm().await;
    shop.mint(&order).await?;
    Ok(format!("{} s to wait", wait.as_secs()))
}

pub(super) async fn rerun<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    requires(shop.platform.capabilities().reruns, "way to run a job again")?;
    let job = shop.queued().await?;
    let grant = shop.mint(&shop.order()).await?;
    shop.bench.connect(&grant).await?;
    shop.only_job(|state| *state == JobState::Running).await?;
    shop.bench.finish(&grant.runner.name).await?;
    let done = eventually("the job is done", || async {
        let job = shop.platform.job(&job.key).await?;
        Ok(job.filter(|job| matches!(job.state, JobState::Done(_))))
    });
    let ended = done.await?.ended_at.unwrap_or_else(|| shop.bench.now());
    shop.platform.rerun(&job.key, ended).await?;
    let again = shop.only_job(|state| *state == JobState::Queued).await?;
    ensure(again.labels == job.labels, "it asks for the same labels")?;
    Ok(format!("{} after {}", again.key, job.key))
}
