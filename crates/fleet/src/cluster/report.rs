//! What a look at a hypervisor found.

use api::{AvailableResources, HypervisorClusterStatus, NodeName, NodeStatus, Quantity};

use super::Observed;

/// The last looks at a hypervisor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// What the last look that was answered found.
    pub report: Option<Report>,
    /// What went wrong since, if anything did.
    pub trouble: Option<Trouble>,
}

/// Why looks are not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What kind of trouble.
    pub kind: api::Reason,
    /// What happened and what to do about it.
    pub message: String,
    /// Looks in a row without an answer.
    pub failures: u32,
    /// Whether trying again can help: a connection that broke may come back, a wrong certificate does not.
    pub may_pass: bool,
}

/// A hypervisor that answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Its version.
    pub version: String,
    /// All its nodes.
    pub nodes: Vec<Node>,
    /// Space on the default storage, where we may see it.
    pub storage: Vec<Space>,
    /// Nodes on which the default storage takes disks.
    pub homes: Vec<NodeName>,
    /// Whether the resource pool is there.
    pub pool: PoolSight,
    /// What we may not do and should.
    pub lacks: Vec<Lack>,
}

/// Whether the resource pool for machines is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolSight {
    /// Machines are put into none.
    #[default]
    Unused,
    /// It is.
    There,
    /// It is not.
    Absent,
    /// We may not see it.
    Hidden,
}

/// A storage on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// The node.
    pub node: NodeName,
    /// All of it, in bytes.
    pub bytes: u64,
    /// Whether it is the same one on other nodes.
    pub shared: bool,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// Whether it is there.
    pub presence: Presence,
    /// Whether an administrator is emptying it.
    pub maintenance: bool,
    /// Processor cores, if we may see them.
    pub cpu: Option<u32>,
    /// Memory in bytes, if we may see it.
    pub memory: Option<u64>,
}

/// Whether a node is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    Online,
    /// It is not, or nobody knows.
    Away,
}

/// A privilege that we do not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// Which, where, what for, and the command that grants it.
    pub message: String,
    /// Whether machines cannot be made at all without it.
    pub required: bool,
}

impl Report {
    /// The nodes that the cluster's spec names, as far as the hypervisor knows them.
    pub(super) fn configured<'a>(&'a self, observed: &'a Observed) -> impl Iterator<Item = &'a Node> {
        self.nodes.iter().filter(|node| observed.cluster.spec.nodes.iter().any(|wanted| wanted.name == node.name))
    }

    /// Those that the spec names and the hypervisor does not know.
    pub(super) fn unknown<'a>(&'a self, observed: &'a Observed) -> impl Iterator<Item = &'a NodeName> {
        let known = |name: &NodeName| self.nodes.iter().any(|node| node.name == *name);
        observed.cluster.spec.nodes.iter().map(|node| &node.name).filter(move |name| !known(name))
    }
}

/// All the space that the configured nodes have: once if it is shared, else on each.
fn space(report: &Report, observed: &Observed) -> Option<u64> {
    let ours: Vec<&Space> =
        report.storage.iter().filter(|space| report.configured(observed).any(|node| node.name == space.node)).collect();
    let sizes = ours.iter().map(|space| space.bytes);
    if ours.iter().any(|space| space.shared) { sizes.max() } else { sizes.reduce(|sum, size| sum + size) }
}

/// The status with what was found. Nothing in it moves by itself: what is free changes all the time, what there is does
/// not.
pub(super) fn tell(report: &Report, observed: &Observed, status: HypervisorClusterStatus) -> HypervisorClusterStatus {
    // Nothing is no quantity: an API server refuses it, and with it everything else that is to be told.
    let quantity = |bytes: u64| Some(bytes >> 20).filter(|size| *size > 0).map(Quantity::from_mebibytes);
    let nodes: Vec<NodeStatus> = report
        .configured(observed)
        .map(|node| NodeStatus {
            name: node.name.clone(),
            online: node.presence == Presence::Online,
            maintenance: node.maintenance,
            cpu: node.cpu,
            memory: node.memory.and_then(quantity),
        })
        .collect();
    let online = || report.configured(observed).filter(|node| node.presence == Presence::Online);
    let sum = |of: fn(&Node) -> Option<u64>| -> Option<u64> { online().map(of).sum() };
    let cpu = sum(|node| node.cpu.map(u64::from)).and_then(|cores| u32::try_from(cores).ok());
    HypervisorClusterStatus {
        version: Some(report.version.clone()),
        connected_nodes: u16::try_from(online().count()).ok(),
        nodes,
        available_resources: Some(AvailableResources {
            cpu,
            memory: sum(|node| node.memory).and_then(quantity),
            storage: space(report, observed).and_then(quantity),
        }),
        ..status
    }
}
