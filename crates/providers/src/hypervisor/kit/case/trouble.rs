//! What only happens on bad days.

use std::time::Duration;

use tokio::time::Instant;

use super::super::faults::{Faults, Trouble};
use super::super::workshop::{Failure, Workshop, ensure, patiently};
use super::life::remove;
use crate::hypervisor::{Error, Hypervisor, TaskState, Whose};

/// Longer than any request may take.
const SLOW: Duration = Duration::from_mins(1);
/// As many as a large installation has.
const CROWD: u32 = 10_000;

pub(super) async fn taken_id<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let piece = shop.plan()?;
    shop.arrange(Trouble::ForeignVm(piece.vm.id, piece.vm.node.clone())).await?;
    let order = shop.order(&piece);
    let made = match patiently(shop.bench, || shop.hypervisor.clone_image(&order)).await {
        Ok(task) => shop.end(&task).await.map(drop),
        Err(failure) => Err(failure),
    };
    match made {
        Err(Failure::Hypervisor(Error::AlreadyExists { .. } | Error::LockTimeout { .. })) => {}
        other => return Err(Failure::Unmet(format!("the number is somebody else's, but the clone said: {other:?}"))),
    }
    match patiently(shop.bench, || shop.hypervisor.look(&piece.vm, Whose::AnyOfOurs)).await {
        Err(Failure::Hypervisor(Error::Foreign { mark, .. })) => {
            Ok(format!("somebody else's VM is left alone: {mark}"))
        }
        other => Err(Failure::Unmet(format!("the VM is somebody else's, but the look said: {other:?}"))),
    }
}

pub(super) async fn slow_task<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let piece = shop.plan()?;
    shop.arrange(Trouble::SlowTasks(SLOW)).await?;
    let order = shop.order(&piece);
    let started = Instant::now();
    let task = patiently(shop.bench, || shop.hypervisor.clone_image(&order)).await?;
    let waited = started.elapsed();
    ensure(waited < SLOW / 2, format!("a task must not be waited for, but the call took {waited:?}"))?;
    let state = patiently(shop.bench, || shop.hypervisor.task(&task)).await?;
    ensure(state == TaskState::Running, format!("the task must be running, but: {state:?}"))?;
    match shop.end(&task).await {
        // An earlier try whose answer was lost has come first: the VM is the same.
        Ok(_) | Err(Failure::Hypervisor(Error::AlreadyExists { .. } | Error::LockTimeout { .. })) => {}
        Err(failure) => return Err(failure),
    }
    shop.look(&piece).await?;
    ensure(started.elapsed() >= SLOW, "the task must take as long as it takes")?;
    let log = patiently(shop.bench, || shop.hypervisor.task_log(&task, 5)).await?;
    ensure(!log.is_empty(), "a task that ended must have a log")?;
    Ok(format!("the call took {waited:?}, the task {:?}", started.elapsed()))
}

pub(super) async fn lost_response<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    shop.arrange(Trouble::LostCloneAnswer).await?;
    let (piece, seen) = shop.make().await?;
    let ours = shop.find(&piece, shop.bench.range).await?;
    ensure(ours.len() == 1, format!("one VM was asked for, but {} are there", ours.len()))?;
    Ok(format!("{} was found again by its owner", seen.vm()))
}

pub(super) async fn auth_rotation<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    patiently(shop.bench, || shop.hypervisor.inventory()).await?;
    shop.arrange(Trouble::NewCredentials).await?;
    let inventory = patiently(shop.bench, || shop.hypervisor.inventory()).await?;
    Ok(format!("{} guests listed with the new credentials", inventory.vms.len()))
}

pub(super) async fn large_inventory<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let (piece, _) = shop.make().await?;
    shop.arrange(Trouble::Crowd(CROWD)).await?;
    let inventory = patiently(shop.bench, || shop.hypervisor.inventory()).await?;
    ensure(
        inventory.vms.len() > CROWD as usize,
        format!("{CROWD} guests are there, but {} are listed", inventory.vms.len()),
    )?;
    ensure(inventory.vms.iter().any(|row| row.vm == piece.vm), "our own VM must be listed among them")?;
    Ok(format!("{} guests in one listing", inventory.vms.len()))
}

pub(super) async fn leaked_disks<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let (piece, _) = shop.make().await?;
    shop.arrange(Trouble::LeakedDisks).await?;
    remove(shop, &piece).await?;
    let left = shop.disks(&piece).await?;
    ensure(!left.is_empty(), "the disks that were left behind must be listed")?;
    for volume in &left {
        if let Some(task) = patiently(shop.bench, || shop.hypervisor.remove_leftover(&piece.vm, volume)).await? {
            shop.end(&task).await?;
        }
    }
    let still = shop.disks(&piece).await?;
    ensure(still.is_empty(), format!("these disks are still there: {still:?}"))?;
    Ok(format!("{} disks were left behind, found and removed", left.len()))
}
