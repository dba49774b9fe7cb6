//! What errors speak of.

use std::fmt;

use super::id::NodeName;
use super::number::VmId;

/// The thing an error speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// The hypervisor as a whole.
    Hypervisor,
    /// A VM.
    Vm(VmId),
    /// An image that VMs are made from.
    Image(VmId),
    /// A node.
    Node(NodeName),
    /// A storage.
    Storage(String),
    /// A volume on a storage.
    Volume(String),
    /// A bridge or virtual network.
    Network(String),
    /// A resource pool.
    Pool(String),
    /// A task.
    Task(String),
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hypervisor => f.write_str("the hypervisor"),
            Self::Vm(id) => write!(f, "VM {id}"),
            Self::Image(id) => write!(f, "image {id}"),
            Self::Node(name) => write!(f, "node {name}"),
            Self::Storage(name) => write!(f, "storage {name}"),
            Self::Volume(name) => write!(f, "volume {name}"),
            Self::Network(name) => write!(f, "network {name}"),
            Self::Pool(name) => write!(f, "resource pool {name}"),
            Self::Task(task) => write!(f, "task {task}"),
        }
    }
}

/// A lock that many operations share and that was not free in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shared {
    /// The lock on one VM's settings.
    Vm(VmId),
    /// The lock on a storage.
    Storage(String),
    /// Any other.
    Other(String),
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vm(id) => write!(f, "VM {id}"),
            Self::Storage(name) => write!(f, "storage {name}"),
            Self::Other(name) => f.write_str(name),
        }
    }
}
