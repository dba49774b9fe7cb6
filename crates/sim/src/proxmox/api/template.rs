//! Making an image out of a VM.

use super::{Call, check_lock};
use crate::proxmox::failure::{Failure, Outcome};
use crate::proxmox::lock::Name;
use crate::proxmox::model::{Vm, image_name};

pub(super) fn template(call: &Call) -> Outcome {
    let (node, vmid) = (call.node().to_owned(), call.vmid());
    call.with_vm(check)??;
    call.fork("qmtemplate", &vmid.to_string(), move |worker| async move {
        let world = &worker.world;
        let _held = worker.lock(&Name::Vm(vmid), world.limits.lock).await?;
        world.with_vm(&node, vmid, check)??;
        let drives = world.with_vm(&node, vmid, |vm| vm.config.drives())?;
        let mut lines = vec![("template".to_owned(), "1".to_owned())];
        {
            let mut state = world.state();
            for (name, mut drive) in drives.into_iter().filter(|(_, drive)| !drive.is_cd()) {
                let Some((storage, volume)) = drive.file.split_once(':') else { continue };
                let Some(known) = state.storages.get_mut(storage) else { continue };
                let image = image_name(volume);
                known.rename(&node, volume, &image);
                drive.file = format!("{storage}:{image}");
                lines.push((name, drive.print()));
            }
        }
        world.change_vm(&node, vmid, |vm| {
            for (name, line) in lines {
                vm.config.set(&name, line);
            }
        })
    })
}

fn check(vm: &Vm) -> Outcome<()> {
    check_lock(&vm.config)?;
    if vm.is_template() {
        return Err(Failure::died("you can't convert a template to a template"));
    }
    if vm.is_running() {
        return Err(Failure::died("you can't convert a VM to template if VM is running"));
    }
    Ok(())
}
