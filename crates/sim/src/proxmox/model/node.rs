//! A node of the cluster.

use jiff::Timestamp;

use crate::proxmox::Release;

/// A node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) online: bool,
    /// Since when it has been as it is, for statistics that outlive it.
    pub(crate) since: Timestamp,
    pub(crate) cpus: u64,
    pub(crate) memory: u64,
    pub(crate) address: String,
    /// Its own release, where it differs from the cluster's.
    pub(crate) release: Option<Release>,
    /// Whether its own maintenance mode is on.
    pub(crate) maintenance: bool,
    pub(crate) bridges: Vec<String>,
}
