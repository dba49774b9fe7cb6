//! The one place that knows which hypervisors there are.

use api::{HypervisorCluster, Provider};
use providers::hypervisor::proxmox::{Limits, Proxmox, Settings};
use providers::hypervisor::{
    BridgeName, Error, Health, Hypervisor as _, Image, Inventory, Missing, Needs, NodeName, VmRef,
};
use std::collections::BTreeSet;

use super::dial::{Dial, DialError};
use super::login::Complete;

/// A hypervisor of one of the kinds we know.
pub(super) enum Hypervisor {
    /// Proxmox VE.
    Proxmox(Box<Proxmox>),
}

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
                    limits: Limits::default(),
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

    pub(super) async fn health(&self) -> Result<Health, Error> {
        match self {
            Self::Proxmox(proxmox) => proxmox.health().await,
        }
    }

    pub(super) async fn permissions(&self, needs: &Needs) -> Result<Vec<Missing>, Error> {
        match self {
            Self::Proxmox(proxmox) => proxmox.permissions(needs).await,
        }
    }

    pub(super) async fn inventory(&self) -> Result<Inventory, Error> {
        match self {
            Self::Proxmox(proxmox) => proxmox.inventory().await,
        }
    }

    pub(super) async fn networks(&self, node: &NodeName) -> Result<BTreeSet<BridgeName>, Error> {
        match self {
            Self::Proxmox(proxmox) => proxmox.networks(node).await,
        }
    }

    /// Whether and where an image can be cloned.
    pub(super) async fn inspect(&self, image: &VmRef) -> Result<Image, Error> {
        match self {
            Self::Proxmox(proxmox) => proxmox.inspect(image).await,
        }
    }
}
