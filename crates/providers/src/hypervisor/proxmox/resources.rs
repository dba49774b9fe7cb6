//! The one listing of everything: guests, nodes and storages of the whole cluster.

use serde::Deserialize;

use super::decode::{flag, number, text};
use crate::hypervisor::image::ImageRow;
use crate::hypervisor::inventory::{Content, Inventory, Kind, NodeRow, Presence, StorageRow, VmRow};
use crate::hypervisor::number::VmRef;
use crate::hypervisor::size::Bytes;
use crate::hypervisor::tag::Tag;
use crate::hypervisor::vm::{Lock, Power};

/// One entry of the listing; which fields there are depends on what it is, what we may see and what the statistics know.
#[derive(Deserialize)]
pub(super) struct Resource {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, deserialize_with = "text")]
    vmid: Option<String>,
    #[serde(default, deserialize_with = "text")]
    node: Option<String>,
    #[serde(default, deserialize_with = "text")]
    name: Option<String>,
    #[serde(default, deserialize_with = "text")]
    status: Option<String>,
    #[serde(default, deserialize_with = "text")]
    lock: Option<String>,
    #[serde(default, deserialize_with = "text")]
    tags: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pool: Option<String>,
    #[serde(default, deserialize_with = "flag")]
    template: bool,
    #[serde(default, deserialize_with = "text")]
    hastate: Option<String>,
    #[serde(default, deserialize_with = "text")]
    storage: Option<String>,
    #[serde(default, deserialize_with = "text")]
    content: Option<String>,
    #[serde(default, deserialize_with = "flag")]
    shared: bool,
    #[serde(default, deserialize_with = "number")]
    maxcpu: Option<u64>,
    #[serde(default, deserialize_with = "number")]
    maxmem: Option<u64>,
    #[serde(default, deserialize_with = "number")]
    maxdisk: Option<u64>,
    #[serde(default, deserialize_with = "number")]
    disk: Option<u64>,
}

/// Sorts the listing. What is of no known kind, or names what cannot be named, is left out.
pub(super) fn inventory(resources: Vec<Resource>) -> Inventory {
    let mut inventory = Inventory::default();
    for resource in resources {
        match resource.kind.as_str() {
            "qemu" | "lxc" => inventory.vms.extend(resource.guest()),
            "node" => inventory.nodes.extend(resource.node()),
            "storage" => inventory.storages.extend(resource.storage()),
            "pool" => inventory.pools.extend(resource.pool.and_then(|pool| pool.parse().ok())),
            _ => {}
        }
    }
    inventory
}

/// The images among the guests.
pub(super) fn images(resources: Vec<Resource>) -> Vec<ImageRow> {
    let rows = inventory(resources).vms.into_iter().filter(|row| row.kind == Kind::Image);
    rows.map(|row| ImageRow { image: row.vm, name: row.name }).collect()
}

/// What a status means; where the machine's own monitor knows more, it is what counts.
pub(super) fn power(status: Option<&str>, monitor: Option<&str>) -> Power {
    match monitor.or(status) {
        Some("running" | "prelaunch" | "inmigrate" | "postmigrate" | "finish-migrate") => Power::Running,
        Some("stopped" | "shutdown") => Power::Stopped,
        Some("paused" | "suspended" | "save-vm" | "restore-vm") => Power::Paused,
        Some("io-error" | "internal-error" | "guest-panicked" | "watchdog") => Power::Faulted,
        Some(_) | None => Power::Unknown,
    }
}

impl Resource {
    fn guest(self) -> Option<VmRow> {
        let kind = match (self.kind.as_str(), self.template) {
            ("qemu", false) => Kind::Machine,
            ("qemu", true) => Kind::Image,
            (_, _) => Kind::Container,
        };
        Some(VmRow {
            vm: VmRef { id: self.vmid?.parse().ok()?, node: self.node?.parse().ok()? },
            kind,
            name: self.name,
            power: power(self.status.as_deref(), None),
            lock: self.lock.as_deref().map(Lock::parse),
            tags: Tag::list(self.tags.as_deref().unwrap_or_default()),
            pool: self.pool.and_then(|pool| pool.parse().ok()),
            cores: cores(self.maxcpu),
            memory: self.maxmem.map(Bytes),
        })
    }

