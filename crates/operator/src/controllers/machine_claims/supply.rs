//! What a claim's machine would be made from: its template, that one's cluster, and whether both can be used.

use std::sync::Arc;

use api::condition::find;
use api::{ConditionType, HypervisorCluster, HypervisorMachineTemplate, MachineClaim, ObjectRef, Reason, Seed};
use fleet::claim::{Obstacle, Terms};
use fleet::template;
use kube::ResourceExt;
use providers::hypervisor::Image;
use reconcile::Fault;
use runtime::Key;

use super::super::hypervisor_clusters::target;
use super::super::machine_templates::{is_granted, obstacle};
use super::{Invitation, MachineClaims};
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
        let key = target(&claim.spec.template_ref, &claim.metadata);
        let Some(template) = self.sources.templates.get(&key) else {
            let message = format!("HypervisorMachineTemplate {key} does not exist: create it, or name another");
            return Ok(closed(Reason::TemplateMissing, message));
        };
        let home = claim.namespace().unwrap_or_default();
        let granted = template.spec.allowed_namespaces.as_ref();
        if home != key.namespace && !is_granted(&self.client, granted, &home).await? {
            let message = format!(
                "HypervisorMachineTemplate {key} does not allow namespace {home}: have its owner add the namespace to \
                 spec.allowedNamespaces"
            );
            return Ok(closed(Reason::NotGranted, message));
        }
        if template.metadata.deletion_timestamp.is_some() {
            return Ok(closed(Reason::TemplateNotValid, format!("HypervisorMachineTemplate {key} is being deleted")));
        }
        let cluster_key = target(&template.spec.hypervisor_cluster_ref, &template.metadata);
        let Some(cluster) = self.sources.clusters.get(&cluster_key) else {
            return Ok(closed(Reason::ClusterNotFound, format!("HypervisorCluster {cluster_key} does not exist")));
        };
        if let Some(why) = obstacle(&cluster) {
            let message = format!("HypervisorCluster {cluster_key} cannot be used: {why}");
            return Ok(closed(Reason::ClusterNotReady, message));
        }
        if !template::is_valid(template.status.as_ref()) {
            let valid =
                template.status.as_ref().and_then(|status| find(&status.conditions, ConditionType::TemplateValid));
            let why = valid.map_or_else(|| "it has not been checked yet".to_owned(), |valid| valid.message.clone());
            let message = format!("HypervisorMachineTemplate {key} is not valid: {why}");
            return Ok(closed(Reason::TemplateNotValid, message));
        }
        self.connected(template, cluster, &cluster_key).await
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
