//! Whether machines can be made from a template now, for a claim that wants one and for a pool that would make claims.

use std::sync::Arc;

use api::condition::find;
use api::{ConditionType, HypervisorCluster, HypervisorMachineTemplate, ObjectRef, Reason};
use fleet::claim::Obstacle;
use fleet::template;
use kube::Client;
use kube::core::ObjectMeta;
use reconcile::Fault;
use runtime::{Cache, Key};

use super::hypervisor_clusters::target;
use super::machine_templates::{is_granted, obstacle};

/// A template that can be used, and its cluster.
pub(super) type Stocked = (Arc<HypervisorMachineTemplate>, Arc<HypervisorCluster>);

/// Where templates and clusters are looked up.
#[derive(Clone)]
pub(super) struct Stock {
    pub(super) templates: Cache<HypervisorMachineTemplate>,
    pub(super) clusters: Cache<HypervisorCluster>,
    pub(super) client: Client,
}

fn closed<T>(reason: Reason, message: impl Into<String>) -> Result<T, Obstacle> {
    Err(Obstacle { reason, message: message.into() })
}

impl Stock {
    /// The template that an object refers to, or the one reason why nothing can be made from it.
    pub(super) async fn find(
        &self,
        reference: &ObjectRef,
        holder: &ObjectMeta,
    ) -> Result<Result<Stocked, Obstacle>, Fault> {
        let key = target(reference, holder);
        let Some(template) = self.templates.get(&key) else {
            let message = format!("HypervisorMachineTemplate {key} does not exist: create it, or name another");
            return Ok(closed(Reason::TemplateMissing, message));
        };
        let home = holder.namespace.clone().unwrap_or_default();
        let granted = template.spec.allowed_namespaces.as_ref();
        if home != key.namespace && !is_granted(&self.client, granted, &home).await? {
            let message = format!(
                "HypervisorMachineTemplate {key} does not allow namespace {home}: have its owner add the namespace to \
                 spec.allowedNamespaces"
            );
            return Ok(closed(Reason::NotGranted, message));
        }
        Ok(self.usable(template, &key))
    }

    fn usable(&self, template: Arc<HypervisorMachineTemplate>, key: &Key) -> Result<Stocked, Obstacle> {
        if template.metadata.deletion_timestamp.is_some() {
            return closed(Reason::TemplateNotValid, format!("HypervisorMachineTemplate {key} is being deleted"));
        }
        let cluster_key = target(&template.spec.hypervisor_cluster_ref, &template.metadata);
        let Some(cluster) = self.clusters.get(&cluster_key) else {
            return closed(Reason::ClusterNotFound, format!("HypervisorCluster {cluster_key} does not exist"));
        };
        if let Some(why) = obstacle(&cluster) {
            let message = format!("HypervisorCluster {cluster_key} cannot be used: {why}");
            return closed(Reason::ClusterNotReady, message);
        }
        if !template::is_valid(template.status.as_ref()) {
            let valid =
                template.status.as_ref().and_then(|status| find(&status.conditions, ConditionType::TemplateValid));
            let why = valid.map_or_else(|| "it has not been checked yet".to_owned(), |valid| valid.message.clone());
            let message = format!("HypervisorMachineTemplate {key} is not valid: {why}");
            return closed(Reason::TemplateNotValid, message);
        }
        Ok((template, cluster))
    }
}
