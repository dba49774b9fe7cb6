//! Registrations: made, listed, removed.

use super::super::bench::{Bench, Trouble};
use super::super::workshop::{Failure, Workshop, ensure, proven, requires};
use crate::platform::{Error, JobState, Marker, Mode, Platform, Removal, Runner, RunnerOrder, RunnerState};

type Seen = Result<String, Failure>;

/// The names of all registrations with the bench's marker, from a complete listing.
async fn listed<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Result<Vec<String>, Failure> {
    let listing = shop.platform.registrations(&shop.bench.marker()).await?;
    ensure(listing.complete, "the listing is complete")?;
    Ok(listing.runners.into_iter().map(|(runner, _)| runner.name).collect())
}

async fn is_gone<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>, runner: &Runner) -> Result<(), Failure> {
    ensure(!listed(shop).await?.contains(&runner.name), "it is listed no more")?;
    let state = shop.platform.state(runner).await?;
    ensure(state == RunnerState::Gone, format!("it is gone: {state:?}"))
}

pub(super) async fn other_machine<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    let order = shop.order();
    let other = proven("5e3c1b6a-0000-4000-8000-ffffffffffff");
    let error = shop.platform.mint(&order, &other, shop.bench.now()).await.err();
    ensure(matches!(error, Some(Error::Invalid { .. })), format!("another machine is refused: {error:?}"))?;
    ensure(listed(shop).await?.is_empty(), "nothing was registered")?;
    Ok("another machine is refused".to_owned())
}

pub(super) async fn registration<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    let ours = shop.mint(&shop.order()).await?.runner;
    let order = shop.order();
    let foreign = RunnerOrder { name: order.name.replacen("hf-", "xx-", 1), ..order };
    let foreign = shop.mint(&foreign).await?.runner;
    ensure(listed(shop).await? == [ours.name.clone()], "ours is listed, and nothing else")?;
    let nobody = shop.platform.registrations(&Marker::of("nobody00")).await?.runners;
    ensure(nobody.is_empty(), "under another marker there is nothing")?;
    let state = shop.platform.state(&ours).await?;
    ensure(state == RunnerState::Offline, format!("it is not connected: {state:?}"))?;
    let removal = shop.platform.deregister(&ours, Mode::IfIdle).await?;
    ensure(removal == Removal::Gone, format!("it is removed: {removal:?}"))?;
    is_gone(shop, &ours).await?;
    let state = shop.platform.state(&foreign).await?;
    ensure(state != RunnerState::Gone, "the other one stays")?;
    Ok("listed by its marker, removed alone".to_owned())
}

pub(super) async fn taken_name<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    let order = shop.order();
    shop.mint(&order).await?;
    let error = shop.mint(&order).await.err();
    ensure(matches!(error, Some(Error::Conflict { .. })), format!("the name is taken: {error:?}"))?;
    Ok("a name is taken once".to_owned())
}

pub(super) async fn lost_answer<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    shop.bench.arrange(Trouble::LostMintAnswer).await?;
    let order = shop.order();
    let error = shop.mint(&order).await.err();
    ensure(matches!(error, Some(Error::UnknownOutcome { .. })), format!("nobody knows: {error:?}"))?;
    let runner = Runner { name: order.name, id: None };
    let removal = shop.platform.deregister(&runner, Mode::Force).await?;
    ensure(removal == Removal::Gone, format!("it is removed by its name: {removal:?}"))?;
    is_gone(shop, &runner).await?;
    Ok("found by its name and removed".to_owned())
}

pub(super) async fn deregister_twice<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    let runner = shop.mint(&shop.order()).await?.runner;
    for (mode, word) in [(Mode::IfIdle, "first"), (Mode::IfIdle, "second"), (Mode::Force, "third")] {
        let removal = shop.platform.deregister(&runner, mode).await?;
        ensure(removal == Removal::Gone, format!("it is gone the {word} time: {removal:?}"))?;
    }
    is_gone(shop, &runner).await?;
    Ok("gone is gone".to_owned())
}

pub(super) async fn busy<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    requires(shop.platform.capabilities().busy_is_reliable, "reliable word on whether a runner is busy")?;
    let job = shop.queued().await?;
    let grant = shop.mint(&shop.order()).await?;
    shop.bench.connect(&grant).await?;
    shop.only_job(|state| *state == JobState::Running).await?;
    let removal = shop.platform.deregister(&grant.runner, Mode::IfIdle).await?;
    ensure(removal == Removal::Busy, format!("it is said to be busy: {removal:?}"))?;
    shop.bench.finish(&grant.runner.name).await?;
    let removal = shop.platform.deregister(&grant.runner, Mode::IfIdle).await?;
    ensure(removal == Removal::Gone, format!("then it is gone: {removal:?}"))?;
    Ok(format!("{} was not cut off", job.key))
}
