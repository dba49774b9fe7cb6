//! Removing a VM, and leaving things behind.

use super::disks::{self, Hands};
use super::{Call, check_lock, check_protection, root_only};
use crate::proxmox::Release;
use crate::proxmox::control::FaultId;
use crate::proxmox::failure::{Failure, Outcome};
use crate::proxmox::lock::Name;
use crate::proxmox::model::{Config, Vm};
use crate::proxmox::worker::Worker;

struct Order {
    node: String,
    vmid: u32,
    purge: bool,
    unreferenced: bool,
    /// Its disks stay behind.
    leaks: bool,
}

pub(super) fn destroy(call: &Call) -> Outcome {
    root_only(call, "skiplock")?;
    let order = Order {
        node: call.node().to_owned(),
        vmid: call.vmid(),
        purge: call.params.flag("purge"),
        unreferenced: call.params.flag("destroy-unreferenced-disks"),
        leaks: call.fault(FaultId::F12).is_some(),
    };
    call.with_vm(|vm| early(vm, order.vmid))??;
    call.fork("qmdestroy", &order.vmid.to_string(), move |worker| async move { remove(&worker, &order).await })
}

fn early(vm: &Vm, vmid: u32) -> Outcome<()> {
    check_protection(&vm.config, &format!("can't remove VM {vmid}"))?;
    if vm.is_running() {
        return Err(Failure::died(format!("VM {vmid} is running - destroy failed")));
    }
    Ok(())
}

async fn remove(worker: &Worker, order: &Order) -> Outcome<()> {
    let Order { node, vmid, .. } = order;
    let world = &worker.world;
    let _held = worker.lock(&Name::Vm(*vmid), world.limits.lock).await?;
    let config = world.with_vm(node, *vmid, |vm| {
        early(vm, *vmid)?;
        check_lock(&vm.config)?;
        Ok(vm.config.clone())
    })??;
    if config.flag("template") {
        check_unused(worker, node, &config)?;
    }
    world.pause(world.profile.destroy).await;
    free_disks(worker, order, &config).await;
    world.check_writable(node, *vmid)?;
    let mut zombie = Config::default();
    zombie.set("lock", "destroyed");
    world.change_vm(node, *vmid, |vm| vm.config = zombie)?;
    let users = worker.lock(&Name::Users, world.limits.lock).await;
    let _users =
        users.map_err(|failure| failure.after(&format!("access permissions cleanup for VM {vmid} failed: ")))?;
    world.state().remove_vm_access(*vmid);
    if order.purge {
        worker.log(format!("purging VM {vmid} from related configurations.."));
    }
    world.state().take_vm(*vmid, world.now());
    Ok(())
}

/// An image whose disks others are built on stays.
fn check_unused(worker: &Worker, node: &str, config: &Config) -> Outcome<()> {
    let state = worker.world.state();
    for (_, drive) in config.drives().iter().filter(|(_, drive)| !drive.is_cd()) {
        let Some((storage, volume)) = drive.volume() else { continue };
        if state.storages.get(storage).is_some_and(|known| known.has_clones(node, volume)) {
            return Err(Failure::died(format!("base volume '{}' is still in use by linked cloned", drive.file)));
        }
    }
    Ok(())
}

/// Frees what can be freed; what cannot is a line in the log, and the VM goes all the same.
async fn free_disks(worker: &Worker, order: &Order, config: &Config) {
    let world = &worker.world;
    let drives = config.drives().into_iter().chain(config.unused());
    let own = drives.filter(|(_, drive)| !drive.is_plain_cd() && disks::is_own(order.vmid, &drive.file));
    let volumes: Vec<String> = own.map(|(_, drive)| drive.file).collect();
    for volume in volumes {
        let freed = if order.leaks {
            let storage = volume.split(':').next().unwrap_or_default();
            let lock = format!("/var/lock/pve-manager/pve-storage-{storage}");
            Err(Failure::died(format!("can't lock file '{lock}' - got timeout")))
        } else {
            disks::free(Hands::Task(worker), &order.node, &volume).await
        };
        if let Err(failure) = freed {
            let line = format!("Could not remove disk '{volume}', check manually: {}", failure.text());
            match world.release_of(&order.node) {
                Release::V8 => worker.log(line),
                Release::V9 => worker.warn(&line),
            }
        }
    }
    if order.unreferenced && !order.leaks {
        let strays: Vec<String> = {
            let state = world.state();
            let of = |(id, storage): (&String, &crate::proxmox::model::Storage)| {
                let mine = storage.volumes(&order.node).filter(|(_, volume)| volume.vmid == Some(order.vmid));
                mine.map(|(name, _)| format!("{id}:{name}")).collect::<Vec<_>>()
            };
            state.storages.iter().filter(|(_, storage)| !storage.disabled).flat_map(of).collect()
        };
        for volume in strays {
            if let Err(failure) = disks::free(Hands::Task(worker), &order.node, &volume).await {
                worker.log(failure.text());
            }
        }
    }
}
