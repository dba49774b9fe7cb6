//! Locks that others hold, for a while or for ever.

use std::time::Duration;

use providers::hypervisor::{Error, Hypervisor, Lock, PowerAction, Shape, Shared};
use rstest::rstest;
use serde_json::{Value, json};
use sim::proxmox::{FaultId, FaultRule, Options, Profile, Release};
use tokio::time::Instant;

use crate::steps::HOT;
use crate::world::{Piece, World, once, options, range, slow};

#[rstest]
#[case::of_one_node(Profile::ZERO)]
#[case::of_the_cluster(Profile::CEPH)]
#[tokio::test(start_paused = true)]
async fn f02_a_clone_that_waited_too_long_for_its_storage_is_made_again(#[case] profile: Profile) {
    let world = World::over(Options { profile, ..options(Release::V9) }).await;
    let piece = Piece::at(6_000);
    let busy = FaultRule { storage: Some("disks".into()), seconds: Some(12.0), ..once(FaultId::F02) };
    world.fault([busy.clone()]);
    let error = world.clone_once(&piece).await.unwrap_err();
    assert!(matches!(&error, Error::LockTimeout { lock: Shared::Storage(name), .. } if name == "disks"), "{error}");
    tokio::time::sleep(Duration::from_secs(20)).await;
    world.fault([busy]);
    world.make(&piece).await.unwrap();
    assert!(world.heard().contains("LockTimeout"), "{:?}", world.heard());
    world.remove(&piece).await.unwrap();
    world.unharmed(&piece, &[(&error, "storage disks", "try again when less is going on there")]).await;
}

#[tokio::test(start_paused = true)]
async fn f02_what_a_clone_could_not_take_back_is_swept_before_its_id_is_used_again() {
    let world = World::over(Options { profile: slow(), ..options(Release::V9) }).await;
    let piece = Piece::at(6_000);
    // The first disk is there when somebody takes the storage for longer than the clone waits to take it back.
    let outsider = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        world.control("POST", "/locks/storage/disks", &Value::Null).await;
        tokio::time::sleep(Duration::from_mins(1)).await;
        world.control("DELETE", "/locks/storage/disks", &Value::Null).await;
    };
    let (cloned, ()) = tokio::join!(world.clone_once(&piece), outsider);
    let error = cloned.unwrap_err();
    let swept = world.sweep(&piece).await.unwrap();
    assert_eq!(swept.len(), 1, "{swept:?}");
    world.unharmed(&piece, &[(&error, "storage disks", "try again")]).await;
}

#[tokio::test(start_paused = true)]
async fn f03_a_vm_whose_lock_somebody_holds_is_changed_when_it_is_free() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.make(&piece).await.unwrap();
    world.fault([FaultRule { vmid: Some(6_000), seconds: Some(25.0), ..once(FaultId::F03) }]);
    let started = Instant::now();
    let shape = Shape { cores: Some(8), ..Shape::default() };
    let change = async |seen: &_| world.proxmox.configure(seen, &shape).await.map(|()| None);
    let waited = world.change_once(&piece, change).await.unwrap_err();
    assert_eq!(started.elapsed().as_secs(), 10, "the server waits that long");
    let stop = async |seen: &_| world.proxmox.power(seen, PowerAction::Stop).await.map(Some);
    let failed = world.change_once(&piece, stop).await.unwrap_err();
    for error in [&waited, &failed] {
        assert!(matches!(error, Error::LockTimeout { lock: Shared::Vm(id), .. } if id.get() == 6_000), "{error}");
    }
    world.remove(&piece).await.unwrap();
    world.unharmed(&piece, &[(&waited, "VM 6000", "try again"), (&failed, "VM 6000", "try again")]).await;
}

