//! Images that are gone, elsewhere, or cannot be cloned as asked.

use providers::hypervisor::{CloneMode, CloneOrder, Error, Hypervisor, Object};
use reconcile::Class;
use sim::proxmox::{FaultId, FaultRule, Options, Profile, Release};

use crate::world::{Piece, World, always, once, options};

#[tokio::test(start_paused = true)]
async fn f06_an_image_that_moved_or_is_gone_is_named_and_its_vms_live_on() {
    let world = World::new(Release::V9).await;
    let (piece, next) = (Piece::at(6_000), Piece::at(6_001));
    let image = world.proxmox.inspect(&piece.image()).await.unwrap();
    world.make(&piece).await.unwrap();
    let to = |node: &str| FaultRule { vmid: Some(9_000), node: Some(node.to_owned()), ..once(FaultId::F30) };
    world.fault([to("pve2")]);
    let moved = world.proxmox.inspect(&image.image).await.unwrap_err();
    assert!(matches!(&moved, Error::Moved { vm } if vm.id.get() == 9_000), "{moved}");
    let images = world.proxmox.images().await.unwrap();
    assert!(images.iter().any(|row| row.image.id == image.image.id && row.image.node.as_str() == "pve2"));
    world.fault([to("pve1")]);

    world.fault([FaultRule { vmid: Some(9_000), ..once(FaultId::F06) }]);
    world.taken_away(9_000);
    let gone = world.proxmox.inspect(&image.image).await.unwrap_err();
    // So it is for whoever inspected it while it was there.
    let late = world.proxmox.clone_image(&next.order(&image)).await.unwrap_err();
    for error in [&gone, &late] {
        assert!(matches!(error, Error::NotFound { object: Object::Image(id) } if id.get() == 9_000), "{error}");
        assert_eq!(error.class(), Class::Refused, "nothing more is made from it");
    }
    world.started(&piece).await.unwrap();
    world.remove(&piece).await.unwrap();
    let told = [
        (&moved, "VM 9000 is not on node pve1", "look it up in the inventory"),
        (&gone, "image 9000", "check its name"),
        (&late, "image 9000", "check its name"),
    ];
    world.unharmed(&Piece::on(6_000, "pve2"), &told).await;
}

#[tokio::test(start_paused = true)]
async fn f07_a_storage_without_linked_clones_is_told_before_anything_is_made() {
    let world = World::over(Options { profile: Profile::LVMTHIN_FULL, ..options(Release::V9) }).await;
    let piece = Piece::at(6_000);
    let image = world.proxmox.inspect(&piece.image()).await.unwrap();
    assert!(!image.linkable);
    let before = world.calls("/clone");
    let linked = CloneOrder { mode: CloneMode::Linked, ..piece.order(&image) };
    let early = world.proxmox.clone_image(&linked).await.unwrap_err();
    assert_eq!(world.calls("/clone"), before, "the server was not even asked");
    assert!(matches!(early, Error::Unsupported { .. }) && early.class() == Class::Refused, "{early}");
    // Where full clones are allowed, the same order works.
    world.make(&piece).await.unwrap();
    world.remove(&piece).await.unwrap();
    world.unharmed(&piece, &[(&early, "image 9000", "allow full clones")]).await;

    // A storage that lost the ability since the image was inspected.
    let world = World::new(Release::V9).await;
    let image = world.proxmox.inspect(&piece.image()).await.unwrap();
    world.fault([always(FaultId::F07)]);
    let late = world.proxmox.clone_image(&piece.order(&image)).await.unwrap_err();
    assert!(matches!(late, Error::Unsupported { .. }), "{late}");
    world.calm();
    world.unharmed(&piece, &[(&late, "VM 6000", "allow full clones")]).await;
}

#[tokio::test(start_paused = true)]
async fn f08_an_image_on_local_storage_is_cloned_on_its_node_only() {
    let world = World::new(Release::V9).await;
    let here = Piece::at(6_000);
    let there = Piece::on(6_001, "pve2");
    let image = world.proxmox.inspect(&here.image()).await.unwrap();
    assert_eq!(image.nodes, ["pve1".parse().unwrap()], "whoever chooses a node can know");
    let refused = world.proxmox.clone_image(&there.order(&image)).await.unwrap_err();
    assert!(matches!(refused, Error::Unsupported { .. }) && refused.class() == Class::Refused, "{refused}");
    for piece in [&here, &there] {
        world.make(piece).await.unwrap();
    }
    for piece in [&here, &there] {
        world.remove(piece).await.unwrap();
    }
    world.unharmed(&there, &[(&refused, "node 'pve2'", "use a node that has the image's storage")]).await;
}

#[tokio::test(start_paused = true)]
async fn f15_protection_that_a_clone_inherits_does_not_keep_it_for_ever() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.fault([once(FaultId::F15)]);
    let seen = world.clone_once(&piece).await.unwrap();
    let protected = world.proxmox.destroy(&seen).await.unwrap_err();
    assert!(matches!(protected, Error::Protected { .. }), "{protected}");
    // Whoever prepares a VM takes its protection off, and so does whoever removes one that was never prepared.
    world.remove(&piece).await.unwrap();
    world.fault([once(FaultId::F15)]);
    world.make(&piece).await.unwrap();
    let seen = world.look(&piece).await.unwrap();
    let running = world.proxmox.destroy(&seen).await.unwrap_err();
    assert!(matches!(running, Error::Running { .. }), "protection is not what is in the way any more: {running}");
    world.remove(&piece).await.unwrap();
    world.unharmed(&piece, &[(&protected, "VM 6000", "take the protection off first")]).await;
}
