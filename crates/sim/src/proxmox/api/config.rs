//! Changing a VM's options.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::disks::{self, Hands};
use super::{Call, check_lock, check_protection, create, rights, root_only};
use crate::proxmox::failure::{Failure, Outcome};
use crate::proxmox::lock::Name;
use crate::proxmox::model::{Config, Drive, boot_order, is_drive, print_boot_order};
use crate::proxmox::schema::{Params, split_list};
use crate::proxmox::worker::Worker;

/// Whether the call waits for the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Here,
    Background,
}

/// A change that passed its first checks.
struct Change {
    node: String,
    vmid: u32,
    digest: Option<String>,
    delete: Vec<String>,
    force: bool,
    set: Params,
    /// What the log says was asked for.
    words: String,
}

pub(super) async fn unlink(mut call: Call) -> Outcome {
    let list = call.params.take("idlist").unwrap_or_default();
    call.params.set("delete", list);
    update(call, Wait::Here).await
}

pub(super) async fn update(mut call: Call, wait: Wait) -> Outcome {
    let delay: Option<u64> = call.params.take("background_delay").and_then(|text| text.parse().ok());
    let change = read(&mut call)?;
    let patience = call.world.limits.lock;
    let held = call.world.lock(&Name::Vm(change.vmid), patience).await?;
    let config = call.world.with_vm(&change.node, change.vmid, |vm| vm.config.clone())?;
    if change.digest.as_ref().is_some_and(|digest| *digest != config.digest()) {
        return Err(Failure::died("checksum mismatch (file change by other user?)"));
    }
    check_lock(&config)?;
    call.world.check_writable(&change.node, change.vmid)?;
    check_balloon(&change.set, &config)?;
    if wait == Wait::Here {
        apply(&call, &change, Hands::Call(&call.world)).await?;
        return Ok(Value::Null);
    }
    let (call, vmid) = (Arc::new(call), change.vmid.to_string());
    let again = Arc::clone(&call);
    let upid = call.fork("qmconfig", &vmid, move |worker: Worker| async move {
        // The parent's lock goes with the fork.
        let _held = held;
        worker.log(format!("update VM {}: {}", change.vmid, change.words));
        apply(&again, &change, Hands::Task(&worker)).await
    })?;
    match delay {
        None => Ok(upid),
        Some(seconds) => settled(&call, upid, Duration::from_secs(seconds)).await,
    }
}

