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
//! anything else is done with it, and everything else is looked at before it is made. What flags say is judged before anything
//! is done, and so is whether everything can be stored; what belongs to another set-up, or was changed by hand, is left alone,
//! and no secret goes anywhere but where it was given for.

mod access;
mod app;
mod apply;
mod existing;
mod hook;
mod manifests;
mod names;
mod owner;
mod platform;
mod questions;
mod store;
mod trust;
mod valid;
mod wish;

use std::process::ExitCode;

use chassis::Clock;
use providers::hypervisor::proxmox::Credentials;

pub(crate) use self::names::DEFAULT as DEFAULT_NAME;
pub(crate) use self::store::Store;
pub(crate) use self::wish::Wish;
use crate::doctor::{Chart, Severity, Sight, try_cluster, try_source};
use crate::print::{self, Paint};

/// Does everything that was wished for, one step after the other, and says what came of each.
pub(crate) async fn run(wish: &Wish, store: &Store) -> anyhow::Result<ExitCode> {
    let sight = Sight { hypervisors: wish.policy.clone(), platforms: wish.policy.clone(), clock: Clock::system() };
    let (paint, mut chart) = (Paint::detect(), Chart::default());
    if !wish.print_only {
        store.ready(&wish.secrets()).await?;
        existing::check(wish, store).await?;
        if let Some(ci) = &wish.ci {
            owner::check(ci, &sight).await?;
        }
    }
    let trust = trust::settle(wish, &sight).await?;
    let Some(token) = access::obtain(wish, &trust, store).await? else {
        return Ok(ExitCode::from(3));
    };
    let nodes = access::nodes(wish, &trust, &token, store).await?;
    let objects = manifests::hypervisor(wish, &trust, &nodes);
    let (cluster, template) = objects.typed()?;
    let credentials = Credentials::Token { id: wish.identity(), secret: token };
    step("The hypervisor")?;
    try_cluster(&sight, cluster, template, (credentials, trust.clone()), &mut chart).await;
    tell(&chart, paint)?;
    let (mut all, mut broken, mut source) = (objects.values(), chart.count(Severity::Broken), None);
    if let Some(ci) = &wish.ci {
        step("The CI platform")?;
        let login = platform::obtain(wish, ci, &sight, store).await?;
        hook::check(wish, ci, &login, &sight).await?;
        let objects = manifests::source(wish, ci, &login);
        let mut chart = Chart::default();
        try_source(&sight, &objects.typed()?, login.given(), ci.trust.clone(), &mut chart).await;
        tell(&chart, paint)?;
        broken += chart.count(Severity::Broken);
        all.extend(objects.values());
        source = Some((ci, login));
    }
    step("The manifests")?;
    let kept = store.put(&all).await?;
    print::out(&store.next(&all, &kept))?;
    if let Some((ci, login)) = &source
        && let Some(words) = hook::settle(wish, ci, login, &sight, store).await?
    {
        print::out(&words)?;
    }
    Ok(ExitCode::from(u8::from(broken > 0)))
}

fn step(name: &str) -> anyhow::Result<()> {
    Ok(print::out(&format!("\n{name}\n"))?)
}

/// What was found, what is well first.
fn tell(chart: &Chart, paint: Paint) -> anyhow::Result<()> {
    Ok(print::out(&format!("{}{}", chart.good(paint), chart.text(paint)))?)
}
