//! Whether a hypervisor has room: space on storages, free numbers for machines.

use std::collections::BTreeSet;

use api::HypervisorCluster;
use providers::hypervisor::{Bytes, Inventory, StorageRow};

use super::chart::{About, Chart, Check, Severity};
use super::kubernetes::Objects;
use crate::controllers::hypervisor_clusters::target;
use crate::site::Survey;
use runtime::Key;

/// Below this nothing can be made, however small.
const NOTHING: u64 = 1 << 30;
/// A storage with less than a tenth left is soon full.
const LITTLE: u64 = 10;

pub(super) fn examine(
    cluster: &HypervisorCluster,
    survey: &Survey,
    objects: &Objects,
    about: &About,
    chart: &mut Chart,
) {
    let Some(inventory) = &survey.inventory else { return };
    for storage in storages(cluster, objects) {
        space(&storage, inventory, cluster, about, chart);
    }
    numbers(cluster, inventory, objects, about, chart);
}

/// The storages that machines of a cluster use.
fn storages(cluster: &HypervisorCluster, objects: &Objects) -> BTreeSet<String> {
    let key = Key::of(&cluster.metadata);
    let ours = objects
        .templates
        .iter()
        .filter(|template| target(&template.spec.hypervisor_cluster_ref, &template.metadata) == key);
    let theirs = ours.filter_map(|template| template.spec.storage.as_ref());
    let seeds = cluster.spec.proxmox.as_ref().and_then(|proxmox| proxmox.iso_storage.as_ref());
    theirs.chain(seeds).chain([&cluster.spec.default_storage]).map(|name| name.as_str().to_owned()).collect()
}

fn space(storage: &str, inventory: &Inventory, cluster: &HypervisorCluster, about: &About, chart: &mut Chart) {
    let ours = |row: &&StorageRow| {
        row.name.as_str() == storage && cluster.spec.nodes.iter().any(|node| node.name.as_str() == row.node.as_str())
    };
    let known = inventory.storages.iter().filter(ours).filter_map(|row| {
        let (Bytes(total), Bytes(used)) = (row.total?, row.used?);
        (total > 0).then(|| (total.saturating_sub(used), total))
    });
    let Some((free, total)) = known.max() else { return };
    let remedy = format!("pvesm list {storage}    # remove what is not needed, or make it larger");
    let left = format!("{} of {} GiB are free on storage {storage}", free >> 30, total >> 30);
    if free < NOTHING {
        chart.find(Severity::Broken, Check::Storage, about, format!("storage {storage} is full: {left}"), remedy);
    } else if free < total / LITTLE {
        chart.find(Severity::Advice, Check::Storage, about, format!("only {left}"), remedy);
    } else {
        chart.pass(Check::Storage, about, left);
    }
}

/// Whether the range has numbers left, and nobody else's machines in it.
fn numbers(cluster: &HypervisorCluster, inventory: &Inventory, objects: &Objects, about: &About, chart: &mut Chart) {
    let Some(range) = cluster.spec.proxmox.as_ref().map(|proxmox| proxmox.vmid_range) else { return };
    let (first, last) = (range.first.0, range.last.0);
    let key = Key::of(&cluster.metadata);
    let claimed: BTreeSet<u32> = objects
        .claims
        .iter()
        .filter_map(|claim| {
            let allocation = claim.status.as_ref()?.allocation.as_ref()?;
            (target(&allocation.cluster_ref, &claim.metadata) == key).then_some(allocation.vm_id.0)
        })
        .collect();
    let taken: Vec<u32> =
        inventory.vms.iter().map(|row| row.vm.id.into()).filter(|id: &u32| (first..=last).contains(id)).collect();
    let strangers: Vec<u32> = taken.iter().filter(|id| !claimed.contains(id)).copied().collect();
    let free = u64::from(last - first) + 1 - taken.len() as u64;
    let remedy = format!("{}    # spec.proxmox.vmidRange: a range for HyperFleet alone", about.edit());
    if free == 0 {
        let what = format!("every VMID from {first} to {last} is taken");
        return chart.find(Severity::Broken, Check::Vmids, about, what, remedy);
    }
    if !strangers.is_empty() {
        let some: Vec<String> = strangers.iter().take(3).map(ToString::to_string).collect();
        let what = format!(
            "{} of the VMIDs from {first} to {last} belong to VMs that no MachineClaim here has, such as {}",
            strangers.len(),
            some.join(", ")
        );
        return chart.find(Severity::Advice, Check::Vmids, about, what, remedy);
    }
    chart.pass(Check::Vmids, about, format!("{free} VMIDs from {first} to {last} are free"));
}
