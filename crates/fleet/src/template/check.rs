//! Whether machines can be made from a template, and the one reason why not.

use api::{ConditionStatus, HypervisorCluster, NodeName, Reason, Seed};

use super::image::{Image, Lookup};
use super::{Cluster, Observed, Place};
use crate::cloud_init;

type Verdict = (ConditionStatus, Reason, String);

/// What stands in the way: a reason, and what to do about it.
type Obstacle = (Reason, String);

/// What `TemplateValid` says.
pub(super) fn verdict(observed: &Observed) -> Verdict {
    let cluster = match &observed.cluster {
        Cluster::Missing => return no(cluster_missing(observed)),
        Cluster::NotGranted => return no(not_granted(observed)),
        Cluster::NotReady(why) => return no((Reason::ClusterNotReady, format!("the cluster cannot be used: {why}"))),
        Cluster::Ready(cluster) => cluster,
    };
    if let Some(obstacle) = asked_for(observed, cluster) {
        return no(obstacle);
    }
    let image = match &observed.image {
        Lookup::Unknown(why) => return (ConditionStatus::Unknown, Reason::ClusterNotReady, why.clone()),
        Lookup::Missing => return no(missing(observed)),
        Lookup::Ambiguous(rows) => {
            let all: Vec<String> = rows.iter().map(|row| format!("{} on {}", row.vm_id, row.node.as_str())).collect();
            let message =
                format!("several images have that name ({}): name one by template.proxmox.templateId", all.join(", "));
            return no((Reason::AmbiguousTemplateName, message));
        }
        Lookup::Found(image) => image,
    };
    let checks = [fit_for_clones, disk, room, storage, network];
    match checks.into_iter().find_map(|check| check(observed, cluster, image)) {
        Some(obstacle) => no(obstacle),
        None => yes(observed, image),
    }
}

fn no((reason, message): Obstacle) -> Verdict {
    (ConditionStatus::False, reason, message)
}

fn yes(observed: &Observed, image: &Image) -> Verdict {
    let linked = super::image::resolved(image, observed).linked_clone;
    let how = if linked { "linked clones" } else { "full clones" };
    let nodes: Vec<&str> = usable(observed, image).map(|place| place.node.as_str()).collect();
    let message = format!("machines are {how} of image {}, on {}", image.row.vm_id, nodes.join(", "));
    (ConditionStatus::True, Reason::ValidationSucceeded, message)
}

fn cluster_missing(observed: &Observed) -> Obstacle {
    let name = observed.template.spec.hypervisor_cluster_ref.name.as_str();
    (Reason::ClusterNotFound, format!("HypervisorCluster {name} does not exist: create it, or name another"))
}

fn not_granted(observed: &Observed) -> Obstacle {
    let reference = &observed.template.spec.hypervisor_cluster_ref;
    let (name, home) = (reference.name.as_str(), reference.namespace.as_ref().map_or("", |home| home.as_str()));
    let ours = observed.template.metadata.namespace.as_deref().unwrap_or_default();
    let message = format!(
        "HypervisorCluster {name} in namespace {home} does not allow namespace {ours}: have its owner add the namespace to \
         spec.allowedNamespaces"
    );
    (Reason::NotGranted, message)
}

/// What can be told from the objects alone.
fn asked_for(observed: &Observed, cluster: &HypervisorCluster) -> Option<Obstacle> {
    let spec = &observed.template.spec;
    let failed = |message: String| Some((Reason::ValidationFailed, message));
    if let Some(user) = &spec.cloud_init
        && let Err(refusal) = cloud_init::check(&user.user_data)
    {
        return failed(refusal.to_string());
    }
    let native = cluster.spec.proxmox.as_ref().is_some_and(|proxmox| proxmox.seed == Seed::Native);
    if native && spec.cloud_init.is_some() {
        let message = "cloudInit cannot be used on this cluster: its seed is native, which carries none; set proxmox.seed of \
                       the cluster to iso or smbios";
        return failed(message.to_owned());
    }
    let fetched = cluster.spec.proxmox.as_ref().is_some_and(|proxmox| proxmox.seed == Seed::Smbios);
    if fetched && spec.network.static_config.is_some() {
        let message = "network.staticConfig cannot be used on this cluster: its seed is smbios, which machines fetch, and \
                       without an address they cannot; leave it out and use DHCP, or set proxmox.seed of the cluster to iso \
                       or native";
        return failed(message.to_owned());
    }
    let known = |node: &&NodeName| !cluster.spec.nodes.iter().any(|known| known.name == **node);
    let strange: Vec<&str> = allowed(observed).iter().filter(known).map(NodeName::as_str).collect();
    if !strange.is_empty() {
        return failed(format!(
            "placement.nodes names {}, which spec.nodes of the cluster does not",
            strange.join(", ")
        ));
    }
    None
}

fn missing(observed: &Observed) -> Obstacle {
    let asked = observed.template.spec.template.proxmox.as_ref();
    let by_id = asked.and_then(|asked| asked.template_id).map(|id| format!("with VMID {id}"));
    let by_name = asked.and_then(|asked| asked.template_name.as_ref()).map(|name| format!("named {}", name.as_str()));
    let which = by_id.or(by_name).unwrap_or_default();
    let message =
        format!("the hypervisor shows no image {which}: make it, or see that the account may audit it (VM.Audit)");
    (Reason::TemplateNotFound, message)
}

