//! Whether a hypervisor has room: space on storages, free numbers for machines.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{HypervisorCluster, HypervisorMachineTemplate, MachineClaim};
use fleet::template::Wish;
use providers::hypervisor::{Bytes, Error, Inventory, Presence, StorageRow, VmId};
use runtime::Key;

use super::chart::{About, Chart, Check, Severity};
use super::kubernetes::Objects;
use crate::controllers::hypervisor_clusters::target;
use crate::site::Survey;

/// Below this nothing can be made, however small.
const NOTHING: u64 = 1 << 30;
/// A storage with less than a tenth left is soon full.
const LITTLE: u64 = 10;
/// Numbers that nobody is seen to have are asked for one by one, this many: enough to meet VMs that we may not see, where
/// there are many.
const TRIED: u32 = 16;
/// If each of those is taken, this many until one is free; each costs a call.
const MOST: usize = 256;

pub(super) async fn examine(
    cluster: &HypervisorCluster,
    survey: &Survey,
    objects: &Objects,
    about: &About,
    chart: &mut Chart,
) {
    let Some(inventory) = &survey.inventory else { return };
    for storage in storages(cluster, survey, objects) {
        space(&storage, inventory, cluster, about, chart);
    }
    numbers(cluster, survey, inventory, objects, about, chart).await;
}

/// The storages that machines of a cluster use: linked clones those of their images, others the one that is named.
fn storages(cluster: &HypervisorCluster, survey: &Survey, objects: &Objects) -> BTreeSet<String> {
    let key = Key::of(&cluster.metadata);
    let ours = objects
        .templates
        .iter()
        .flatten()
        .filter(|template| target(&template.spec.hypervisor_cluster_ref, &template.metadata) == key);
    let mut all = survey.needs.shared.clone();
    all.extend(survey.needs.seeds.clone());
    let mut all: BTreeSet<String> = all.iter().map(|name| name.as_str().to_owned()).collect();
    let mut idle = true;
    for template in ours {
        idle = false;
        if copies(cluster, survey, template) {
            let named = template.spec.storage.as_ref().unwrap_or(&cluster.spec.default_storage);
            all.insert(named.as_str().to_owned());
        }
    }
    if idle {
        all.insert(cluster.spec.default_storage.as_str().to_owned());
    }
    all
}

/// Whether machines of a template are whole copies; not where nothing is known of the image.
fn copies(cluster: &HypervisorCluster, survey: &Survey, template: &HypervisorMachineTemplate) -> bool {
    let Some(asked) = template.spec.template.proxmox.as_ref() else { return false };
    let image = Wish::of(asked).and_then(|wish| survey.image(cluster, &wish).1);
    !asked.linked_clone || image.is_some_and(|image| !image.linkable)
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
    let (usable, barred): (Vec<_>, Vec<_>) =
        inventory.storages.iter().filter(used).partition(|row: &&StorageRow| row.available);
    for row in barred.iter().filter(|row| !is_away(inventory, row)) {
        // Machines can still be made on another node.
        let severity = if usable.is_empty() { Severity::Broken } else { Severity::Advice };
        let what = format!("storage {storage} cannot be used on node {} now", row.node);
        let remedy = format!("pvesm status --storage {storage}    # on that node: it should be active");
        chart.find(severity, Check::Storage, about, what, remedy);
    }
    let known: Vec<Room<'_>> = usable.into_iter().filter_map(Room::of).collect();
    let (shared, local): (Vec<_>, Vec<_>) = known.into_iter().partition(|room| room.node.is_none());
    // Every node tells of the same volumes.
    let shared = shared.into_iter().max_by_key(|room| room.free);
    for room in local.into_iter().chain(shared) {
        tell(storage, &room, about, chart);
    }
}

