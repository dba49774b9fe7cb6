//! Views that lag, and settings that a careless change would lose.

use std::time::Duration;

use providers::hypervisor::{Error, Hypervisor, Network, Power, Shape};
use sim::proxmox::{FaultId, FaultRule, Release};

use crate::world::{Piece, World, always, once, range};

async fn listed(world: &World, piece: &Piece) -> Option<(Option<String>, Power)> {
    let inventory = world.proxmox.inventory().await.unwrap();
    let row = inventory.vms.into_iter().find(|row| row.vm.id == piece.vm.id)?;
    Some((row.name, row.power))
}

#[tokio::test(start_paused = true)]
async fn f25_a_listing_that_lags_is_believed_about_existence_only() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.fault([FaultRule { seconds: Some(30.0), ..always(FaultId::F25) }]);
    world.make(&piece).await.unwrap();
    assert_eq!(listed(&world, &piece).await, Some((None, Power::Unknown)), "it is there, and that is all");
    let found = world.proxmox.find(piece.whose(), range()).await.unwrap();
    assert_eq!((found.ours.len(), found.undecided.len()), (1, 0));
    assert_eq!(world.proxmox.power_state(&piece.vm).await.unwrap(), Power::Running);
    tokio::time::sleep(Duration::from_mins(1)).await;
    world.control("POST", "/vms/6000/power-off", &serde_json::Value::Null).await;
    assert_eq!(listed(&world, &piece).await, Some((Some("runner-6000".into()), Power::Running)), "the listing lags");
    assert_eq!(world.proxmox.power_state(&piece.vm).await.unwrap(), Power::Stopped, "the VM's own state does not");
    world.remove(&piece).await.unwrap();
    assert_eq!(listed(&world, &piece).await, None);
    assert_eq!(world.heard().len(), 0);
    world.unharmed(&piece, &[]).await;
}

#[tokio::test(start_paused = true)]
async fn f34_a_network_card_keeps_its_address_when_it_is_plugged_elsewhere() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    let first = world.cloned(&piece).await.unwrap();
    let mac = first.facts().mac.unwrap();
    world.prepare(&piece).await.unwrap();
    let moved = world.look(&piece).await.unwrap();
    assert_eq!(moved.facts().mac, Some(mac), "the bridge changed, the address did not");
    // Somebody sends the card without its address, and the server makes one up.
    world.admin("PUT", "/nodes/pve1/qemu/6000/config", "net0=virtio%2Cbridge%3Dvmbr1").await;
    let other = world.look(&piece).await.unwrap().facts().mac;
    assert_ne!(other, Some(mac));
    // What we send is what we have just read, so a change in between is not undone behind anybody's back.
    world.fault([FaultRule { vmid: Some(6_000), ..once(FaultId::F34) }]);
    let network = Some(Network { bridge: "vmbr0".parse().unwrap(), vlan: None });
    let shape = Shape { network, ..Shape::default() };
    let stale = world.proxmox.configure(&moved, &shape).await.unwrap_err();
    assert!(matches!(stale, Error::Stale { .. }), "{stale}");
    let theirs = world.look(&piece).await.unwrap().facts().mac;
    assert_ne!(theirs, other);
    world.change(&piece, async |seen| world.proxmox.configure(seen, &shape).await.map(|()| None)).await.unwrap();
    assert_eq!(world.look(&piece).await.unwrap().facts().mac, theirs);
    world.remove(&piece).await.unwrap();
    world.unharmed(&piece, &[(&stale, "VM 6000", "look again")]).await;
}
