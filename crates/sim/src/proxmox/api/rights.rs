//! Rights that depend on which options a call sets, and on their values.

use super::Call;
use crate::proxmox::access::Who;
use crate::proxmox::failure::{Failure, Outcome};
use crate::proxmox::model::{Content, Drive, is_drive};
use crate::proxmox::schema::{Composed, Params};
use crate::proxmox::world::World;

const CPU: &[&str] = &["cores", "cpu", "cpulimit", "cpuunits", "numa", "smp", "sockets", "vcpus"];
const MEMORY: &[&str] = &["memory", "balloon", "shares", "allow-ksm"];
const HARDWARE: &[&str] =
    &["acpi", "audio0", "hotplug", "kvm", "machine", "rng0", "scsihw", "smbios1", "tablet", "vga", "watchdog"];
const OPTIONS: &[&str] = &[
    "agent",
    "autostart",
    "bios",
    "description",
    "keyboard",
    "localtime",
    "migrate_downtime",
    "migrate_speed",
    "name",
    "onboot",
    "ostype",
    "protection",
    "reboot",
    "startdate",
    "startup",
    "tdf",
    "template",
];
const DISK: &[&str] = &["boot", "bootdisk", "vmstatestorage"];
const CLOUD_INIT: &[&str] =
    &["cicustom", "cipassword", "citype", "ciuser", "ciupgrade", "nameserver", "searchdomain", "sshkeys"];

/// Whether somebody may set or remove these options of a VM; `pool` is where a new one will be.
pub(super) fn check_options<'a>(
    world: &World,
    who: &Who,
    vmid: u32,
    pool: Option<&str>,
    names: impl Iterator<Item = &'a str>,
) -> Outcome<()> {
    if who.is_root() {
        return Ok(());
    }
    let vm = |privilege: &str| check_vm(world, who, vmid, pool, &[privilege]);
    for name in names {
        let stem = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
        // What depends on the value is looked at elsewhere.
        if is_drive(name) || name == "cdrom" || name == "tags" || ["unused", "serial", "usb", "hostpci"].contains(&stem)
        {
            continue;
        }
        if CPU.contains(&name) || stem == "numa" {
            vm("VM.Config.CPU")?;
        } else if MEMORY.contains(&name) {
            vm("VM.Config.Memory")?;
        } else if HARDWARE.contains(&name) {
            vm("VM.Config.HWType")?;
        } else if OPTIONS.contains(&name) {
            vm("VM.Config.Options")?;
            if name == "startup" {
                world.check(who, "/", &["Sys.Modify"])?;
            }
        } else if DISK.contains(&name) {
            vm("VM.Config.Disk")?;
        } else if stem == "net" {
            vm("VM.Config.Network")?;
        } else if CLOUD_INIT.contains(&name) || stem == "ipconfig" {
            check_vm(world, who, vmid, pool, &["VM.Config.Cloudinit", "VM.Config.Network"])?;
        } else {
            return Err(Failure::died(format!("only root can set '{name}' config")));
        }
    }
    Ok(())
}

/// One of these privileges on the VM, or on the pool it will be in.
fn check_vm(world: &World, who: &Who, vmid: u32, pool: Option<&str>, privileges: &[&str]) -> Outcome<()> {
    if let Some(pool) = pool
        && world.check_any(who, &format!("/pool/{pool}"), privileges).is_ok()
    {
        return Ok(());
    }
    world.check_any(who, &format!("/vms/{vmid}"), privileges)
}

/// Whether somebody may have this drive, of the kind it is.
pub(super) fn check_drive(world: &World, who: &Who, vmid: u32, pool: Option<&str>, drive: &Drive) -> Outcome<()> {
    if who.is_root() {
        return Ok(());
    }
    if drive.is_cloud_init() {
        check_vm(world, who, vmid, pool, &["VM.Config.Cloudinit"])?;
        return check_vm(world, who, vmid, pool, &["VM.Config.CDROM"]);
    }
    let privilege = if drive.is_cd() { "VM.Config.CDROM" } else { "VM.Config.Disk" };
    check_vm(world, who, vmid, pool, &[privilege])
}

