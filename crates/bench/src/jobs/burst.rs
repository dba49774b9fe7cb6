//! A thousand jobs at once.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use anyhow::Result;
use testenv::{Audit, Signal, eventually};
use tokio::time::Instant;

use super::claims::MACHINES;
use super::claims::burst::{count, writes};
use super::scene::Scene;
use super::town::first_calls;
use super::usage::{peak_megabytes, processor_seconds};
use crate::figures::Figures;
use crate::world::PARALLEL;
use crate::{ceiling, server};

/// How long a burst may take before it counts as stuck.
const LONG: Duration = Duration::from_mins(10);

/// Delivers a thousand jobs as fast as they are taken, and compares how long it takes until all clones are asked for with
/// what the API server takes for as many writes as the operator's when it has nothing else to do.
pub(super) async fn measure(figures: &mut Figures) -> Result<()> {
    let scene = Scene::new().await?;
    let (town, hypervisor, pid) = (&scene.town, &scene.hypervisor, scene.town.operator.pid());
    town.operator.signal(Signal::Stop);
    let creates = ceiling::creates_per_second().await?;
    town.operator.signal(Signal::Continue);

    let deliveries = scene.platform.queue(MACHINES).await?;
    let (mark, used) = (town.plane.audit_mark().await, processor_seconds(pid)?);
    let served = server::processor_seconds(town.plane).await?;
    let started = Instant::now();
    scene.courier.bring(&deliveries, PARALLEL).await?;
    let stored = started.elapsed().as_secs_f64();
    let last = eventually("every clone is asked for", LONG, async || {
        let calls = first_calls(hypervisor);
        calls.values().max().copied().filter(|_| calls.len() >= MACHINES)
    })
    .await;
    let used = processor_seconds(pid)? - used;
    let served = server::processor_seconds(town.plane).await? - served;
    let audit = town.plane.audit_since(mark).await;
    tell(&audit.clone().user(&town.user()));
    let audit = audit.writes();
    let events = audit.clone().user(&town.user()).filter(|line| line.resource == "events").len();
    let writes = writes(audit, &town.user()).len();

    let took = last.duration_since(started).as_secs_f64();
    figures.put("jobs.burst1000_creates_per_s", creates);
    figures.put("jobs.burst1000_stored_s", stored);
    figures.put("jobs.burst1000_last_clone_s", took);
    figures.put("jobs.burst1000_writes", count(writes)?);
    figures.put("jobs.burst1000_events", count(events)?);
    let alone = count(writes)? / creates;
    figures.put("jobs.burst1000_over_ceiling", took / alone);
    figures.put("jobs.burst1000_server_over_ceiling", server::at_best(served)? / alone);
    figures.put("jobs.burst1000_cpu_s", used);
    figures.put("jobs.burst1000_peak_rss_mb", peak_megabytes(pid)?);
    Ok(())
}

/// Says what the operator asked of the API server, the most frequent first: where a figure comes from.
fn tell(audit: &Audit) {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for line in audit.lines() {
        let place = [line.resource.as_str(), line.subresource.as_str()].join("/");
        *kinds.entry(format!("{} {} {}", line.verb, place.trim_end_matches('/'), line.code)).or_default() += 1;
    }
    let mut kinds: Vec<(usize, String)> = kinds.into_iter().map(|(kind, count)| (count, kind)).collect();
    kinds.sort_by(|a, b| b.cmp(a));
    for (count, kind) in kinds {
        let _ = writeln!(std::io::stderr().lock(), "  {count:>6} {kind}");
    }
}