/// Whether a storage is said not to be there only because its node is not.
fn is_away(inventory: &Inventory, row: &StorageRow) -> bool {
    inventory.nodes.iter().any(|node| node.name == row.node && node.presence != Presence::Online)
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
async fn numbers(
    cluster: &HypervisorCluster,
    survey: &Survey,
    inventory: &Inventory,
    objects: &Objects,
    about: &About,
    chart: &mut Chart,
) {
    let Some(range) = cluster.spec.proxmox.as_ref().map(|proxmox| proxmox.vmid_range) else { return };
    let (first, last) = (range.first.0, range.last.0);
    let taken: BTreeSet<u32> =
        inventory.vms.iter().map(|row| row.vm.id.into()).filter(|id: &u32| (first..=last).contains(id)).collect();
    let free = u64::from(last - first) + 1 - taken.len() as u64;
    let remedy = format!("{}    # spec.proxmox.vmidRange: a range for HyperFleet alone", about.edit());
    let Tried { asked, hidden } = match tried(survey, first, last, &taken).await {
        Ok(tried) => tried,
        Err(error) => {
            let what = format!("whether VMIDs from {first} to {last} are free could not be asked: {error}");
            return chart.find(Severity::Unknown, Check::Vmids, about, what, "run it again");
        }
    };
    if hidden.len() as u64 == free {
        let what = format!("every VMID from {first} to {last} is taken");
        return chart.find(Severity::Broken, Check::Vmids, about, what, remedy);
    }
    let strangers: Vec<u32> = match claimed(cluster, objects) {
        Some(claimed) => taken.difference(&claimed).chain(&hidden).copied().collect(),
        None => hidden.into_iter().collect(),
    };
    if !strangers.is_empty() {
        let some: Vec<String> = strangers.iter().take(3).map(ToString::to_string).collect();
        let what = format!(
            "{} of the VMIDs from {first} to {last} belong to VMs that no MachineClaim here has, such as {}",
            strangers.len(),
            some.join(", ")
        );
        return chart.find(Severity::Advice, Check::Vmids, about, what, remedy);
    }
    let all = survey.sees_others || asked == free;
    let doubt = if all { String::new() } else { format!(", as far as {} sees", survey.identity) };
    chart.pass(Check::Vmids, about, format!("{free} VMIDs from {first} to {last} are free{doubt}"));
}

/// The numbers that claims have on a cluster; nothing if claims could not be listed.
fn claimed(cluster: &HypervisorCluster, objects: &Objects) -> Option<BTreeSet<u32>> {
    let key = Key::of(&cluster.metadata);
    let number = |claim: &Arc<MachineClaim>| {
        let allocation = claim.status.as_ref()?.allocation.as_ref()?;
        (target(&allocation.cluster_ref, &claim.metadata) == key).then_some(allocation.vm_id.0)
    };
    objects.claims.as_ref().map(|claims| claims.iter().filter_map(number).collect())
}

/// Numbers that nobody is seen to have.
struct Tried {
    /// How many were asked for.
    asked: u64,
    /// Those that somebody has all the same.
    hidden: BTreeSet<u32>,
}

/// Asks for some numbers, from all over the range, that are not seen to be taken.
async fn tried(survey: &Survey, first: u32, last: u32, taken: &BTreeSet<u32>) -> Result<Tried, Error> {
    let step = ((last - first) / TRIED).max(1);
    let spread = (0..step).flat_map(|offset| (first + offset..=last).step_by(step as usize));
    let mut tried = Tried { asked: 0, hidden: BTreeSet::new() };
    for id in spread.filter(|id| !taken.contains(id)).take(MOST) {
        if tried.asked >= u64::from(TRIED) && tried.asked > tried.hidden.len() as u64 {
            break;
        }
        let Ok(number) = VmId::try_from(id) else { continue };
        tried.asked += 1;
        if survey.is_taken(number).await? {
            tried.hidden.insert(id);
        }
    }
    Ok(tried)
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

    #[test]
    fn a_storage_that_is_not_active_is_not_passed_over() {
        let off = |node: &str| StorageRow { available: false, ..row(node, true, 90) };
        let told_of = |node: &str| format!("storage disks cannot be used on node {node} now");
        let (wrong, well) = told(&[off("pve1"), off("pve2"), off("pve3")]);
        let both = vec![(Severity::Broken, told_of("pve1")), (Severity::Broken, told_of("pve2"))];
        assert_eq!((wrong, well), (both, 0), "and nobody needs it on pve3");
        let (wrong, well) = told(&[off("pve1"), row("pve2", true, 90)]);
        assert_eq!((wrong, well), (vec![(Severity::Advice, told_of("pve1"))], 1));
    }
}