/// Whether somebody may use the storages and volumes that drives name.
pub(super) fn check_storages(call: &Call, vmid: u32, params: &Params, default: Option<&str>) -> Outcome<()> {
    for (name, value) in params.iter().filter(|(name, _)| is_drive(name)) {
        let drive = Drive::parse(value);
        if drive.file == "none" || drive.volume().is_some_and(|(_, volume)| volume == "cloudinit") {
            continue;
        }
        if drive.file == "cdrom" {
            call.world.check(&call.who, "/", &["Sys.Console"])?;
        } else if let Some((storage, _)) = new_disk(&drive, default).filter(|_| !drive.is_cd()) {
            call.world.check(&call.who, &format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
            let state = call.world.state();
            let known = state.storages.get(&storage);
            let known = known.ok_or_else(|| Failure::died(format!("storage '{storage}' does not exist")))?;
            if !known.holds("images") {
                return Err(Failure::param("storage", format!("storage '{storage}' does not support vm images")));
            }
        } else {
            check_volume(call, vmid, &drive)?;
            if drive.volume().is_some_and(|(_, volume)| volume.starts_with("iso/")) && !drive.is_cd() {
                return Err(Failure::param(name, "explicit 'media=cdrom' is required for iso images"));
            }
        }
    }
    Ok(())
}

/// `<storage>:<GiB>`, or a bare number on the default storage.
pub(super) fn new_disk(drive: &Drive, default: Option<&str>) -> Option<(String, f64)> {
    let (storage, size) = match drive.file.split_once(':') {
        Some((storage, size)) => (storage, size),
        None => (default?, drive.file.as_str()),
    };
    let plain = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    plain.then(|| size.parse().ok()).flatten().map(|size| (storage.to_owned(), size))
}

fn check_volume(call: &Call, vmid: u32, drive: &Drive) -> Outcome<()> {
    let Some((storage, volume)) = drive.volume() else {
        return if call.who.is_root() {
            Ok(())
        } else {
            Err(Failure::died("Only root can pass arbitrary filesystem paths."))
        };
    };
    let path = format!("/storage/{storage}");
    if call.world.check(&call.who, &path, &["Datastore.Allocate"]).is_ok() {
        return Ok(());
    }
    let kind = volume.split('/').next().and_then(Content::named);
    if matches!(kind, Some(Content::Iso | Content::Template | Content::Import)) {
        return call.world.check_any(&call.who, &path, &["Datastore.AllocateSpace", "Datastore.Audit"]);
    }
    match crate::proxmox::model::owner_of(volume).map(|owner| owner.vmid) {
        Some(owner) if owner == vmid => Ok(()),
        Some(owner) => {
            call.world.check(&call.who, &path, &["Datastore.Audit"])?;
            call.world.check(&call.who, &format!("/vms/{owner}"), &["VM.Config.Disk"])
        }
        None => Err(Failure::died(format!("missing privileges to access {}", drive.file))),
    }
}

/// Whether somebody may attach cards to these bridges.
pub(super) fn check_bridges<'a>(call: &Call, cards: impl Iterator<Item = (&'a str, &'a str)>) -> Outcome<()> {
    if call.who.is_root() {
        return Ok(());
    }
    for (name, value) in cards.filter(|(name, _)| is_card(name)) {
        let Ok(card) = parse_card(&call.world, name, value) else { continue };
        let Some(bridge) = card.get("bridge") else { continue };
        let path = match card.get("tag") {
            Some(tag) => format!("/sdn/zones/localnetwork/{bridge}/{tag}"),
            None => format!("/sdn/zones/localnetwork/{bridge}"),
        };
        call.world.check(&call.who, &path, &["SDN.Use"])?;
    }
    Ok(())
}

/// Whether an option is a network card.
pub(super) fn is_card(name: &str) -> bool {
    name.strip_prefix("net").is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// A network card's line taken apart.
pub(super) fn parse_card(world: &World, name: &str, value: &str) -> Result<Composed, String> {
    let rules = world.catalogue().option(name).expect("every release has network cards");
    Composed::parse(value, rules, name, world.release)
}

/// A network card's line with an address, made up if it has none.
pub(super) fn with_address(world: &World, name: &str, value: &str) -> Outcome<String> {
    let mut card = parse_card(world, name, value).map_err(Failure::Died)?;
    let model = card.0.remove("model").unwrap_or_else(|| "virtio".to_owned());
    let address = card.0.remove("macaddr").unwrap_or_else(|| world.state().rng.mac());
    let rest: Vec<String> = card.0.iter().map(|(key, value)| format!("{key}={value}")).collect();
    Ok(std::iter::once(format!("{model}={}", address.to_uppercase())).chain(rest).collect::<Vec<_>>().join(","))
}

/// Whether somebody may change the tags from one list to another.
pub(super) fn check_tags(call: &Call, old: &str, new: &str) -> Outcome<()> {
    let split =
        |text: &str| -> Vec<String> { crate::proxmox::schema::split_list(text).map(str::to_lowercase).collect() };
    let (old, new) = (split(old), split(new));
    let changed = new.iter().filter(|tag| !old.contains(tag)).chain(old.iter().filter(|tag| !new.contains(tag)));
    let changed: Vec<String> = changed.cloned().collect();
    for tag in changed {
        check_vm(&call.world, &call.who, call.vmid(), None, &["VM.Config.Options"])?;
        let registered = call.world.state().registered_tags.contains(&tag);
        if registered && call.world.check(&call.who, "/", &["Sys.Modify"]).is_err() {
            return Err(Failure::Denied(Some(format!("/, Sys.Modify for modifying tag '{tag}'"))));
        }
    }
    Ok(())
}

/// Tags as an update stores them: lower case, sorted, each once.
pub(super) fn normal_tags(text: &str) -> String {
    let tags: std::collections::BTreeSet<String> =
        crate::proxmox::schema::split_list(text).map(str::to_lowercase).collect();
    tags.into_iter().collect::<Vec<_>>().join(";")
}