    fn node(self) -> Option<NodeRow> {
        let presence = match self.status.as_deref() {
            Some("online") => Presence::Online,
            Some("offline") => Presence::Offline,
            Some(_) | None => Presence::Unknown,
        };
        Some(NodeRow {
            name: self.node?.parse().ok()?,
            presence,
            maintenance: self.hastate.as_deref() == Some("maintenance"),
            cores: cores(self.maxcpu),
            memory: self.maxmem.map(Bytes),
        })
    }

    fn storage(self) -> Option<StorageRow> {
        let content = self.content.unwrap_or_default();
        let known = |word: &str| match word.trim() {
            "images" => Some(Content::Disks),
            "iso" => Some(Content::Isos),
            _ => None,
        };
        Some(StorageRow {
            name: self.storage?.parse().ok()?,
            node: self.node?.parse().ok()?,
            available: self.status.as_deref() == Some("available"),
            shared: self.shared,
            takes: content.split(',').filter_map(known).collect(),
            total: self.maxdisk.map(Bytes),
            used: self.disk.map(Bytes),
        })
    }
}

fn cores(maxcpu: Option<u64>) -> Option<u32> {
    maxcpu.and_then(|cores| u32::try_from(cores).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("running", None, Power::Running)]
    #[case("running", Some("paused"), Power::Paused)]
    #[case("running", Some("io-error"), Power::Faulted)]
    #[case("running", Some("prelaunch"), Power::Running)]
    #[case("stopped", Some("stopped"), Power::Stopped)]
    #[case("unknown", None, Power::Unknown)]
    fn the_monitor_knows_best(#[case] status: &str, #[case] monitor: Option<&str>, #[case] expected: Power) {
        assert_eq!(power(Some(status), monitor), expected);
    }

    #[test]
    fn a_listing_is_sorted_and_what_cannot_be_named_is_left_out() {
        let listing = json!([
            {"type": "qemu", "vmid": "101", "node": "pve1", "status": "running", "maxmem": 2_147_483_648_u64,
             "maxcpu": 2, "tags": "a;hyperfleet", "pool": "hf", "name": "runner-1"},
            {"type": "qemu", "vmid": 9000, "node": "pve1", "status": "stopped", "template": 1, "maxmem": "1024"},
            {"type": "lxc", "vmid": 102, "node": "pve1", "status": "running", "maxmem": 1_073_741_824_u64},
            {"type": "qemu", "vmid": 7, "node": "pve1"},
            {"type": "node", "node": "pve1", "status": "online", "maxmem": 8_589_934_592_u64, "maxcpu": 8},
            {"type": "node", "node": "pve2", "status": "offline", "hastate": "maintenance"},
            {"type": "storage", "storage": "local", "node": "pve1", "status": "available", "content": "iso,images",
             "shared": 0, "maxdisk": 10, "disk": 4},
            {"type": "pool", "pool": "hf"},
            {"type": "sdn", "sdn": "zone", "node": "pve1"},
        ]);
        let found = inventory(serde_json::from_value(listing).unwrap());
        let kinds: Vec<(u32, Kind)> = found.vms.iter().map(|row| (row.vm.id.get(), row.kind)).collect();
        assert_eq!(kinds, [(101, Kind::Machine), (9000, Kind::Image), (102, Kind::Container)]);
        assert!(found.nodes[1].maintenance && found.nodes[1].presence == Presence::Offline);
        assert!(found.storages[0].available);
        assert_eq!(found.pools, ["hf".parse().unwrap()].into());
        assert_eq!(found.storages[0].takes, [Content::Disks, Content::Isos].into());
        let capacity = found.capacity(&"pve1".parse().unwrap()).unwrap();
        assert_eq!((capacity.cores, capacity.unclaimed.to_string().as_str()), (8, "5 GiB"));
        assert_eq!(found.capacity(&"pve2".parse().unwrap()), None, "numbers we may not see are not zero");
    }
}
