//! A thousand claims at once.

use std::time::Duration;

use anyhow::{Context, Result};
use api::MachineClaim;
use futures::stream::{self, StreamExt, TryStreamExt};
use kube::Api;
use kube::api::PostParams;
use sim::proxmox::Simulator;
use testenv::{Audit, Signal, eventually};
use tokio::time::Instant;

use super::MACHINES;
use super::town::{self, Town, first_calls};
use super::usage::{peak_megabytes, processor_seconds};
use crate::figures::Figures;
use crate::world::PARALLEL;
use crate::{ceiling, server};

/// How long a burst may take before it counts as stuck.
const LONG: Duration = Duration::from_mins(10);

/// A place where a burst has happened, and its hypervisor.
pub(super) struct Crowded {
    pub(super) town: Town,
    pub(super) simulator: Simulator,
}

/// Makes a thousand claims while the operator stands still, lets it go, and compares how long it takes to ask for all
/// clones with what the API server takes for as many writes as the operator's when it has nothing else to do.
pub(super) async fn measure(figures: &mut Figures) -> Result<Crowded> {
    let (simulator, address) = town::hypervisor().await?;
    let town = Town::new(&address, &[]).await?;

    let (mark, pid) = (town.plane.audit_mark().await, town.operator.pid());
    town.operator.signal(Signal::Stop);
    let creates = ceiling::creates_per_second().await?;
    create(&town.claims()).await?;
    let (started, used) = (Instant::now(), processor_seconds(pid)?);
    let served = server::processor_seconds(town.plane).await?;
    town.operator.signal(Signal::Continue);
    let last = eventually("every clone is asked for", LONG, async || last_call(&simulator)).await;
    let used = processor_seconds(pid)? - used;
    let served = server::processor_seconds(town.plane).await? - served;
    let audit = town.plane.audit_since(mark).await.writes();
    let events = audit.clone().user(&town.user()).filter(|line| line.resource == "events").len();
    let writes = writes(audit, &town.user()).len();

    let took = last.duration_since(started).as_secs_f64();
    figures.put("claims.burst1000_creates_per_s", creates);
    let alone = count(writes)? / creates;
    figures.put("claims.burst1000_s", took);
    figures.put("claims.burst1000_writes", count(writes)?);
    figures.put("claims.burst1000_events", count(events)?);
    figures.put("claims.burst1000_over_ceiling", took / alone);
    figures.put("claims.burst1000_server_over_ceiling", server::at_best(served)? / alone);
    figures.put("claims.burst1000_cpu_s", used);
    figures.put("claims.burst1000_peak_rss_mb", peak_megabytes(pid)?);
    Ok(Crowded { town, simulator })
}

pub(crate) fn count(number: usize) -> Result<f64> {
    Ok(f64::from(u32::try_from(number)?))
}

/// Creates the claims of a burst.
pub(super) async fn create(claims: &Api<MachineClaim>) -> Result<()> {
    let create = |number: usize| {
        let claims = claims.clone();
        async move {
            let claim = town::claim(&format!("burst-{number:04}"), &["true"])?;
            claims.create(&PostParams::default(), &claim).await.map(|_| ()).context("create a claim")
        }
    };
    stream::iter(0..MACHINES).map(create).buffer_unordered(PARALLEL).try_collect().await
}

/// When the last machine was asked for, counting the first call for each; nothing while one is missing.
fn last_call(simulator: &Simulator) -> Option<Instant> {
    let first = first_calls(simulator);
    first.values().max().copied().filter(|_| first.len() >= MACHINES)
}

/// What the operator wrote, except to say that it leads and what happened.
pub(crate) fn writes(audit: Audit, user: &str) -> Audit {
    audit.user(user).writes().filter(|line| line.resource != "leases" && line.resource != "events")
}
