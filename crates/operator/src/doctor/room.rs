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

/// Room on a storage: on one node, or wherever it is if nodes share it.
struct Room<'a> {
    node: Option<&'a str>,
    free: u64,
    total: u64,
}

impl<'a> Room<'a> {
    /// What a row says; nothing if it does not say how much there is.
    fn of(row: &'a StorageRow) -> Option<Self> {
        let (Bytes(total), Bytes(used)) = (row.total?, row.used?);
        let node = (!row.shared).then(|| row.node.as_str());
        (total > 0).then(|| Self { node, free: total.saturating_sub(used), total })
    }
}

/// Whether a storage has room: on each node for itself, since an empty one is of no use to the machines of another.
fn space(storage: &str, inventory: &Inventory, cluster: &HypervisorCluster, about: &About, chart: &mut Chart) {
    // A node that gets no new machine needs no room for one.
    let used = |row: &&StorageRow| {
        let mut nodes = cluster.spec.nodes.iter().filter(|node| !node.cordon);
        row.name.as_str() == storage && nodes.any(|node| node.name.as_str() == row.node.as_str())
    };
    let known: Vec<Room<'_>> = inventory.storages.iter().filter(used).filter_map(Room::of).collect();
    let (shared, local): (Vec<_>, Vec<_>) = known.into_iter().partition(|room| room.node.is_none());
    // Every node tells of the same volumes.
    let shared = shared.into_iter().max_by_key(|room| room.free);
    for room in local.into_iter().chain(shared) {
        tell(storage, &room, about, chart);
    }
}

/// Says how much room there is.
fn tell(storage: &str, room: &Room<'_>, about: &About, chart: &mut Chart) {
    let Room { node, free, total } = room;
    let there = node.map(|node| format!(" on node {node}")).unwrap_or_default();
    let remedy = format!("pvesm list {storage}    #{there} remove what is not needed, or make it larger");
    let left = format!("{} of {} GiB are free", free >> 30, total >> 30);
    if *free < NOTHING {
        let what = format!("storage {storage} is full{there}: {left}");
        chart.find(Severity::Broken, Check::Storage, about, what, remedy);
    } else if *free < total / LITTLE {
        let what = format!("only {left} on storage {storage}{there}");
        chart.find(Severity::Advice, Check::Storage, about, what, remedy);
    } else {
        chart.pass(Check::Storage, about, format!("{left} on storage {storage}{there}"));
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A cluster of two nodes, and a third that gets nothing new.
    fn cluster() -> HypervisorCluster {
        let key = |key: &str| json!({ "name": "pve", "key": key });
        let cluster = json!({
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "HypervisorCluster",
            "metadata": { "name": "pve", "namespace": "ci" },
            "spec": {
                "provider": "proxmox", "endpoint": "https://pve.example.com:8006",
                "nodes": [{ "name": "pve1" }, { "name": "pve2" }, { "name": "pve3", "cordon": true }],
                "credentials": { "tokenId": key("id"), "tokenSecret": key("secret") },
                "defaultStorage": "disks", "defaultNetwork": "vmbr0",
                "proxmox": { "vmidRange": { "first": 6000, "last": 6099 } },
            },
        });
        serde_json::from_value(cluster).unwrap()
    }

    /// A storage of 100 GiB on a node, of which so many are free.
    fn row(node: &str, shared: bool, free: u64) -> StorageRow {
        StorageRow {
            name: "disks".parse().unwrap(),
            node: node.parse().unwrap(),
            available: true,
            shared,
            takes: BTreeSet::new(),
            total: Some(Bytes(100 << 30)),
            used: Some(Bytes((100 - free) << 30)),
        }
    }

    /// What is said of these rows: what is wrong, and how many are well.
    fn told(rows: &[StorageRow]) -> (Vec<(Severity, String)>, usize) {
        let (cluster, mut chart) = (cluster(), Chart::default());
        let about = About::new("HypervisorCluster", &cluster.metadata);
        let inventory = Inventory { storages: rows.to_vec(), ..Inventory::default() };
        space("disks", &inventory, &cluster, &about, &mut chart);
        let wrong = chart.findings().into_iter().map(|finding| (finding.severity, finding.what.clone())).collect();
        (wrong, chart.passed().len())
    }

    #[test]
    fn a_full_disk_of_one_node_is_not_hidden_by_an_empty_one_of_another() {
        let full = "storage disks is full on node pve2: 0 of 100 GiB are free".to_owned();
        let (wrong, well) = told(&[row("pve1", false, 90), row("pve2", false, 0), row("pve3", false, 0)]);
        assert_eq!((wrong, well), (vec![(Severity::Broken, full)], 1), "and nobody needs room on pve3");
        let little = "only 5 of 100 GiB are free on storage disks on node pve1".to_owned();
        let (wrong, well) = told(&[row("pve1", false, 5), row("pve2", false, 90), row("pve4", false, 0)]);
        assert_eq!((wrong, well), (vec![(Severity::Advice, little)], 1), "and pve4 is none of its nodes");
    }

    #[test]
    fn a_storage_that_nodes_share_is_told_of_once() {
        let (wrong, well) = told(&[row("pve1", true, 90), row("pve2", true, 89), row("pve3", true, 90)]);
        assert_eq!((wrong, well), (Vec::new(), 1));
        let full = "storage disks is full: 0 of 100 GiB are free".to_owned();
        let (wrong, well) = told(&[row("pve1", true, 0), row("pve2", true, 0), row("pve3", true, 0)]);
        assert_eq!((wrong, well), (vec![(Severity::Broken, full)], 0));
    }
}
