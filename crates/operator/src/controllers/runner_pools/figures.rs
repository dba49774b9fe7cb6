//! Pools, for Prometheus: what they have, what they want, and how many jobs wait.
//!
//! Told by whoever leads, from each pool's status as it is written.

use std::sync::{Arc, Mutex, PoisonError};

use api::{PhaseCounts, RunnerPool};
use chassis::metrics::{Entry, Kind};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use runtime::{Cache, Change, Entry as Cached, Key, Leadership, Parts};

/// Claims of pools.
pub(crate) const REPLICAS: Entry = Entry {
    name: "hyperfleet_pool_replicas",
    kind: Kind::Gauge,
    labels: &["pool", "state"],
    help: "Claims of a pool by phase, and how many it wants (state desired)",
};

/// Jobs that wait for them.
pub(crate) const QUEUED: Entry = Entry {
    name: "hyperfleet_pool_queued_jobs",
    kind: Kind::Gauge,
    labels: &["pool"],
    help: "Jobs that wait for a runner of a pool",
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfReplicas {
    pool: String,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfJobs {
    pool: String,
}

#[derive(Clone)]
struct Figures {
    replicas: Family<OfReplicas, Gauge>,
    queued: Family<OfJobs, Gauge>,
}

/// Counts pools while this process leads.
pub(super) fn follow(pools: &Cache<RunnerPool>, leadership: &Leadership, parts: &Parts) {
    let figures = Figures { replicas: Family::default(), queued: Family::default() };
    parts.metrics.register(REPLICAS, figures.replicas.clone());
    parts.metrics.register(QUEUED, figures.queued.clone());
    let (pools, leadership, stopping) = (pools.clone(), leadership.clone(), parts.tasks.stopping());
    parts.tasks.spawn("pools/figures", async move {
        tokio::select! {
            biased;
            () = stopping => {}
            () = count(&figures, &pools, &leadership) => {}
        }
    });
}

async fn count(figures: &Figures, pools: &Cache<RunnerPool>, leadership: &Leadership) {
    loop {
        leadership.acquired().await;
        let counts = Arc::new(Mutex::new(true));
        let (listener, still) = (figures.clone(), Arc::clone(&counts));
        pools.subscribe(move |change| {
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
        figures.replicas.clear();
        figures.queued.clear();
    }
}

impl Figures {
    fn note(&self, change: &Change<'_, RunnerPool>) {
        let status = match change.after.and_then(Cached::readable) {
            Some(pool) => pool.status.clone().unwrap_or_default(),
            None => return self.forget(change.key),
        };
        let phases = status.phases.unwrap_or_default();
        for (state, number) in counted(&phases).into_iter().chain([("desired", status.desired_replicas)]) {
            let labels = OfReplicas { pool: change.key.to_string(), state };
            self.replicas.get_or_create(&labels).set(number.into());
        }
        self.queued.get_or_create(&OfJobs { pool: change.key.to_string() }).set(status.pending_jobs.into());
    }

    fn forget(&self, pool: &Key) {
        for (state, _) in counted(&PhaseCounts::default()).into_iter().chain([("desired", 0)]) {
            self.replicas.remove(&OfReplicas { pool: pool.to_string(), state });
        }
        self.queued.remove(&OfJobs { pool: pool.to_string() });
    }
}

fn counted(phases: &PhaseCounts) -> [(&'static str, u32); 8] {
    let PhaseCounts { pending, provisioning, bootstrapping, ready, busy, draining, terminating, failed } = *phases;
    [
        ("pending", pending),
        ("provisioning", provisioning),
        ("bootstrapping", bootstrapping),
        ("ready", ready),
        ("busy", busy),
        ("draining", draining),
        ("terminating", terminating),
        ("failed", failed),
    ]
}
