//! Nodes that die, lose each other, or are of another release; VMs that change nodes.

use std::time::Duration;

use providers::hypervisor::{Error, Hypervisor, Power, PowerAction, Presence, Whose};
use rstest::rstest;
use sim::proxmox::{FaultId, FaultRule, Release};

use crate::world::{Piece, World, always, once, range};

#[tokio::test(start_paused = true)]
async fn f09_vms_of_a_dead_node_are_not_given_up_and_are_removed_when_it_is_back() {
    let world = World::new(Release::V9).await;
    let (piece, elsewhere) = (Piece::at(6_000), Piece::on(6_001, "pve2"));
    world.make(&piece).await.unwrap();
    tokio::time::sleep(Duration::from_secs(20)).await;
    world.fault([FaultRule { node: Some("pve1".into()), ..once(FaultId::F09) }]);
    let look = world.look(&piece).await.unwrap_err();
    let power = world.proxmox.power_state(&piece.vm).await.unwrap_err();
    for error in [&look, &power] {
        assert!(matches!(error, Error::NodeUnreachable { .. }), "{error}");
    }
    let inventory = world.proxmox.inventory().await.unwrap();
    let node = inventory.nodes.iter().find(|row| row.name == piece.vm.node).unwrap();
    assert_eq!(node.presence, Presence::Offline);
    // Others go on meanwhile.
    world.make(&elsewhere).await.unwrap();
    world.remove(&elsewhere).await.unwrap();
    tokio::time::sleep(Duration::from_mins(6)).await;
    let inventory = world.proxmox.inventory().await.unwrap();
    let row = inventory.vms.iter().find(|row| row.vm.id == piece.vm.id).unwrap();
    assert_eq!(row.power, Power::Unknown, "unknown is not stopped, and not gone");
    let found = world.proxmox.find(Whose::AnyOfOurs, range()).await.unwrap();
    assert!(found.ours.is_empty() && found.undecided.iter().any(|(vm, _)| *vm == piece.vm));
    world.calm();
    let found = world.proxmox.find(Whose::AnyOfOurs, range()).await.unwrap();
    assert_eq!((found.ours.len(), found.undecided.len()), (1, 0));
    world.remove(&piece).await.unwrap();
    let told = [(&look, "VM 6000", "check that it is up"), (&power, "VM 6000", "check that it is up")];
    world.unharmed(&piece, &told).await;
}

#[tokio::test(start_paused = true)]
async fn f11_without_quorum_nothing_is_made_and_no_removal_counts_as_done() {
    let world = World::new(Release::V9).await;
    let (piece, next) = (Piece::at(6_000), Piece::at(6_001));
    world.make(&piece).await.unwrap();
    world.fault([always(FaultId::F11)]);
    let clone = world.clone_once(&next).await.unwrap_err();
    let change = async |seen: &_| world.proxmox.detach_seed(seen).await.map(|()| None);
    let configure = world.change_once(&piece, change).await.unwrap_err();
    let stop = async |seen: &_| world.proxmox.power(seen, PowerAction::Stop).await.map(Some);
    world.change_once(&piece, stop).await.unwrap();
    let destroy = async |seen: &_| world.proxmox.destroy(seen).await.map(Some);
    let destroy = world.change_once(&piece, destroy).await.unwrap_err();
    for error in [&clone, &configure, &destroy] {
        assert!(matches!(error, Error::NoQuorum { .. }), "{error}");
    }
    let found = world.proxmox.find(Whose::AnyOfOurs, range()).await.unwrap();
    assert_eq!(found.ours.len(), 1, "what could not be removed is still there to be seen");
    let patient = async {
        tokio::time::sleep(Duration::from_secs(90)).await;
        world.calm();
    };
    let (removed, ()) = tokio::join!(world.remove(&piece), patient);
    removed.unwrap();
    assert_eq!(world.heard(), ["NoQuorum"].into());
    let remedy = "bring back the majority of its nodes";
    let told = [&clone, &configure, &destroy].map(|error| (error, "the hypervisor takes no changes", remedy));
    world.unharmed(&piece, &told).await;
}

#[tokio::test(start_paused = true)]
async fn f30_a_vm_that_was_moved_is_found_where_it_is_now() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    let seen = world.make(&piece).await.unwrap();
    world.fault([FaultRule { vmid: Some(6_000), node: Some("pve2".into()), ..once(FaultId::F30) }]);
    let look = world.proxmox.look(&piece.vm, piece.whose()).await.unwrap_err();
    // A power action is taken on the old node and fails there later: that must not read as a VM that is gone.
    let task = world.proxmox.power(&seen, PowerAction::Stop).await.unwrap();
    let stop = world.end(&task).await.unwrap_err();
    let destroy = world.proxmox.destroy(&seen).await.unwrap_err();
    for error in [&look, &stop, &destroy] {
        assert!(matches!(error, Error::Moved { vm } if *vm == piece.vm), "{error}");
    }
    assert_eq!(world.look(&piece).await.unwrap().vm().node.as_str(), "pve2");
    world.remove(&piece).await.unwrap();
    let told =
        [&look, &stop, &destroy].map(|error| (error, "VM 6000 is not on node pve1", "look it up in the inventory"));
    world.unharmed(&piece, &told).await;
}

#[rstest]
#[case(Release::V9, "8.4")]
#[case(Release::V8, "9.2")]
#[tokio::test(start_paused = true)]
async fn f32_nodes_of_different_releases_are_used_alike(#[case] release: Release, #[case] other: &str) {
    let world = World::new(release).await;
    let rule = FaultRule { node: Some("pve2".into()), variant: Some(other.to_owned()), ..always(FaultId::F32) };
    world.fault([rule.clone(), FaultRule { method: Some("DELETE".into()), ..always(FaultId::F12) }]);
    assert_eq!(world.admin("GET", "/nodes/pve2/version", "").await["release"], other);
    assert_eq!(world.proxmox.health().await.unwrap().version, release.version());
    for (piece, node) in [(Piece::at(6_000), release.name()), (Piece::on(6_001, "pve2"), other)] {
        world.make(&piece).await.unwrap();
        let stop = async |seen: &_| world.proxmox.power(seen, PowerAction::Stop).await.map(Some);
        world.change(&piece, stop).await.unwrap();
        let destroy = async |seen: &_| world.proxmox.destroy(seen).await.map(Some);
        let warnings = world.change(&piece, destroy).await.unwrap();
        assert_eq!(warnings, if node == "9.2" { 3 } else { 0 }, "{} is of {node}", piece.vm);
        let left = world.sweep(&piece).await.unwrap();
        assert_eq!(left.len(), 3, "whether it is warned of or not, what stayed behind is found: {left:?}");
    }
    world.fault([rule]);
    world.unharmed(&Piece::on(6_000, "pve2"), &[]).await;
}
