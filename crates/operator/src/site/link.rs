//! The one place that knows which hypervisors there are.
//!
//! What each call promises stands at [`providers::hypervisor::Hypervisor`].

use api::{HypervisorCluster, Provider};
use providers::hypervisor::proxmox::{Limits, Proxmox, Settings};
use providers::hypervisor::{
    AllocationId, BridgeName, CloneOrder, Error, Gib, Health, Hypervisor as _, Image, Inventory, Missing, Needs,
    NoCloud, NodeName, Power, PowerAction, Seen, Shape, StorageName, TaskRef, TaskState, VmId, VmRef, VolumeId, Whose,
};
use std::collections::BTreeSet;

use super::dial::{Dial, DialError};
use super::login::Complete;

/// A hypervisor of one of the kinds we know.
pub enum Hypervisor {
    /// Proxmox VE.
    Proxmox(Box<Proxmox>),
}

/// Clones of ours that may be under way on a storage: the planner measures and asks for no more than the storage can take in
/// time, so that the guard behind it only has to stop what cannot be right.
const CLONES: usize = 64;

impl Hypervisor {
    /// A client of the cluster's hypervisor; nothing is sent yet.
    pub(super) fn connect(cluster: &HypervisorCluster, login: &Complete, dial: &Dial) -> Result<Self, DialError> {
        match cluster.spec.provider {
            Provider::Proxmox => {
                let client = dial(cluster.spec.endpoint.as_str(), login.trust.clone())?;
                let seeds = cluster.spec.proxmox.as_ref().and_then(|proxmox| proxmox.iso_storage.as_ref());
                let settings = Settings {
                    owner: login.owner.clone(),
                    seeds: seeds.and_then(|storage| storage.as_str().parse().ok()),
                    limits: Limits { clones_per_storage: CLONES, ..Limits::default() },
                };
                Ok(Self::Proxmox(Box::new(Proxmox::new(client, login.credentials.clone(), settings))))
            }
        }
    }

    /// Uses other credentials from now on.
    pub(super) async fn rotate(&self, login: &Complete) {
        match self {
            Self::Proxmox(proxmox) => proxmox.rotate(login.credentials.clone()).await,
        }
    }
}

/// Hands a call on to whichever hypervisor it is.
macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+) => {
        impl Hypervisor {
            $($(#[$doc])*
            pub(crate) async fn $name(&self $(, $argument: $type)*) -> Result<$answer, Error> {
                match self {
                    Self::Proxmox(proxmox) => proxmox.$name($($argument),*).await,
                }
            })+
        }
    };
}

calls! {
    health() -> Health;
    permissions(needs: &Needs) -> Vec<Missing>;
    inventory() -> Inventory;
    networks(node: &NodeName) -> BTreeSet<BridgeName>;
    inspect(image: &VmRef) -> Image;
    is_taken(id: VmId) -> bool;
    clone_image(order: &CloneOrder<'_>) -> TaskRef;
    look(vm: &VmRef, whose: Whose<'_>) -> Seen;
    power_state(vm: &VmRef) -> Power;
    configure(seen: &Seen, shape: &Shape) -> ();
    resize(seen: &Seen, disk: Gib) -> Option<TaskRef>;
    stage_seed(vm: &VmRef, allocation: &AllocationId, files: &NoCloud) -> Option<TaskRef>;
    detach_seed(seen: &Seen) -> ();
    discard_seed(vm: &VmRef, allocation: &AllocationId) -> Option<TaskRef>;
    power(seen: &Seen, action: PowerAction) -> TaskRef;
    destroy(seen: &Seen) -> TaskRef;
    leftovers(vm: &VmRef, storages: &[StorageName]) -> Vec<VolumeId>;
    remove_leftover(vm: &VmRef, volume: &VolumeId) -> Option<TaskRef>;
    task(task: &TaskRef) -> TaskState;
}
