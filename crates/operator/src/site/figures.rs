//! Sites and their orphans, for Prometheus.

use std::sync::atomic::AtomicU64;

use chassis::metrics::{Entry, Kind, Metrics};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use providers::hypervisor::{Bytes, Content, Inventory, Kind as Guest, NodeRow, Presence, VmRow};
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

/// What hypervisors have, and what of it is laid claim to.
pub(crate) const RESOURCES: Entry = Entry {
    name: "hyperfleet_cluster_resource",
    kind: Kind::Gauge,
    labels: &["cluster", "resource", "kind"],
    help: "What a hypervisor's online nodes have (capacity) and what guests on them may use (allocated): cpu in cores, memory and the default storage in bytes",
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
struct OfResources {
    cluster: String,
    resource: &'static str,
    kind: &'static str,
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
    resources: Family<OfResources, Gauge>,
    orphans: Family<OfOrphans, Counter<u64, AtomicU64>>,
}

impl Figures {
    /// Figures that `metrics` shows.
    pub(super) fn new(metrics: &Metrics) -> Self {
        let figures = Self {
            up: Family::default(),
            insecure: Family::default(),
            resources: Family::default(),
            orphans: Family::default(),
        };
        metrics.register(UP, figures.up.clone());
        metrics.register(TLS_INSECURE, figures.insecure.clone());
        metrics.register(RESOURCES, figures.resources.clone());
        metrics.register(ORPHANS, figures.orphans.clone());
        figures
    }

    /// A look at a hypervisor was answered, or not.
    pub(super) fn looked(&self, cluster: &Key, answered: bool, insecure: bool) {
        let cluster = OfCluster { cluster: cluster.to_string() };
        self.up.get_or_create(&cluster).set(i64::from(answered));
        self.insecure.get_or_create(&cluster).set(i64::from(insecure));
    }

    /// What a listing says that there is, and how much of it is laid claim to; `storage` is the default one.
    pub(super) fn listed(&self, cluster: &Key, inventory: &Inventory, storage: &str) {
        for (resource, amounts) in
            [("cpu", processors(inventory)), ("memory", memory(inventory)), ("storage", space(inventory, storage))]
        {
            for (kind, amount) in [("capacity", amounts.0), ("allocated", amounts.1)] {
                let labels = OfResources { cluster: cluster.to_string(), resource, kind };
                self.resources.get_or_create(&labels).set(i64::try_from(amount).unwrap_or(i64::MAX));
            }
        }
    }

    /// Nobody looks at that hypervisor any more.
    pub(super) fn forget(&self, cluster: &Key) {
        let cluster = OfCluster { cluster: cluster.to_string() };
        self.up.remove(&cluster);
        self.insecure.remove(&cluster);
        for resource in ["cpu", "memory", "storage"] {
            for kind in ["capacity", "allocated"] {
                self.resources.remove(&OfResources { cluster: cluster.cluster.clone(), resource, kind });
            }
        }
    }

    /// Something became of an orphan.
    pub(super) fn orphan(&self, cluster: &Key, action: Action) {
        let labels = OfOrphans { cluster: cluster.to_string(), action: action.as_str() };
        self.orphans.get_or_create(&labels).inc();
    }
}

/// The nodes that answer.
fn nodes(inventory: &Inventory) -> impl Iterator<Item = &NodeRow> {
    inventory.nodes.iter().filter(|node| node.presence == Presence::Online)
}

/// The guests on them, whether they run or not.
fn guests(inventory: &Inventory) -> impl Iterator<Item = &VmRow> {
    let online = |row: &&VmRow| nodes(inventory).any(|node| node.name == row.vm.node);
    inventory.vms.iter().filter(|row| row.kind != Guest::Image).filter(online)
}

fn processors(inventory: &Inventory) -> (u64, u64) {
    let sum = |cores: &mut dyn Iterator<Item = Option<u32>>| cores.flatten().map(u64::from).sum();
    (sum(&mut nodes(inventory).map(|node| node.cores)), sum(&mut guests(inventory).map(|guest| guest.cores)))
}

fn memory(inventory: &Inventory) -> (u64, u64) {
    let sum = |sizes: &mut dyn Iterator<Item = Option<Bytes>>| sizes.flatten().map(|Bytes(bytes)| bytes).sum();
    (sum(&mut nodes(inventory).map(|node| node.memory)), sum(&mut guests(inventory).map(|guest| guest.memory)))
}

/// A storage that nodes share counts once.
fn space(inventory: &Inventory, storage: &str) -> (u64, u64) {
    let here = |node: &str| nodes(inventory).any(|row| row.name.as_str() == node);
    let rows =
        inventory.storages.iter().filter(|row| row.name.as_str() == storage && row.takes.contains(&Content::Disks));
    let mut rows: Vec<_> = rows.filter(|row| here(row.node.as_str())).collect();
    if rows.iter().any(|row| row.shared) {
        rows.truncate(1);
    }
    let sum = |of: fn(&providers::hypervisor::StorageRow) -> Option<Bytes>| -> u64 {
        rows.iter().filter_map(|row| of(row)).map(|Bytes(bytes)| bytes).sum()
    };
    (sum(|row| row.total), sum(|row| row.used))
}