#[tokio::test(start_paused = true)]
async fn f04_a_lock_that_a_cut_off_clone_left_is_a_matter_for_an_administrator() {
    let world = World::new(Release::V9).await;
    let (piece, other) = (Piece::at(6_000), Piece::at(6_001));
    world.fault([once(FaultId::F04)]);
    let unknown = world.clone_once(&piece).await.unwrap_err();
    assert!(matches!(unknown, Error::UnknownOutcome { .. }), "{unknown}");
    let seen = world.look(&piece).await.unwrap();
    assert_eq!(seen.facts().lock, Some(Lock::Clone), "it is ours and can be told");
    let before = world.calls("6000");
    let locked = world.remove(&piece).await.unwrap_err();
    assert!(matches!(locked, Error::Locked { kind: Lock::Clone, .. }), "{locked}");
    let asked = world.calls("6000") - before;
    assert!(asked <= 2 * HOT, "it is asked now and then, not {asked} times in a quarter of an hour");
    let reused = Piece { allocation: "claim-other".parse().unwrap(), ..piece.clone() };
    let taken = world.clone_once(&reused).await.unwrap_err();
    assert!(matches!(taken, Error::AlreadyExists { .. }), "{taken}");
    world.make(&other).await.unwrap();
    world.remove(&other).await.unwrap();
    world.control("PUT", "/vms/6000/lock", &json!({ "lock": null })).await;
    world.remove(&piece).await.unwrap();
    let told = [
        (&unknown, "qmclone:9000", "look before trying again"),
        (&locked, "VM 6000", "have an administrator unlock"),
        (&taken, "VM 6000", "take another id"),
    ];
    world.unharmed(&piece, &told).await;
}

#[tokio::test(start_paused = true)]
async fn f04_a_clone_whose_node_died_before_its_first_disk_is_locked_not_somebody_elses() {
    let world = World::over(Options { profile: slow(), ..options(Release::V9) }).await;
    let piece = Piece::at(6_000);
    let task = world.begin(&piece).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.fault([FaultRule { node: Some("pve1".into()), ..once(FaultId::F09) }]);
    world.calm();
    let unknown = world.end(&task).await.unwrap_err();
    assert!(matches!(unknown, Error::UnknownOutcome { .. }), "{unknown}");
    let locked = world.remove(&piece).await.unwrap_err();
    assert!(matches!(locked, Error::Locked { kind: Lock::Clone, .. }), "{locked}");
    let found = world.proxmox.find(piece.whose(), range()).await.unwrap();
    assert_eq!(found.undecided.len(), 1, "it may be ours, and nobody says it is not there");
    world.control("PUT", "/vms/6000/lock", &json!({ "lock": null })).await;
    world.admin("DELETE", "/nodes/pve1/qemu/6000?purge=1&destroy-unreferenced-disks=1", "").await;
    world.unharmed(&piece, &[(&locked, "VM 6000", "have an administrator unlock or remove it")]).await;
}

#[tokio::test(start_paused = true)]
async fn f05_a_vm_that_is_backed_up_is_removed_when_the_backup_is_done() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    let seen = world.make(&piece).await.unwrap();
    world.fault([FaultRule { vmid: Some(6_000), seconds: Some(300.0), ..once(FaultId::F05) }]);
    let started = Instant::now();
    // A look from before the backup does not get past it either.
    let task = world.proxmox.power(&seen, PowerAction::Stop).await.unwrap();
    let refused = world.end(&task).await.unwrap_err();
    assert!(matches!(refused, Error::Locked { kind: Lock::Backup, .. }), "{refused}");
    world.remove(&piece).await.unwrap();
    assert!(started.elapsed() >= Duration::from_mins(5), "the backup was waited for");
    assert!(world.heard().contains("Locked"));
    world.unharmed(&piece, &[(&refused, "VM 6000", "wait for that operation")]).await;
}

#[tokio::test(start_paused = true)]
async fn f29_a_busy_list_of_users_and_pools_fails_a_clone_at_its_end_and_a_removal_for_good() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    let busy = FaultRule { seconds: Some(12.0), ..once(FaultId::F29) };
    world.fault([busy.clone()]);
    let late = world.clone_once(&piece).await.unwrap_err();
    assert!(matches!(&late, Error::LockTimeout { lock: Shared::Other(name), .. } if name == "file-user_cfg"), "{late}");
    assert!(matches!(world.look(&piece).await, Err(Error::NotFound { .. })), "the server took it all back");
    tokio::time::sleep(Duration::from_secs(20)).await;
    world.make(&piece).await.unwrap();

    world.fault([busy]);
    let locked = world.remove(&piece).await.unwrap_err();
    assert!(matches!(locked, Error::Locked { kind: Lock::Destroyed, .. }), "{locked}");
    assert_eq!(world.heard(), ["LockTimeout", "Locked"].into());
    world.control("PUT", "/vms/6000/lock", &json!({ "lock": null })).await;
    world.admin("DELETE", "/nodes/pve1/qemu/6000?purge=1", "").await;
    assert_eq!(world.remove(&piece).await.unwrap(), []);
    let told = [
        (&late, "file-user_cfg", "try again when less is going on"),
        (&locked, "VM 6000", "have an administrator remove what is left of it"),
    ];
    world.unharmed(&piece, &told).await;
}
