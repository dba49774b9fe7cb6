//! Claims, for Prometheus: how many machines there are, how long they take and how that ends.
//!
//! Counted from the watch of claims, by whoever leads: the same story is never told twice when replicas are summed up.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api::{ConditionType, MachineClaim};
use chassis::metrics::{Entry, Kind, Metrics};
use fleet::claim::{ended, holds_machine};
use jiff::SignedDuration;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use runtime::{Cache, Change, Entry as Cached, Leadership, Parts};

use super::super::hypervisor_clusters::target;

/// Machines that there are.
pub(crate) const MACHINES: Entry = Entry {
    name: "hyperfleet_vms",
    kind: Kind::Gauge,
    labels: &["cluster", "phase"],
    help: "Machines that claims have, by cluster and the claim's phase",
};

/// How machines come about.
pub(crate) const PROVISIONED: Entry = Entry {
    name: "hyperfleet_vm_provisioning_total",
    kind: Kind::Counter,
    labels: &["cluster", "result", "reason"],
    help: "Machines that became ready, or ended before they were: ready, cancelled, failed, with the reason of the claim's condition",
};

/// How long that takes.
pub(crate) const DURATION: Entry = Entry {
    name: "hyperfleet_vm_provisioning_duration_seconds",
    kind: Kind::Histogram,
    labels: &["cluster", "template"],
    help: "Time from the creation of a claim until its agent has proven itself",
};

/// From a machine of memory snapshots to one that is about to be given up.
const SECONDS: [f64; 11] = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfMachines {
    cluster: String,
    phase: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfResults {
    cluster: String,
    result: &'static str,
    reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfDurations {
    cluster: String,
    template: String,
}

#[derive(Clone)]
struct Figures {
    machines: Family<OfMachines, Gauge>,
    provisioned: Family<OfResults, Counter>,
    durations: Family<OfDurations, Histogram, fn() -> Histogram>,
}

/// Counts claims while this process leads.
pub(super) fn follow(claims: &Cache<MachineClaim>, leadership: &Leadership, parts: &Parts) {
    let (figures, claims, leadership) = (Figures::new(&parts.metrics), claims.clone(), leadership.clone());
    let stopping = parts.tasks.stopping();
    parts.tasks.spawn("claims/figures", async move {
        tokio::select! {
            biased;
            () = stopping => {}
            () = count(&figures, &claims, &leadership) => {}
        }
    });
}

async fn count(figures: &Figures, claims: &Cache<MachineClaim>, leadership: &Leadership) {
    loop {
        leadership.acquired().await;
        let counts = Arc::new(Mutex::new(true));
        let (listener, still) = (figures.clone(), Arc::clone(&counts));
        claims.subscribe(move |change| {
            let still = still.lock().unwrap_or_else(PoisonError::into_inner);
            if *still {
                listener.note(change);
            }
            *still
        });
        leadership.lost().await;
        // Held, so that nobody counts in between.
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts = false;
        figures.machines.clear();
    }
}

impl Figures {
    fn new(metrics: &Metrics) -> Self {
        let durations: Family<OfDurations, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(SECONDS));
        let figures = Self { machines: Family::default(), provisioned: Family::default(), durations };
        metrics.register(MACHINES, figures.machines.clone());
        metrics.register(PROVISIONED, figures.provisioned.clone());
        metrics.register(DURATION, figures.durations.clone());
        figures
    }

    fn note(&self, change: &Change<'_, MachineClaim>) {
        let (before, after) = (change.before.and_then(Cached::readable), change.after.and_then(Cached::readable));
        if let Some(place) = before.and_then(place) {
            self.machines.get_or_create(&place).dec();
        }
        if let Some(place) = after.and_then(place) {
            self.machines.get_or_create(&place).inc();
        }
        // What is seen for the first time became what it is in somebody else's time.
        if let (Some(before), Some(after)) = (before, after) {
            self.outcome(before, after);
        }
    }

    /// Counts a machine that has become ready, or never will.
    fn outcome(&self, before: &MachineClaim, after: &MachineClaim) {
        if let Some(took) = readiness(after).filter(|_| readiness(before).is_none()) {
            let template = target(&after.spec.template_ref, &after.metadata).to_string();
            let labels = OfDurations { cluster: cluster(after), template };
            self.durations.get_or_create(&labels).observe(took.as_secs_f64());
            self.became(after, "ready");
        } else if readiness(after).is_none() && is_over(after) && !is_over(before) {
            self.became(after, if after.metadata.deletion_timestamp.is_some() { "cancelled" } else { "failed" });
        }
    }

    fn became(&self, claim: &MachineClaim, result: &'static str) {
        let conditions = claim.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let reason = api::condition::find(conditions, ConditionType::Ready).map(|ready| ready.reason.clone());
        let labels = OfResults { cluster: cluster(claim), result, reason: reason.unwrap_or_default() };
        self.provisioned.get_or_create(&labels).inc();
    }
}

/// Where a claim's machine is counted; nowhere without one.
fn place(claim: &MachineClaim) -> Option<OfMachines> {
    let phase = claim.status.as_ref().and_then(|status| status.phase).filter(|_| holds_machine(claim))?;
    Some(OfMachines { cluster: cluster(claim), phase: phase.as_str() })
}

/// The cluster that a claim's machine is on; empty without one.
fn cluster(claim: &MachineClaim) -> String {
    let allocation = claim.status.as_ref().and_then(|status| status.allocation.as_ref());
    allocation.map(|allocation| target(&allocation.cluster_ref, &claim.metadata).to_string()).unwrap_or_default()
}

/// How long a machine took to become ready; nothing if it never did.
fn readiness(claim: &MachineClaim) -> Option<Duration> {
    let ready = claim.status.as_ref()?.ready_time.as_ref()?.timestamp();
    let created = claim.metadata.creation_timestamp.as_ref()?.0;
    Some(Duration::try_from(ready.duration_since(created).max(SignedDuration::ZERO)).unwrap_or_default())
}

fn is_over(claim: &MachineClaim) -> bool {
    ended(claim.status.as_ref().and_then(|status| status.phase))
}
