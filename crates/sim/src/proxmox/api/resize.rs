//! Growing a disk.

use super::{Call, check_lock, disks};
use crate::proxmox::access::Who;
use crate::proxmox::failure::{Failure, Outcome};
use crate::proxmox::lock::Name;
use crate::proxmox::model::{Drive, format_size, parse_size};
use crate::proxmox::worker::Worker;

struct Order {
    node: String,
    vmid: u32,
    disk: String,
    size: String,
    digest: Option<String>,
    who: Who,
}

pub(super) fn resize(call: &Call) -> Outcome {
    super::root_only(call, "skiplock")?;
    let text = |name: &str| call.params.get(name).unwrap_or_default().to_owned();
    let order = Order {
        node: call.node().to_owned(),
        vmid: call.vmid(),
        disk: text("disk"),
        size: text("size"),
        digest: call.params.get("digest").map(str::to_owned),
        who: call.who.clone(),
    };
    call.fork("resize", &order.vmid.to_string(), move |worker| async move { grow(&worker, &order).await })
}

async fn grow(worker: &Worker, order: &Order) -> Outcome<()> {
    let Order { node, vmid, disk, size, digest, who } = order;
    let world = &worker.world;
    let _held = worker.lock(&Name::Vm(*vmid), world.limits.lock).await?;
    let config = world.with_vm(node, *vmid, |vm| vm.config.clone())?;
    if digest.as_ref().is_some_and(|digest| *digest != config.digest()) {
        return Err(Failure::died("checksum mismatch (file change by other user?)"));
    }
    check_lock(&config)?;
    let line = config.get(disk).ok_or_else(|| Failure::died(format!("disk '{disk}' does not exist")))?;
    let mut drive = Drive::parse(line);
    let (storage, volume) = match drive.volume() {
        Some((storage, volume)) => (storage.to_owned(), volume.to_owned()),
        None => return Err(Failure::died(format!("disk '{disk}' has no associated volume"))),
    };
    if drive.is_cd() {
        return Err(Failure::died("you can't resize a cdrom"));
    }
    world.check(who, &format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
    let old = {
        let state = world.state();
        let known = disks::usable(&state, &storage, node)?.volume(node, &volume);
        known.ok_or_else(|| Failure::died(format!("volume '{}' does not exist", drive.file)))?.size
    };
    let asked = parse_size(size.trim_start_matches('+')).unwrap_or(0);
    let new = if size.starts_with('+') { old + asked } else { asked };
    if new < old {
        return Err(Failure::died("shrinking disks is not supported"));
    }
    if new == old {
        return Ok(());
    }
    world.check_writable(node, *vmid)?;
    world.pause(world.profile.hold).await;
    let files = {
        let mut state = world.state();
        let known = state.storages.get_mut(&storage);
        if let Some(full) = known.as_ref().filter(|known| known.full) {
            return Err(Failure::died(full.cannot_grow(&volume)));
        }
        let files = known.as_ref().is_some_and(|known| known.kind.is_files());
        if let Some(volume) = known.and_then(|known| known.volume_mut(node, &volume)) {
            volume.size = new;
        }
        files
    };
    if files {
        worker.log("Image resized.");
    }
    drive.options.insert("size".to_owned(), format_size(new));
    world.change_vm(node, *vmid, |vm| vm.config.set(disk, drive.print()))
}
