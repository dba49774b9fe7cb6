//! Disks that stay behind, stand in the way, or find no room; seed images that do not go.

use std::time::Duration;

use providers::hypervisor::{Error, Gib, Hypervisor, Object, Power, PowerAction, Shape};
use rstest::rstest;
use sim::proxmox::{Act, FaultId, FaultRule, Hook, Options, Profile, Release};

use crate::steps::DISKS;
use crate::world::{Piece, World, always, once, options};

#[rstest]
#[case::without_a_word(Release::V8, 0)]
#[case::with_warnings(Release::V9, 3)]
#[tokio::test(start_paused = true)]
async fn f12_disks_that_a_destroy_leaves_behind_are_found_and_removed(#[case] release: Release, #[case] warned: u32) {
    let world = World::new(release).await;
    let piece = Piece::at(6_000);
    world.make(&piece).await.unwrap();
    let stop = async |seen: &_| world.proxmox.power(seen, PowerAction::Stop).await.map(Some);
    world.change(&piece, stop).await.unwrap();
    world.fault([once(FaultId::F12)]);
    let destroy = async |seen: &_| world.proxmox.destroy(seen).await.map(Some);
    let warnings = world.change(&piece, destroy).await.unwrap();
    assert_eq!(warnings, warned, "{} ends like that", release.name());
    let gone = world.look(&piece).await.unwrap_err();
    assert!(matches!(gone, Error::NotFound { .. }), "the VM is gone all the same: {gone}");
    let swept = world.sweep(&piece).await.unwrap();
    assert_eq!(swept.len(), 3, "disk, TPM and firmware: {swept:?}");
    world.unharmed(&piece, &[(&gone, "VM 6000", "does not exist")]).await;
}

#[rstest]
#[case::thin(Profile::ZERO)]
#[case::ceph(Profile::CEPH)]
#[tokio::test(start_paused = true)]
async fn f13_an_id_that_an_old_volume_poisons_is_recognised_avoided_and_cleaned(#[case] profile: Profile) {
    let world = World::over(Options { profile, ..options(Release::V9) }).await;
    let (piece, other) = (Piece::at(6_000), Piece::at(6_001));
    world.fault([FaultRule { vmid: Some(6_000), storage: Some(DISKS.into()), ..once(FaultId::F13) }]);
    let poisoned = world.clone_once(&piece).await.unwrap_err();
    let named =
        matches!(&poisoned, Error::AlreadyExists { object: Object::Volume(name), .. } if name == "vm-6000-cloudinit");
    assert!(named, "what is in the way is a volume, not a VM: {poisoned}");
    world.make(&other).await.unwrap();
    world.remove(&other).await.unwrap();
    let storages = [DISKS.parse().unwrap()];
    let left = world.proxmox.leftovers(&piece.vm, &storages).await.unwrap();
    assert_eq!(left.len(), 1);
    // Whoever may not delete volumes says so, and which privilege it takes.
    let world = world.with_pool_rights_only();
    let denied = world.proxmox.remove_leftover(&piece.vm, &left[0]).await.unwrap_err();
    assert!(matches!(denied, Error::PermissionDenied { .. }), "{denied}");
    let mut world = world;
    world.restart();
    world.lesser = false;
    assert_eq!(world.sweep(&piece).await.unwrap(), left);
    let told = [
        (&poisoned, "volume vm-6000-cloudinit", "take another id"),
        (&denied, "vm-6000-cloudinit", "needs Datastore.Allocate on /storage/disks"),
    ];
    world.unharmed(&piece, &told).await;
}

#[tokio::test(start_paused = true)]
async fn f19_a_full_storage_is_seen_beforehand_and_told_apart_from_other_failures() {
    let hook = Hook::Script(vec![Act::Wait(Duration::from_secs(30)), Act::IoError]);
    let world = World::over(Options { hook, ..options(Release::V9) }).await;
    let (piece, next) = (Piece::at(6_000), Piece::at(6_001));
    world.cloned(&piece).await.unwrap();
    world.fault([FaultRule { storage: Some(DISKS.into()), ..always(FaultId::F19) }]);
    let inventory = world.proxmox.inventory().await.unwrap();
    let row = inventory.storages.iter().find(|row| row.name.as_str() == DISKS && row.node == piece.vm.node).unwrap();
    assert_eq!(row.used, row.total, "whoever places machines can see it");
    let clone = world.clone_once(&next).await.unwrap_err();
    let grow = async |seen: &_| world.proxmox.resize(seen, Gib(20)).await;
    let resize = world.change_once(&piece, grow).await.unwrap_err();
    let tpm = Shape { tpm: Some(DISKS.parse().unwrap()), ..Shape::default() };
    let add = async |seen: &_| world.proxmox.configure(seen, &tpm).await.map(|()| None);
    let configure = world.change_once(&piece, add).await.unwrap_err();
    for error in [&clone, &resize, &configure] {
        assert!(matches!(error, Error::Exhausted { .. }), "{error}");
    }
    assert!(matches!(world.look(&next).await, Err(Error::NotFound { .. })), "the clone left nothing");
    // A guest that runs out of space later is neither running nor stopped.
    world.calm();
    world.started(&piece).await.unwrap();
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(world.proxmox.power_state(&piece.vm).await.unwrap(), Power::Faulted);
    world.remove(&piece).await.unwrap();
    let told = [
        (&clone, "image 9000: no room", "use another storage or node"),
        (&resize, "VM 6000: no room", "use another storage or node"),
        (&configure, "VM 6000: no room", "use another storage or node"),
    ];
    world.unharmed(&piece, &told).await;
}

#[tokio::test(start_paused = true)]
async fn f35_a_seed_image_that_cannot_be_deleted_is_told_and_deleted_later() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.make(&piece).await.unwrap();
    world.fault([FaultRule { times: Some(3), ..once(FaultId::F35) }]);
    let task = world.proxmox.discard_seed(&piece.vm, &piece.allocation).await.unwrap().unwrap();
    let stuck = world.end(&task).await.unwrap_err();
    world.remove(&piece).await.unwrap();
    assert!(world.heard().contains("Unexpected"), "it was tried again until it was gone: {:?}", world.heard());
    let told = [(&stuck, "hyperfleet-6000-claim-6000.iso", "the hypervisor's log may say more")];
    world.unharmed(&piece, &told).await;
}