/// Waits a while for the task; a call that saw it end well has nothing to give.
async fn settled(call: &Call, upid: Value, patience: Duration) -> Outcome {
    let deadline = tokio::time::Instant::now() + patience;
    while tokio::time::Instant::now() < deadline {
        let id = upid.as_str().unwrap_or_default();
        let end = call.world.state().tasks.get(id).and_then(|task| task.end.clone());
        match end {
            Some((_, status)) if status == "OK" || status.starts_with("WARNINGS") => return Ok(Value::Null),
            Some((_, status)) => return Err(Failure::died(format!("failed to update VM {}: {status}", call.vmid()))),
            None => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    Ok(upid)
}

fn read(call: &mut Call) -> Outcome<Change> {
    let (node, vmid) = (call.node().to_owned(), call.vmid());
    for name in ["node", "vmid"] {
        call.params.take(name);
    }
    let digest = call.params.take("digest");
    let words = call
        .params
        .iter()
        .map(|(name, value)| format!("-{name} {}", if name == "cipassword" { "<hidden>" } else { value }));
    let words = words.collect::<Vec<_>>().join(" ");
    root_only(call, "skiplock")?;
    call.params.take("skiplock");
    let delete = call.params.take("delete").unwrap_or_default();
    let revert = call.params.take("revert").unwrap_or_default();
    let force = call.params.take("force").as_deref() == Some("1");
    if let Some(keys) = call.params.get("sshkeys") {
        check_keys(&percent_decode_str(keys).decode_utf8_lossy())?;
    }
    if delete.is_empty() && revert.is_empty() && call.params.iter().next().is_none() {
        return Err(Failure::died("no options specified"));
    }
    if let Some(cdrom) = call.params.take("cdrom") {
        call.params.set("ide2", format!("{cdrom},media=cdrom"));
    }
    let delete = deletions(call, &delete)?;
    let cards: Vec<(String, String)> = call
        .params
        .iter()
        .filter(|(name, _)| rights::is_card(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    for (name, value) in cards {
        let line = rights::with_address(&call.world, &name, &value)?;
        call.params.set(&name, line);
    }
    let (world, who) = (&call.world, &call.who);
    rights::check_options(world, who, vmid, None, delete.iter().map(String::as_str))?;
    rights::check_options(world, who, vmid, None, call.params.iter().map(|(name, _)| name))?;
    rights::check_storages(call, vmid, &call.params, None)?;
    rights::check_bridges(call, call.params.iter())?;
    let set = std::mem::take(&mut call.params);
    call.params.set("node", node.clone());
    call.params.set("vmid", vmid.to_string());
    Ok(Change { node, vmid, digest, delete, force, set, words })
}

fn deletions(call: &Call, list: &str) -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    for name in split_list(list) {
        let name = if name == "cdrom" { "ide2" } else { name };
        if call.params.get(name).is_some() {
            let text = format!("you can't use '-{name}' and -delete {name}' at the same time");
            return Err(Failure::param("delete", text));
        }
        if !call.world.catalogue().is_option(name) {
            return Err(Failure::param("delete", format!("unknown option '{name}'")));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn check_keys(text: &str) -> Outcome<()> {
    let kinds = ["ssh-rsa", "ssh-ed25519", "ssh-dss", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"];
    let good = |line: &str| kinds.iter().any(|kind| line.trim_start().starts_with(kind)) && line.contains(' ');
    if text.lines().filter(|line| !line.trim().is_empty()).all(good) {
        return Ok(());
    }
    Err(Failure::died("SSH public key validation error"))
}

fn check_balloon(set: &Params, config: &Config) -> Outcome<()> {
    if set.get("memory").is_none() && set.get("balloon").is_none() {
        return Ok(());
    }
    let mut after = config.clone();
    for name in ["memory", "balloon"] {
        if let Some(value) = set.get(name) {
            after.set(name, value);
        }
    }
    if after.number("balloon", 0) > after.memory() {
        return Err(Failure::died("balloon value too large (must be smaller than assigned memory)"));
    }
    Ok(())
}

/// Makes the change, option by option.
async fn apply(call: &Call, change: &Change, hands: Hands<'_>) -> Outcome<()> {
    let Change { node, vmid, delete, force, set, .. } = change;
    let (world, running) = (&call.world, call.world.with_vm(node, *vmid, crate::proxmox::model::Vm::is_running)?);
    for name in delete {
        remove(call, change, hands, name, *force, running).await?;
    }
    // Drives come in the server's order, so that new volumes get the names they would get there.
    let drives: Vec<(String, Drive)> = create::drives(set);
    for (name, drive) in drives {
        set_drive(call, change, hands, &name, &drive).await?;
    }
    let plain: Vec<(&str, &str)> = set.iter().filter(|(name, _)| !is_drive(name)).collect();
    for (name, value) in plain {
        let value = match name {
            "tags" => {
                let old = world.with_vm(node, *vmid, |vm| vm.config.get("tags").unwrap_or_default().to_owned())?;
                rights::check_tags(call, &old, value)?;
                rights::normal_tags(value)
            }
            "cipassword" => create::hashed(world, value),
            "boot" => check_boot(call, change, value)?,
            _ => value.to_owned(),
        };
        let hot = ["tags", "description", "name", "protection", "onboot", "lock"].contains(&name);
        world.change_vm(node, *vmid, |vm| {
            if running && !hot {
                vm.config.pending.insert(name.to_owned(), value);
            } else {
                vm.config.set(name, value);
            }
        })?;
    }
    Ok(())
}

/// A boot order names devices that are there.
fn check_boot(call: &Call, change: &Change, value: &str) -> Outcome<String> {
    let devices = boot_order(Some(value));
    if devices.is_empty() {
        return Ok(value.to_owned());
    }
    let known: BTreeSet<String> =
        call.world.with_vm(&change.node, change.vmid, |vm| vm.config.options.keys().cloned().collect())?;
    let missing = devices.iter().find(|device| !known.contains(*device) && change.set.get(device).is_none());
    if let Some(device) = missing {
        return Err(Failure::died(format!("invalid bootorder: device '{device}' does not exist'")));
    }
    Ok(print_boot_order(&devices))
}

async fn remove(call: &Call, change: &Change, hands: Hands<'_>, name: &str, force: bool, running: bool) -> Outcome<()> {
    let (world, node, vmid) = (&call.world, &change.node, change.vmid);
    let config = world.with_vm(node, vmid, |vm| vm.config.clone())?;
    let Some(value) = config.get(name).map(str::to_owned) else { return Ok(()) };
    let drive = (is_drive(name) || name.starts_with("unused")).then(|| Drive::parse(&value));
    match &drive {
        Some(drive) if name.starts_with("unused") => {
            check_protection(&config, &format!("can't remove unused disk '{}'", drive.file))?;
            rights::check_drive(world, &call.who, vmid, None, drive)?;
            disks::free(hands, node, &drive.file).await?;
        }
        Some(drive) => {
            check_protection(&config, &format!("can't remove drive '{name}'"))?;
            rights::check_drive(world, &call.who, vmid, None, drive)?;
            if (force || drive.is_cloud_init()) && disks::is_own(vmid, &drive.file) {
                disks::free(hands, node, &drive.file).await?;
            }
        }
        None if name == "tags" => rights::check_tags(call, &value, "")?,
        None => {}
    }
    world.change_vm(node, vmid, |vm| {
        if running && drive.is_none() && name != "tags" {
            vm.config.pending_delete.insert(name.to_owned(), force);
            return;
        }
        vm.config.remove(name);
        if let Some(drive) = drive.filter(|_| is_drive(name)) {
            keep_unused(&mut vm.config, vmid, &drive, force);
        }
        unboot(&mut vm.config, name);
    })
}

/// A disk that is no drive any more stays as an unused one.
fn keep_unused(config: &mut Config, vmid: u32, drive: &Drive, force: bool) {
    if !force && !drive.is_cd() && disks::is_own(vmid, &drive.file) {
        config.add_unused(&drive.file);
    }
}

fn unboot(config: &mut Config, name: &str) {
    let order = boot_order(config.get("boot"));
    if order.iter().any(|device| device == name) {
        let rest: Vec<String> = order.into_iter().filter(|device| device != name).collect();
        config.set("boot", print_boot_order(&rest));
    }
}

async fn set_drive(call: &Call, change: &Change, hands: Hands<'_>, name: &str, drive: &Drive) -> Outcome<()> {
    let (world, node, vmid) = (&call.world, &change.node, change.vmid);
    let old = world.with_vm(node, vmid, |vm| vm.config.get(name).map(Drive::parse))?;
    if let Some(old) = &old {
        rights::check_drive(world, &call.who, vmid, None, old)?;
    }
    rights::check_drive(world, &call.who, vmid, None, drive)?;
    let line = disks::make(hands, node, vmid, name, drive, None).await?;
    let fresh = Drive::parse(&line);
    if let Some(old) = old.as_ref().filter(|old| old.is_cloud_init() && old.file != fresh.file) {
        disks::free(hands, node, &old.file).await?;
    }
    world.change_vm(node, vmid, |vm| {
        vm.config.set(name, line);
        if let Some(old) = old.filter(|old| old.file != fresh.file) {
            keep_unused(&mut vm.config, vmid, &old, false);
        }
        let mut order = boot_order(vm.config.get("boot"));
        if fresh.is_cd() && !order.is_empty() && !order.iter().any(|device| device == name) {
            order.push(name.to_owned());
            vm.config.set("boot", print_boot_order(&order));
        }
    })
}
