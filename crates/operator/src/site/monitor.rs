//! Looks at one hypervisor again and again.
//!
//! The listing of everything is the probe; version and privileges are checked every few minutes, and whenever trouble is
//! over. While there is trouble, looks come soon at first and then more rarely.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fleet::cluster::{Probe, Report, Trouble};
use providers::hypervisor::{Error, Inventory};
use reconcile::Backoff;
use runtime::Leadership;
use tokio::time::Instant;

use super::images::needed;
use super::{Pace, Site, Usage, lock, machines, report};

/// How often version and privileges are checked.
const CHECKS: Duration = Duration::from_mins(5);

/// Looks that are not answered are repeated.
const BACKOFF: Backoff =
    Backoff { initial: Duration::from_secs(5), factor: 2.0, max: Duration::from_mins(5), jitter: 0.2 };

/// Watches over a site until it is given up or the process ends; while somebody else leads, it waits.
pub(super) async fn run(site: Arc<Site>, pace: Pace, leadership: Leadership, stopping: impl Future<Output = ()>) {
    tokio::select! {
        biased;
        () = stopping => {}
        () = watch_over(&site, &pace, &leadership) => {}
    }
}

async fn watch_over(site: &Site, pace: &Pace, leadership: &Leadership) {
    let mut checked: Option<Instant> = None;
    while !site.given_up.load(Ordering::Relaxed) {
        if !leadership.is_held() {
            // What is known is somebody else's past by then.
            checked = None;
            site.figures.forget(&site.key);
            tokio::select! {
                biased;
                () = site.poke.notified() => {}
                () = leadership.acquired() => {}
            }
            continue;
        }
        let due = checked.is_none_or(|at| at.elapsed() >= CHECKS);
        checked = match (look(site, due).await, due) {
            (false, _) => None,
            (true, true) => Some(Instant::now()),
            (true, false) => checked,
        };
        let pause = match failures(site) {
            0 => pace(),
            attempt => BACKOFF.delay(attempt, &site.key),
        };
        tokio::select! {
            biased;
            () = leadership.lost() => {}
            // Something about it is new: look at everything again.
            () = site.poke.notified() => checked = None,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

fn failures(site: &Site) -> u32 {
    lock(&site.view).probe.trouble.as_ref().map_or(0, |trouble| trouble.failures)
}

/// One look, with the checks if they are due; whether it was answered.
async fn look(site: &Site, checks: bool) -> bool {
    let usage = lock(&site.usage).clone();
    let found = match site.hypervisor.inventory().await {
        Err(error) => Err(error),
        Ok(inventory) => {
            let known = lock(&site.view).probe.report.clone();
            let report = match known.filter(|_| !checks) {
                Some(report) => Ok(report::refreshed(&inventory, &usage, report)),
                None => check(site, &usage, &inventory).await,
            };
            report.map(|report| (inventory, report))
        }
    };
    let answered = found.is_ok();
    let (changed, moved) = {
        let mut view = lock(&site.view);
        let before = view.probe.clone();
        let mut moved = Vec::new();
        match found {
            Ok((inventory, report)) => {
                moved = machines::moved(view.inventory.as_deref(), &inventory);
                moved.extend(std::mem::take(&mut *lock(&site.doubted)));
                view.probe = Probe { report: Some(report), trouble: None };
                view.inventory = Some(Arc::new(inventory));
            }
            Err(error) => view.probe.trouble = Some(trouble(&error, before.trouble.as_ref())),
        }
        (view.probe != before, moved)
    };
    if changed {
        site.bell.ring(&site.key);
    }
    site.call(&moved);
    if !site.given_up.load(Ordering::Relaxed) {
        site.figures.looked(&site.key, answered, site.insecure);
    }
    if answered {
        if let Some(inventory) = site.inventory() {
            site.figures.listed(&site.key, &inventory, usage.storage.as_str());
        }
        site.listed.notify_one();
    }
    answered
}

async fn check(site: &Site, usage: &Usage, inventory: &Inventory) -> Result<Report, Error> {
    let health = site.hypervisor.health().await?;
    let mut needs = (usage.needs)();
    for image in needed(&needs, inventory) {
        // What cannot be looked at is told of its templates.
        if let Ok(image) = site.inspected(&image).await {
            needs.cloning(&image);
        }
    }
    let missing = site.hypervisor.permissions(&needs).await?;
    Ok(report::of(inventory, usage, &health, &missing))
}

fn trouble(error: &Error, before: Option<&Trouble>) -> Trouble {
    let (kind, may_pass) = report::kind(error);
    let failures = before.map_or(0, |trouble| trouble.failures).saturating_add(1);
    Trouble { kind, message: error.to_string(), failures, may_pass }
}
