//! A VM's settings as Proxmox answers them, and what they say.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::decode::text_of;
use super::property::Property;
use crate::hypervisor::id::{BridgeName, Digest, VolumeId};
use crate::hypervisor::number::Mac;
use crate::hypervisor::size::Bytes;
use crate::hypervisor::tag::Tag;
use crate::hypervisor::vm::{Drive, Facts, Lock, Media};

/// Slots that disks and CD drives are plugged into, in the order the firmware tries them when nobody says otherwise.
const BUSES: &[(&str, u32)] = &[("ide", 4), ("scsi", 31), ("virtio", 16), ("sata", 6)];
/// Network device models that carry the hardware address as their value.
const MODELS: &[&str] = &[
    "virtio",
    "e1000",
    "e1000e",
    "e1000-82540em",
    "e1000-82544gc",
    "e1000-82545em",
    "i82551",
    "i82557b",
    "i82559er",
    "ne2k_isa",
    "ne2k_pci",
    "pcnet",
    "rtl8139",
    "vmxnet3",
    "macaddr",
];

/// The settings, every value as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Config(BTreeMap<String, String>);

impl From<BTreeMap<String, Value>> for Config {
    fn from(answer: BTreeMap<String, Value>) -> Self {
        Self(answer.into_iter().filter_map(|(name, value)| Some((name, text_of(&value)?))).collect())
    }
}

impl Config {
    /// The settings that a look kept.
    pub(super) fn of(facts: &Facts) -> Self {
        Self(facts.settings.clone())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.trim() == "1")
    }

    pub(super) fn lock(&self) -> Option<Lock> {
        self.get("lock").map(Lock::parse)
    }

    /// The main settings as facts; `None` without a digest, which every version sends.
    pub(super) fn facts(self) -> Option<Facts> {
        let digest: Digest = self.get("digest")?.parse().ok()?;
        let tags = Tag::list(self.get("tags").unwrap_or_default());
        let (lock, mac, drives) = (self.lock(), self.mac(), self.drives());
        Some(Facts { digest, lock, tags, mac, drives, settings: self.0 })
    }

    /// The hardware address of the first network device.
    fn mac(&self) -> Option<Mac> {
        let device = Property::parse(self.get("net0")?);
        let mut addresses = device.parts().filter(|(key, _)| key.is_some_and(|key| MODELS.contains(&key)));
        addresses.find_map(|(_, address)| address.parse().ok())
    }

    /// The bridges that network cards are plugged into.
    pub(super) fn bridges(&self) -> BTreeSet<BridgeName> {
        let number = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        let cards = self.0.iter().filter(|(name, _)| name.strip_prefix("net").is_some_and(number));
        cards.filter_map(|(_, card)| Property::parse(card).get("bridge")?.parse().ok()).collect()
    }

    /// Every drive, in the order of [`BUSES`], then firmware, TPM and unused ones.
    pub(super) fn drives(&self) -> Vec<Drive> {
        let boot = self.boot_slot();
        let plugged = slots().filter_map(|slot| {
            let drive = Property::parse(self.get(&slot)?);
            let volume = drive.main("file").and_then(|volume| volume.parse().ok());
            let media = match &volume {
                Some(volume) if is_cloud_init(volume) => Media::CloudInit,
                Some(_) | None if drive.get("media") == Some("cdrom") => Media::Cdrom,
                Some(_) | None => Media::Disk,
            };
            let boots = boot.as_deref() == Some(&slot);
            Some(Drive { slot, media, volume, size: drive.get("size").and_then(size), boots })
        });
        let plugged: Vec<Drive> = plugged.collect();
        let others = self.0.iter().filter_map(|(slot, value)| {
            let media = match slot.trim_end_matches(|c: char| c.is_ascii_digit()) {
                "efidisk" => Media::Firmware,
                "tpmstate" => Media::Tpm,
                "unused" => Media::Unused,
                _ => return None,
            };
            let drive = Property::parse(value);
            let volume = drive.main("file").and_then(|volume| volume.parse().ok());
            Some(Drive { slot: slot.clone(), media, volume, size: drive.get("size").and_then(size), boots: false })
        });
        plugged.into_iter().chain(others).collect()
    }

    /// The disk that the VM boots from: the first disk of the boot order, or of all disks.
    fn boot_slot(&self) -> Option<String> {
        let boot = Property::parse(self.get("boot").unwrap_or_default());
        let ordered = boot.get("order").map(|order| order.split(';').map(str::to_owned).collect()).unwrap_or_default();
        let named: Vec<String> = self.get("bootdisk").map(str::to_owned).into_iter().collect();
        let candidates: Vec<String> = [ordered, named, slots().collect()].concat();
        candidates.into_iter().find(|slot| slots().any(|known| known == *slot) && self.is_disk(slot))
    }

    fn is_disk(&self, slot: &str) -> bool {
        let drive = self.get(slot).map(Property::parse);
        drive.is_some_and(|drive| drive.get("media") != Some("cdrom") && drive.main("file") != Some("none"))
    }

    /// A slot for a CD drive: an empty one that is there, or a free one.
    pub(super) fn cd_slot(&self) -> Option<String> {
        let empty =
            |slot: &String| self.get(slot).map(Property::parse).is_some_and(|drive| drive.main("file") == Some("none"));
        let mut fit = slots().filter(|slot| slot.starts_with("ide") || slot.starts_with("sata"));
        let free = fit.clone().find(|slot| self.get(slot).is_none());
        fit.find(empty).or(free)
    }
}

