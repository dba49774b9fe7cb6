//! What a thousand machines cost that are left alone.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use anyhow::{Context, Result};
use api::{Digest, MachineClaim};
use chassis::Clock;
use fleet::bootstrap::{Bound, Presented, bind, started};
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use kube::api::{ListParams, PostParams};
use testenv::eventually;
use tokio::time::Instant;

use super::burst::{Crowded, writes};
use super::{MACHINES, town};
use crate::figures::Figures;
use crate::world::PARALLEL;

/// How long it may take until every machine of the burst runs.
const LONG: Duration = Duration::from_mins(10);

/// Ready for so long that whatever is done for a fresh machine has been done.
const AGE: SignedDuration = SignedDuration::from_hours(1);

/// One round of everything that is looked at again and again; a shorter window would show the rarer looks or not.
const WINDOW: Duration = Duration::from_mins(5);

/// Without a write for this long, everything has settled: longer than the default period.
const QUIET: Duration = Duration::from_secs(40);

/// Lets the machines of a burst become busy, and counts what is written and asked while they stay so.
pub(super) async fn measure(crowded: &Crowded, figures: &mut Figures) -> Result<()> {
    let Crowded { town, simulator } = crowded;
    occupy(crowded).await?;
    settle(crowded).await;
    let (mark, asked, begun) = (town.plane.audit_mark().await, simulator.asked(), Instant::now());
    tokio::time::sleep(WINDOW).await;
    let written = writes(town.plane.audit_since(mark).await, &town.user()).len();
    let asked = simulator.asked() - asked;
    let minutes = begun.elapsed().as_secs_f64() / 60.0;
    figures.put("claims.idle1000_writes_per_min", f64::from(u32::try_from(written)?) / minutes);
    figures.put("claims.idle1000_calls_per_min", f64::from(u32::try_from(asked)?) / minutes);
    Ok(())
}

/// Writes for every machine what the bootstrap service would, as if its agent had called long ago.
async fn occupy(crowded: &Crowded) -> Result<()> {
    let claims = crowded.town.claims();
    let runs = |claim: &MachineClaim| claim.status.as_ref().is_some_and(|status| status.first_running_time.is_some());
    let all = eventually("every machine runs", LONG, async || {
        // A list of a thousand claims is no small request.
        tokio::time::sleep(town::SOON / 60).await;
        let all = claims.list(&ListParams::default()).await.ok()?.items;
        (all.len() == MACHINES && all.iter().all(runs)).then_some(all)
    })
    .await;
    let long_ago = Clock::system().now() - AGE;
    let write = |(number, claim): (usize, MachineClaim)| {
        let claims = claims.clone();
        async move {
            let busy = busy(claim, number, long_ago)?;
            let name = busy.metadata.name.clone().unwrap_or_default();
            claims.replace_status(&name, &PostParams::default(), &busy).await.map(|_| ()).context("write a status")
        }
    };
    stream::iter(all.into_iter().enumerate()).map(write).buffer_unordered(PARALLEL).try_collect().await
}

/// The claim after its agent has proven itself and begun.
fn busy(mut claim: MachineClaim, number: usize, at: Timestamp) -> Result<MachineClaim> {
    let status = claim.status.clone().context("a machine that runs has a status")?;
    let (record, allocation) = (status.bootstrap.context("a record")?, status.allocation.context("an allocation")?);
    let key = Digest::new(format!("{number:064x}"));
    let presented = Presented {
        token_hash: &record.token_hash,
        key_hash: &key,
        machine: allocation.id.as_str(),
        from: IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    claim.status = match bind(&claim, &presented, at) {
        Ok(Bound::First(status)) => Some(*status),
        other => anyhow::bail!("nobody believes the machine of {:?}: {other:?}", claim.metadata.name),
    };
    claim.status = started(&claim, at);
    Ok(claim)
}

/// Waits until the operator writes nothing any more.
async fn settle(crowded: &Crowded) {
    let Crowded { town, .. } = crowded;
    loop {
        let mark = town.plane.audit_mark().await;
        tokio::time::sleep(QUIET).await;
        if writes(town.plane.audit_since(mark).await, &town.user()).is_empty() {
            return;
        }
    }
}