fn fit_for_clones(observed: &Observed, _: &HypervisorCluster, image: &Image) -> Option<Obstacle> {
    let id = image.row.vm_id;
    let asked = observed.template.spec.template.proxmox.as_ref();
    let only_linked = asked.is_some_and(|asked| asked.linked_clone && !asked.fallback_to_full_clone);
    if !image.is_image {
        return Some((
            Reason::NotATemplate,
            format!("{id} is a VM, not a template: convert it with qm template {id}, or name another"),
        ));
    }
    if image.has_tpm {
        let message = format!(
            "image {id} has TPM state, which every clone would share: remove it with qm set {id} --delete tpmstate0; each machine gets its own"
        );
        return Some((Reason::SharedTpmState, message));
    }
    if only_linked && !image.linkable {
        let message = format!(
            "the storage of image {id} cannot make linked clones: move the image to LVM-thin, ZFS, Ceph or a directory, or set fallbackToFullClone"
        );
        return Some((Reason::LinkedCloneUnsupported, message));
    }
    None
}

fn disk(observed: &Observed, _: &HypervisorCluster, image: &Image) -> Option<Obstacle> {
    let (asked, has) = (&observed.template.spec.resources.disk, image.disk?);
    let needed = api::Quantity::from_mebibytes(has.div_ceil(1 << 20));
    let message = || {
        format!("resources.disk is {asked}, but the image has {needed}, and disks only grow: ask for {needed} or more")
    };
    (asked.bytes() < has).then(|| (Reason::DiskTooSmall, message()))
}

/// Nodes that the template allows; none named is all.
fn allowed(observed: &Observed) -> &[NodeName] {
    observed.template.spec.placement.as_ref().map(|placement| placement.nodes.as_slice()).unwrap_or_default()
}

/// Where the template allows machines and the image can be cloned.
fn usable<'a>(observed: &'a Observed, image: &'a Image) -> impl Iterator<Item = &'a Place> {
    let wanted = allowed(observed);
    let fits =
        move |place: &&Place| (wanted.is_empty() || wanted.contains(&place.node)) && image.nodes.contains(&place.node);
    observed.places.iter().filter(fits)
}

/// Whether any node could ever take a machine; what is free at the moment is looked at when one is made.
fn room(observed: &Observed, _: &HypervisorCluster, image: &Image) -> Option<Obstacle> {
    let short = |message: String| Some((Reason::InsufficientCapacity, message));
    let resources = &observed.template.spec.resources;
    let places: Vec<&Place> = usable(observed, image).collect();
    if places.is_empty() {
        let there: Vec<&str> = image.nodes.iter().map(NodeName::as_str).collect();
        let message = format!(
            "image {} can be cloned on {} only, and machines may go to none of them: change placement.nodes, or the cluster's nodes",
            image.row.vm_id,
            there.join(", ")
        );
        return short(message);
    }
    // What we may not see is no obstacle.
    let cores = places.iter().map(|place| place.cpu.unwrap_or(u32::MAX)).max().unwrap_or(0);
    if u32::from(resources.cpu) > cores {
        return short(format!("resources.cpu is {}, but no node has more than {cores}: ask for less", resources.cpu));
    }
    let memory = places.iter().map(|place| place.memory.unwrap_or(u64::MAX)).max().unwrap_or(0);
    if resources.memory.bytes() > memory {
        let most = api::Quantity::from_mebibytes(memory >> 20);
        return short(format!(
            "resources.memory is {}, but no node has more than {most}: ask for less",
            resources.memory
        ));
    }
    None
}

fn storage(observed: &Observed, cluster: &HypervisorCluster, image: &Image) -> Option<Obstacle> {
    let spec = &observed.template.spec;
    let linked = super::image::resolved(image, observed).linked_clone;
    let wanted = spec.storage.as_ref().unwrap_or(&cluster.spec.default_storage);
    let places = || usable(observed, image);
    let nowhere = |field: &str, name: &str, takes: &str| {
        let message = format!(
            "{field} {name} takes no {takes} on any node that machines may go to: name another, or add it there"
        );
        Some((Reason::StorageNotFound, message))
    };
    if !linked && !places().any(|place| place.disks.contains(wanted)) {
        let field = if spec.storage.is_some() { "storage" } else { "defaultStorage of the cluster" };
        return nowhere(field, wanted.as_str(), "disks");
    }
    let proxmox = cluster.spec.proxmox.as_ref().filter(|proxmox| proxmox.seed == Seed::Iso)?;
    let seeds = proxmox.iso_storage.as_ref()?;
    if places().any(|place| place.isos.contains(seeds)) {
        return None;
    }
    nowhere("proxmox.isoStorage of the cluster", seeds.as_str(), "ISO images")
}

fn network(observed: &Observed, cluster: &HypervisorCluster, image: &Image) -> Option<Obstacle> {
    let spec = &observed.template.spec.network;
    let bridge = spec.bridge.as_ref().unwrap_or(&cluster.spec.default_network).as_str();
    let there = |place: &Place| place.bridges.as_ref().is_none_or(|all| all.iter().any(|name| name == bridge));
    if usable(observed, image).any(there) {
        return None;
    }
    let field = if spec.bridge.is_some() { "network.bridge" } else { "defaultNetwork of the cluster" };
    let mut known: Vec<&str> =
        usable(observed, image).filter_map(|place| place.bridges.as_ref()).flatten().map(String::as_str).collect();
    known.sort_unstable();
    known.dedup();
    let message = format!("{field} {bridge} is on no node that machines may go to; there are: {}", known.join(", "));
    Some((Reason::NetworkNotFound, message))
}
