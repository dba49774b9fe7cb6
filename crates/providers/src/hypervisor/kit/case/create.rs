//! Making VMs: once, again, and many at a time.

use std::collections::BTreeSet;

use super::super::faults::Faults;
use super::super::workshop::{Failure, Workshop, ensure, patiently, together};
use crate::hypervisor::{Content, Error, Hypervisor, VmIdRange};

pub(super) async fn idempotent<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let (piece, first) = shop.make().await?;
    let order = shop.order(&piece);
    let again = match patiently(shop.bench, || shop.hypervisor.clone_image(&order)).await {
        Ok(task) => shop.end(&task).await.map(drop),
        Err(failure) => Err(failure),
    };
    match again {
        Err(Failure::Hypervisor(Error::AlreadyExists { .. } | Error::LockTimeout { .. })) => {}
        other => return Err(Failure::Unmet(format!("the number is taken, but the second try said: {other:?}"))),
    }
    let second = shop.look(&piece).await?;
    ensure(first.facts().digest == second.facts().digest, "the second try must not change the VM")?;
    Ok(format!("the second try for {} changed nothing", piece.vm))
}

pub(super) async fn listed<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let (piece, seen) = shop.make().await?;
    let inventory = patiently(shop.bench, || shop.hypervisor.inventory()).await?;
    let row = inventory.vms.iter().find(|row| row.vm.id == piece.vm.id);
    ensure(row.is_some_and(|row| row.vm.node == piece.vm.node), "the new VM must be listed on its node")?;
    ensure(inventory.nodes.iter().any(|row| row.name == piece.vm.node), "its node must be listed")?;
    for storage in seen.storages() {
        let known = inventory
            .storages
            .iter()
            .any(|row| row.name == storage && row.node == piece.vm.node && row.takes.contains(&Content::Disks));
        ensure(known, format!("storage {storage}, which it is on, must be listed with what it takes"))?;
    }
    let range = VmIdRange { first: piece.vm.id, last: piece.vm.id };
    let ours: Vec<_> = shop.find(&piece, range).await?.iter().map(|seen| seen.vm().id).collect();
    ensure(ours == [piece.vm.id], format!("the search must find it by its allocation: {ours:?}"))?;
    Ok(format!("VM {} is listed among {} guests and found by its owner", piece.vm.id, inventory.vms.len()))
}

pub(super) async fn concurrent<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let makes = (0..shop.bench.together.max(2)).map(|_| shop.make()).collect();
    let mut macs = BTreeSet::new();
    let made = together(makes).await;
    for outcome in made {
        let (piece, seen) = outcome?;
        ensure(seen.allocation() == &piece.allocation, "every VM must carry its own allocation")?;
        let mac = seen.facts().mac.map(|mac| mac.to_string());
        ensure(mac.is_none_or(|mac| macs.insert(mac)), "no two VMs may have one hardware address")?;
    }
    Ok(format!("{} VMs were made at once", shop.bench.together.max(2)))
}
