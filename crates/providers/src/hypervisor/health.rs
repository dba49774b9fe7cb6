//! Whether we can work with a hypervisor: does it answer, as whom, and what may we do.

use std::collections::BTreeSet;
use std::fmt;

use super::id::{BridgeName, PoolName, StorageName};
use super::image::Image;
use super::number::VmId;

/// The answer to a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The version that the hypervisor reports.
    pub version: String,
    /// As whom we are logged in; no secret.
    pub identity: String,
}

/// What we are going to use, so that missing privileges can be named before something fails for want of them.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Images to clone.
    pub images: BTreeSet<VmId>,
    /// Those of them whose disks machines share where that is possible.
    pub linked: BTreeSet<VmId>,
    /// The resource pool of the VMs; `None` if they are in none.
    pub pool: Option<PoolName>,
    /// Storages for disks.
    pub storages: BTreeSet<StorageName>,
    /// The storage for seed images.
    pub seeds: Option<StorageName>,
    /// Bridges and virtual networks, with their zone where they have one.
    pub networks: BTreeSet<(Option<String>, BridgeName)>,
    /// Storages of images whose disks machines share.
    pub shared: BTreeSet<StorageName>,
    /// Bridges that images are plugged into, and their clones at first.
    pub plugs: BTreeSet<BridgeName>,
}

impl Needs {
    /// Adds what a clone of this image takes: the bridges of its network cards, which a clone has until it is configured, and
    /// room where the image's disks are if it shares them. A whole copy goes to a storage that is named.
    pub fn cloning(&mut self, image: &Image) {
        if image.linkable && self.linked.contains(&image.image.id) {
            self.shared.extend(image.storages.iter().cloned());
        }
        self.plugs.extend(image.networks.iter().cloned());
    }
}

/// Privileges that are missing in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Where.
    pub path: String,
    /// Which.
    pub privileges: BTreeSet<String>,
    /// What cannot be done without them.
    pub purpose: &'static str,
    /// Whether machines cannot be made at all without them; otherwise only what `purpose` says suffers.
    pub required: bool,
    /// The command that an administrator runs to grant them.
    pub remedy: String,
}

impl Missing {
    /// Whether resource pools cannot be seen without them, so that their absence from a listing says nothing.
    pub fn hides_pools(&self) -> bool {
        self.privileges.contains("Pool.Audit")
    }

    /// Whether VMs of others cannot be seen without them, so that a number that no VM in the listing has may be taken.
    pub fn hides_machines(&self) -> bool {
        self.path == "/vms" && self.privileges.contains("VM.Audit")
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let privileges: Vec<&str> = self.privileges.iter().map(String::as_str).collect();
        write!(f, "{} on {}, to {}: {}", privileges.join(", "), self.path, self.purpose, self.remedy)
    }
}