fn slots() -> impl Iterator<Item = String> + Clone {
    BUSES.iter().flat_map(|(bus, count)| (0..*count).map(move |n| format!("{bus}{n}")))
}

/// Whether the volume is the seed drive that Proxmox itself fills.
fn is_cloud_init(volume: &VolumeId) -> bool {
    let (_, path) = volume.as_str().split_once(':').unwrap_or_default();
    let file = path.rsplit('/').next().unwrap_or_default();
    let name = file.split('.').next().unwrap_or_default();
    name == "cloudinit" || (name.starts_with("vm-") && name.ends_with("-cloudinit"))
}

/// Reads a size such as `4M`, `2.5G` or bytes.
fn size(text: &str) -> Option<Bytes> {
    let digits = text.trim_end_matches(['K', 'M', 'G', 'T']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole: u64 = whole.parse().ok()?;
    let unit = 1_u64 << shift;
    // Tenths and smaller, without floating point.
    let scale = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let part = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()?.checked_mul(unit)? / scale };
    Some(Bytes(whole.checked_mul(unit)?.checked_add(part)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn config(settings: &[(&str, &str)]) -> Config {
        Config(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[rstest]
    #[case("1G", Some(1 << 30))]
    #[case("2252M", Some(2252 << 20))]
    #[case("2.5G", Some(2_684_354_560))]
    #[case("528384", Some(528_384))]
    #[case("x", None)]
    #[case("1.G", Some(1 << 30))]
    #[case("99999999999T", None)]
    fn sizes_read(#[case] text: &str, #[case] bytes: Option<u64>) {
        assert_eq!(size(text), bytes.map(Bytes));
    }

    #[rstest]
    #[case::order(&[("boot", "order=net0;ide2;scsi1;scsi0"), ("scsi0", "s:1"), ("scsi1", "ss:2"), ("ide2", "ss:iso/x.iso,media=cdrom")], Some("scsi1"))]
    #[case::old_style(&[("boot", "c"), ("bootdisk", "virtio0"), ("scsi0", "ss:1"), ("virtio0", "ss:2")], Some("virtio0"))]
    #[case::nothing_said(&[("scsi3", "ss:1"), ("virtio0", "ss:2"), ("ide2", "none,media=cdrom")], Some("scsi3"))]
    #[case::no_disk(&[("ide2", "none,media=cdrom")], None)]
    #[case::stale_order(&[("boot", "order=scsi9"), ("sata0", "ss:1")], Some("sata0"))]
    fn the_boot_disk_is_found(#[case] settings: &[(&str, &str)], #[case] slot: Option<&str>) {
        assert_eq!(config(settings).boot_slot().as_deref(), slot);
    }

    #[rstest]
    #[case(&[("ide0", "ss:1"), ("ide2", "ss:cloudinit,media=cdrom")], Some("ide1"))]
    #[case(&[("ide2", "none,media=cdrom")], Some("ide2"))]
    #[case(&[("ide0", "a"), ("ide1", "a"), ("ide2", "a"), ("ide3", "a")], Some("sata0"))]
    fn a_cd_drive_finds_its_slot(#[case] settings: &[(&str, &str)], #[case] slot: Option<&str>) {
        assert_eq!(config(settings).cd_slot().as_deref(), slot);
    }

    #[test]
    fn every_network_card_names_its_bridge() {
        let config = config(&[
            ("net0", "virtio=BC:24:11:16:0F:29,bridge=vmbr0,tag=5"),
            ("net3", "e1000=BC:24:11:16:0F:30,bridge=vmbr1"),
            ("net4", "virtio=BC:24:11:16:0F:31"),
            ("nets", "bridge=vmbr9"),
        ]);
        assert_eq!(config.bridges().iter().map(BridgeName::as_str).collect::<Vec<_>>(), ["vmbr0", "vmbr1"]);
    }

    #[test]
    fn a_recorded_clone_reads_as_it_is() {
        let config = config(&[
            ("boot", "order=scsi0;ide2;net0"),
            ("digest", "2f40fdc73507256e9cfc52b6a21de7ee3372823f"),
            ("ide2", "store:101/vm-101-cloudinit.qcow2,media=cdrom,size=4M"),
            ("net0", "virtio=BC:24:11:16:0F:29,bridge=vmbr0"),
            ("scsi0", "store:9000/base-9000-disk-0.qcow2/101/vm-101-disk-0.qcow2,size=1G"),
            ("tags", "base;tmpl"),
            ("tpmstate0", "store:101/vm-101-disk-1.raw,size=4M,version=v2.0"),
        ]);
        let facts = config.facts().unwrap();
        assert_eq!(facts.mac.unwrap().to_string(), "BC:24:11:16:0F:29");
        let drives: Vec<(&str, Media, bool)> =
            facts.drives.iter().map(|drive| (drive.slot.as_str(), drive.media, drive.boots)).collect();
        assert_eq!(
            drives,
            [("ide2", Media::CloudInit, false), ("scsi0", Media::Disk, true), ("tpmstate0", Media::Tpm, false)]
        );
    }
}
