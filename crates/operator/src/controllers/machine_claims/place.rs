//! Where a claim's machine goes.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{CidrText, MachineClaim, NodeName, Reason, UuidText, VmId};
use fleet::claim::{self, Obstacle, Offer, Place};
use providers::hex;
use providers::hypervisor::AllocationId;
use runtime::Key;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest as _, Sha256};

use super::super::hypervisor_clusters::target;
use super::supply::Supply;
use super::{MachineClaims, allocation, uid};
use crate::chance::uuid;
use crate::site::{Want, disks};

impl MachineClaims {
    /// A number, a node and an address for a claim that has none.
    pub(super) fn offer(&self, claim: &MachineClaim, supply: &Supply) -> Offer {
        // A retry that is not due must not take a number.
        let now = self.clock.now();
        let policy = self.policy(Some(supply));
        if claim.status.as_ref().and_then(|status| claim::due(status, &policy, now)).is_some() {
            return Offer::Unasked;
        }
        let key = Key::of(&supply.cluster.metadata);
        let uid = uid(claim);
        let want = Want { claim: &uid, cluster: &supply.cluster, template: &supply.template, image: &supply.image };
        supply.site.renew(&uid, now);
        let found = self.address(supply).and_then(|address| {
            let place = supply.site.offer(&want, || self.recorded(&key), &self.chance, now)?;
            Ok((place, address))
        });
        let ((id, vm_id, node), address) = match found {
            Ok(found) => found,
            Err(obstacle) => return Offer::None(obstacle),
        };
        let Ok(allocation) = id.parse::<AllocationId>() else { return Offer::Unasked };
        let bootstrap = uuid(&self.chance);
        let token = supply.site.token(&allocation, &bootstrap);
        let seed = supply.site.seed_name(&allocation, &bootstrap);
        let hash = |text: &SecretString| api::Digest::new(hex::encode(&Sha256::digest(text.expose_secret())));
        self.notes.change(&uid, &id, |note| note.made_here = true);
        Offer::Place(Place {
            id: UuidText::new(id),
            vm_id,
            node,
            storages: disks(&supply.cluster, &supply.template, &supply.image).into_iter().collect(),
            address,
            bootstrap: UuidText::new(bootstrap),
            token_hash: hash(&token),
            seed_hash: hash(&seed),
        })
    }

    /// The numbers that claims hold on a cluster.
    fn recorded(&self, cluster: &Key) -> Vec<(VmId, NodeName)> {
        let held = |claim: &Arc<MachineClaim>| {
            let allocation = allocation(claim).filter(|_| claim::holds_machine(claim))?;
            let mine = target(&allocation.cluster_ref, &claim.metadata) == *cluster;
            mine.then(|| (allocation.vm_id, allocation.node.clone()))
        };
        self.sources.claims.all().iter().filter_map(held).collect()
    }

    /// An address that no other claim holds, where the template gives out static ones.
    fn address(&self, supply: &Supply) -> Result<Option<CidrText>, Obstacle> {
        let Some(settings) = &supply.template.spec.network.static_config else { return Ok(None) };
        let held: BTreeSet<CidrText> = self
            .sources
            .claims
            .all()
            .iter()
            .filter(|claim| claim::holds_machine(claim))
            .filter_map(|claim| allocation(claim)?.address.clone())
            .collect();
        let free = settings.addresses.iter().find(|address| !held.contains(address));
        free.cloned().map(Some).ok_or_else(|| Obstacle {
            reason: Reason::NoFreeAddress,
            message: "every address of network.staticConfig.addresses is in use: add some, or wait".to_owned(),
        })
    }
}
