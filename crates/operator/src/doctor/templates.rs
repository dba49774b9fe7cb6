//! Templates: whether machines can be made from each, as the operator would judge it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::condition::find;
use api::{Condition, ConditionType, HypervisorMachineTemplate, Reason, Seed};
use fleet::template::{self, Cluster, Lookup, Observed, Wish};
use providers::hypervisor::{self, Media};
use reconcile::Fault;
use runtime::Key;

use super::chart::{About, Chart, Check, Severity};
use super::hypervisors::Ward;
use super::judge::{reason, split};
use super::kubernetes::Objects;
use super::{Means, Sight};
use crate::controllers::hypervisor_clusters::target;
use crate::controllers::machine_templates::is_granted;

/// Looks at every template.
pub(super) async fn examine(means: &Means, objects: &Objects, wards: &BTreeMap<Key, Ward>, chart: &mut Chart) {
    for template in objects.templates.iter().flatten() {
        let about = About::new("HypervisorMachineTemplate", &template.metadata);
        let key = target(&template.spec.hypervisor_cluster_ref, &template.metadata);
        let exists = objects.clusters.iter().flatten().any(|cluster| Key::of(&cluster.metadata) == key);
        let cluster = match wards.get(&key) {
            Some(ward) => match granted(means, ward, template).await {
                Ok(true) if ward.ready => Cluster::Ready(Arc::clone(&ward.cluster)),
                Ok(true) => Cluster::NotReady(String::new()),
                Ok(false) => Cluster::NotGranted,
                Err(fault) => {
                    let what = format!("not checked: whether HypervisorCluster {key} allows its namespace: {fault}");
                    let remedy = format!("kubectl get namespace {}    # as somebody who may", about.namespace);
                    chart.find(Severity::Unknown, Check::Template, &about, what, remedy);
                    continue;
                }
            },
            None if exists => Cluster::NotReady(String::new()),
            None if means.namespace.as_ref().is_some_and(|namespace| *namespace != key.namespace) => {
                let what = format!("not checked: its HypervisorCluster is in namespace {}", key.namespace);
                let remedy = "hyperfleet doctor --all-namespaces";
                chart.find(Severity::Unknown, Check::Template, &about, what, remedy);
                continue;
            }
            // That was said.
            None if objects.clusters.is_none() => continue,
            None => Cluster::Missing,
        };
        if let Cluster::NotReady(_) = cluster {
            let what = format!("not checked: HypervisorCluster {key} cannot be used");
            chart.find(Severity::Unknown, Check::Template, &about, what, "put that right first, then run this again");
            continue;
        }
        one(&means.sight, template, cluster, wards.get(&key), &about, chart);
    }
}

async fn granted(means: &Means, ward: &Ward, template: &HypervisorMachineTemplate) -> Result<bool, Fault> {
    let home = template.metadata.namespace.clone().unwrap_or_default();
    let own = ward.cluster.metadata.namespace.as_deref() == Some(&home);
    let allowed = ward.cluster.spec.allowed_namespaces.as_ref();
    if own { Ok(true) } else { is_granted(&means.client, allowed, &home).await }
}

pub(super) fn one(
    sight: &Sight,
    template: &Arc<HypervisorMachineTemplate>,
    cluster: Cluster,
    ward: Option<&Ward>,
    about: &About,
    chart: &mut Chart,
) {
    let (mut image, mut inspected, mut places) = (Lookup::Missing, None, Vec::new());
    if let (Cluster::Ready(cluster), Some(ward)) = (&cluster, ward) {
        if let Some(wish) = template.spec.template.proxmox.as_ref().and_then(Wish::of) {
            (image, inspected) = ward.survey.image(cluster, &wish);
        }
        places.clone_from(&ward.survey.places);
    }
    let mut fresh = HypervisorMachineTemplate::clone(template);
    (fresh.status, fresh.metadata.deletion_timestamp) = (None, None);
    let (users, period) = (Vec::new(), Duration::from_mins(5));
    let observed = Observed { template: Arc::new(fresh), cluster, image, places, users, period };
    let status = template::plan(&observed, sight.clock.now()).status;
    let verdict = status.and_then(|status| find(&status.conditions, ConditionType::TemplateValid).cloned());
    let Some(verdict) = verdict else { return };
    match verdict.status.as_str() {
        "True" => {
            chart.pass(Check::Template, about, verdict.message);
            if let (Some(image), Some(ward)) = (inspected, ward) {
                drive(image, ward, about, chart);
            }
        }
        "Unknown" => chart.find(Severity::Unknown, Check::Template, about, verdict.message, "run it again"),
        _ => refused(&observed, &verdict, about, chart),
    }
}

/// Machines with a native seed are told who they are through a drive that the image must have.
fn drive(image: &hypervisor::Image, ward: &Ward, about: &About, chart: &mut Chart) {
    let native = ward.cluster.spec.proxmox.as_ref().is_some_and(|proxmox| proxmox.seed == Seed::Native);
    if native && !image.media.contains(&Media::CloudInit) {
        let (id, storage) = (image.image.id, ward.cluster.spec.default_storage.as_str());
        let what = format!("image {id} has no cloud-init drive, which the seed native needs");
        let remedy = format!("qm set {id} --ide2 {storage}:cloudinit    # or spec.proxmox.seed: iso in the cluster");
        chart.find(Severity::Broken, Check::Template, about, what, remedy);
    }
}

fn refused(observed: &Observed, verdict: &Condition, about: &About, chart: &mut Chart) {
    let (what, told) = split(&verdict.message);
    let asked = observed.template.spec.template.proxmox.as_ref();
    let id = match (&observed.image, asked.and_then(|asked| asked.template_id)) {
        (Lookup::Found(image), _) => image.row.vm_id.to_string(),
        (Lookup::Unknown(_) | Lookup::Missing | Lookup::Ambiguous(_), Some(id)) => id.to_string(),
        (Lookup::Unknown(_) | Lookup::Missing | Lookup::Ambiguous(_), None) => "VMID".to_owned(),
    };
    let edit = |field: &str| format!("{}    # {field}", about.edit());
    let (check, what, remedy) = match reason(verdict) {
        Some(Reason::NotATemplate) => {
            (Check::Template, what, format!("qm template {id}    # or name another in spec.template.proxmox"))
        }
        Some(Reason::SharedTpmState) => (Check::Template, what, format!("qm set {id} --delete tpmstate0")),
        Some(Reason::TemplateNotFound) => (Check::Template, what, format!("qm list    # {told}: {}", about.edit())),
        Some(Reason::StorageNotFound) => {
            (Check::Storage, what, format!("pvesm status --content images    # {told}: {}", about.edit()))
        }
        Some(Reason::NetworkNotFound) => (
            Check::Network,
            verdict.message.clone(),
            edit("spec.network.bridge, or spec.defaultNetwork of the cluster"),
        ),
        Some(_) | None => (Check::Template, what, format!("{told}: {}", about.edit())),
    };
    chart.find(Severity::Broken, check, about, what, remedy);
}
