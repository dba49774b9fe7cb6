//! `hyperfleet init`: from a Proxmox VE and a CI platform to manifests that work.
//!
//! ```text
//!   flags, or questions ─▶ Wish ─▶ Grants: the pveum lines ─▶ printed, or done by Admin ─▶ token ──┐
//!                            │                                                                    ▼
//!                            ├──▶ GitHub App by the manifest flow, or a token ─▶ Store (0600 files, or Secrets)
//!                            └──▶ manifests ─▶ tried out live by the doctor's checks ─▶ files, or applied
//! ```
//!
//! It can be ended at any moment and run again: what is told once (the secret of a token, the key of an App) is stored before
//! anything else is done with it, and everything else is looked at before it is made.

mod access;
mod app;
mod manifests;
mod platform;
mod store;
mod trust;
mod wish;

use std::process::ExitCode;

use chassis::Clock;
use providers::hypervisor::proxmox::Credentials;

pub(crate) use self::store::Store;
pub(crate) use self::wish::Wish;
use crate::doctor::{Chart, Severity, Sight, try_cluster, try_source};
use crate::print::{self, Paint};

/// Does everything that was wished for, one step after the other, and says what came of each.
pub(crate) async fn run(wish: &Wish, store: &Store) -> anyhow::Result<ExitCode> {
    let sight = Sight { hypervisors: wish.policy.clone(), platforms: wish.policy.clone(), clock: Clock::system() };
    let (paint, mut chart) = (Paint::detect(), Chart::default());
    let trust = trust::settle(wish, &sight).await?;
    let Some(token) = access::obtain(wish, &trust, store).await? else {
        return Ok(ExitCode::from(3));
    };
    let nodes = access::nodes(wish, &trust, &token).await?;
    let objects = manifests::hypervisor(wish, &trust, &nodes);
    let (cluster, template) = objects.typed()?;
    let credentials = Credentials::Token { id: wish.identity(), secret: token };
    step("The hypervisor")?;
    try_cluster(&sight, cluster, template, (credentials, trust.clone()), &mut chart).await;
    tell(&chart, paint)?;
    let mut all = objects.values();
    let mut broken = chart.count(Severity::Broken);
    if let Some(ci) = &wish.ci {
        step("The CI platform")?;
        let Some(login) = platform::obtain(wish, ci, &sight, store).await? else {
            return Ok(ExitCode::from(3));
        };
        let source = manifests::source(wish, ci, &login);
        let mut chart = Chart::default();
        try_source(&sight, &source.typed()?, login.given(), ci.trust.clone(), &mut chart).await;
        tell(&chart, paint)?;
        broken += chart.count(Severity::Broken);
        all.extend(source.values());
    }
    step("The manifests")?;
    store.put(&all).await?;
    print::out(&store.next(&all))?;
    Ok(ExitCode::from(u8::from(broken > 0)))
}

fn step(name: &str) -> anyhow::Result<()> {
    Ok(print::out(&format!("\n{name}\n"))?)
}

/// What was found, what is well first.
fn tell(chart: &Chart, paint: Paint) -> anyhow::Result<()> {
    Ok(print::out(&format!("{}{}", chart.good(paint), chart.text(paint)))?)
}
