//! Sites and their orphans, for Prometheus.

use std::sync::atomic::AtomicU64;

use chassis::metrics::{Entry, Kind, Metrics};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use runtime::Key;

/// Whether hypervisors answer.
pub(crate) const UP: Entry = Entry {
    name: "hyperfleet_cluster_up",
    kind: Kind::Gauge,
    labels: &["cluster"],
    help: "1 while the hypervisor answers and lets us in, else 0",
};

/// Whether their certificates are verified.
pub(crate) const TLS_INSECURE: Entry = Entry {
    name: "hyperfleet_cluster_tls_insecure",
    kind: Kind::Gauge,
    labels: &["cluster"],
    help: "1 while the connection does not verify the hypervisor's certificate, else 0",
};

/// What became of machines that no claim has.
pub(crate) const ORPHANS: Entry = Entry {
    name: "hyperfleet_orphans_total",
    kind: Kind::Counter,
    labels: &["cluster", "action"],
    help: "Machines of ours without a claim: removed, failed to remove, and storms in which there were too many",
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfCluster {
    cluster: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfOrphans {
    cluster: String,
    action: &'static str,
}

/// What became of a machine that no claim has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// It is gone.
    Removed,
    /// It could not be removed.
    Failed,
    /// There were too many at once.
    Storm,
}

impl Action {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::Failed => "failed",
            Self::Storm => "storm",
        }
    }
}

/// The figures of all sites; clones are the same.
#[derive(Clone)]
pub(super) struct Figures {
    up: Family<OfCluster, Gauge>,
    insecure: Family<OfCluster, Gauge>,
    orphans: Family<OfOrphans, Counter<u64, AtomicU64>>,
}

impl Figures {
    /// Figures that `metrics` shows.
    pub(super) fn new(metrics: &Metrics) -> Self {
        let figures = Self { up: Family::default(), insecure: Family::default(), orphans: Family::default() };
        metrics.register(UP, figures.up.clone());
        metrics.register(TLS_INSECURE, figures.insecure.clone());
        metrics.register(ORPHANS, figures.orphans.clone());
        figures
    }

    /// A look at a hypervisor was answered, or not.
    pub(super) fn looked(&self, cluster: &Key, answered: bool, insecure: bool) {
        let cluster = OfCluster { cluster: cluster.to_string() };
        self.up.get_or_create(&cluster).set(i64::from(answered));
        self.insecure.get_or_create(&cluster).set(i64::from(insecure));
    }

    /// Nobody looks at that hypervisor any more.
    pub(super) fn forget(&self, cluster: &Key) {
        let cluster = OfCluster { cluster: cluster.to_string() };
        self.up.remove(&cluster);
        self.insecure.remove(&cluster);
    }

    /// Something became of an orphan.
    pub(super) fn orphan(&self, cluster: &Key, action: Action) {
        let labels = OfOrphans { cluster: cluster.to_string(), action: action.as_str() };
        self.orphans.get_or_create(&labels).inc();
    }
}
