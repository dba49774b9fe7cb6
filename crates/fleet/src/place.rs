//! Where a new machine goes: its VMID, its node, and whether its storage can take another clone now.
//!
//! Three small decisions that a claim's planner takes before anything happens outside, so that the answer can be written
//! ahead. Each is a function of what is known; none asks the hypervisor.

mod node;
mod permit;
mod vmid;

pub use node::{Candidate, NoNode, NodeState, choose_node};
pub use permit::{Permits, StorageBusy};
pub use vmid::{NoVmId, VmIds};
