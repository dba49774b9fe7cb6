//! What a claim's machine would be made from: its template, that one's cluster, and whether both can be used.

use std::sync::Arc;

use api::{HypervisorCluster, HypervisorMachineTemplate, MachineClaim, ObjectRef, Reason, Seed};
use fleet::claim::{Obstacle, Terms};
use kube::ResourceExt;
use providers::hypervisor::Image;
use reconcile::Fault;
use runtime::Key;

use super::super::stock::Stock;
use super::{Invitation, MachineClaims, Sources};
use crate::site::Site;

/// Everything a machine is made from.
#[derive(Clone)]
pub(super) struct Supply {
    pub(super) template: Arc<HypervisorMachineTemplate>,
    pub(super) cluster: Arc<HypervisorCluster>,
    pub(super) site: Arc<Site>,
    pub(super) image: Image,
    pub(super) invitation: Invitation,
}

fn closed<T>(reason: Reason, message: impl Into<String>) -> Result<T, Obstacle> {
    Err(Obstacle { reason, message: message.into() })
}

impl MachineClaims {
    /// What the claim's machine would be made from, or the one reason why not.
    pub(super) async fn supply(&self, claim: &MachineClaim) -> Result<Result<Supply, Obstacle>, Fault> {
        let Sources { templates, clusters, .. } = self.sources.clone();
        let stock = Stock { templates, clusters, client: self.client.clone() };
        match stock.find(&claim.spec.template_ref, &claim.metadata).await? {
            Ok((template, cluster)) => {
                let key = Key::of(&cluster.metadata);
                self.connected(template, cluster, &key).await
            }
            Err(obstacle) => Ok(Err(obstacle)),
        }
    }

    async fn connected(
        &self,
        template: Arc<HypervisorMachineTemplate>,
        cluster: Arc<HypervisorCluster>,
        key: &Key,
    ) -> Result<Result<Supply, Obstacle>, Fault> {
        let Some(site) = self.sites.get(key) else {
            return Ok(closed(Reason::ClusterNotReady, format!("HypervisorCluster {key} is not connected yet")));
        };
        let invitation = match (self.invite)().await? {
            Ok(invitation) => invitation,
            Err(why) => return Ok(closed(Reason::Refused, why)),
        };
        match site.image_of(&template).await {
            Ok(image) => Ok(Ok(Supply { template, cluster, site, image, invitation })),
            Err(error) => Ok(closed(Reason::TemplateNotValid, format!("the image cannot be looked at: {error}"))),
        }
    }
}

impl Supply {
    /// How machines get their seed.
    pub(super) fn seed(&self) -> Seed {
        self.cluster.spec.proxmox.as_ref().map_or(Seed::Iso, |proxmox| proxmox.seed)
    }

    /// The same as the planner sees it.
    pub(super) fn terms(&self, claim: &MachineClaim) -> Terms {
        let (home, key) = (claim.namespace().unwrap_or_default(), Key::of(&self.cluster.metadata));
        let namespace = (home != key.namespace).then(|| api::NamespaceName::new(key.namespace));
        Terms {
            cluster: ObjectRef { name: api::ObjectName::new(key.name), namespace },
            template_generation: self.template.metadata.generation.unwrap_or(1),
            image: api::VmId(self.image.image.id.into()),
            token_ttl: self.template.spec.attestation.join_token_ttl.as_duration(),
            stages_seed: self.seed() == Seed::Iso,
        }
    }
}
