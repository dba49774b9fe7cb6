//! Machines that do not start, do not stop, or do not answer.

use std::time::Duration;

use providers::hypervisor::{Error, Hypervisor, Network, Object, Power, PowerAction, Shape};
use reconcile::Class;
use rstest::rstest;
use sim::proxmox::{FaultId, FaultRule, Release};
use tokio::time::Instant;

use crate::world::{Piece, World, always, once};

/// One power action to its end.
async fn power(world: &World, piece: &Piece, action: PowerAction) -> Result<u32, Error> {
    world.change_once(piece, async |seen| world.proxmox.power(seen, action).await.map(Some)).await
}

#[tokio::test(start_paused = true)]
async fn f14_a_vm_that_still_runs_is_stopped_before_it_is_destroyed() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.make(&piece).await.unwrap();
    world.fault([once(FaultId::F14)]);
    power(&world, &piece, PowerAction::Stop).await.unwrap();
    let seen = world.look(&piece).await.unwrap();
    let running = world.proxmox.destroy(&seen).await.unwrap_err();
    assert!(matches!(running, Error::Running { .. }) && running.class() == Class::Conflict, "{running}");
    world.remove(&piece).await.unwrap();
    world.unharmed(&piece, &[(&running, "VM 6000", "stop it first")]).await;
}

#[tokio::test(start_paused = true)]
async fn f16_a_stop_that_hangs_is_waited_for_and_holds_up_its_own_vm_only() {
    let world = World::new(Release::V9).await;
    let (piece, other) = (Piece::at(6_000), Piece::at(6_001));
    world.make(&piece).await.unwrap();
    world.fault([FaultRule { seconds: Some(71.0), vmid: Some(6_000), ..once(FaultId::F16) }]);
    let began = Instant::now();
    let meanwhile = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let detach = async |seen: &_| world.proxmox.detach_seed(seen).await.map(|()| None);
        let busy = world.change_once(&piece, detach).await.unwrap_err();
        world.make(&other).await.unwrap();
        world.remove(&other).await.unwrap();
        (busy, began.elapsed())
    };
    let (removed, (busy, others)) = tokio::join!(world.remove(&piece), meanwhile);
    removed.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(71) && others < Duration::from_mins(1), "{others:?}");
    assert!(matches!(busy, Error::LockTimeout { .. }), "{busy}");
    world.unharmed(&piece, &[(&busy, "VM 6000", "try again")]).await;
}

#[tokio::test(start_paused = true)]
async fn f17_a_guest_that_ignores_the_power_button_is_turned_off() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.make(&piece).await.unwrap();
    world.fault([always(FaultId::F17)]);
    let began = Instant::now();
    let ignored = power(&world, &piece, PowerAction::Shutdown).await.unwrap_err();
    assert!(began.elapsed() >= Duration::from_mins(1));
    assert!(matches!(ignored, Error::Running { .. }), "{ignored}");
    assert_eq!(world.proxmox.power_state(&piece.vm).await.unwrap(), Power::Running);
    let began = Instant::now();
    world.remove(&piece).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(10), "a removal asks no guest");
    world.unharmed(&piece, &[(&ignored, "VM 6000", "stop it first")]).await;
}

#[rstest]
#[case::and_it_does_not_run(None, Power::Stopped)]
#[case::and_it_runs_all_the_same(Some("running"), Power::Running)]
#[tokio::test(start_paused = true)]
async fn f18_after_a_start_that_failed_the_vm_itself_is_asked(#[case] variant: Option<&str>, #[case] state: Power) {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.cloned(&piece).await.unwrap();
    world.prepare(&piece).await.unwrap();
    world.fault([FaultRule { variant: variant.map(str::to_owned), ..once(FaultId::F18) }]);
    let failed = power(&world, &piece, PowerAction::Start).await.unwrap_err();
    assert!(matches!(failed, Error::Unexpected { .. }), "{failed}");
    assert_eq!(world.proxmox.power_state(&piece.vm).await.unwrap(), state);
    world.remove(&piece).await.unwrap();

    // What will not pass by itself is told apart: here the bridge is missing.
    world.cloned(&piece).await.unwrap();
    let network = Network { bridge: "vmbr9".parse().unwrap(), vlan: None };
    let shape = Shape { network: Some(network), ..Shape::default() };
    world.change(&piece, async |seen| world.proxmox.configure(seen, &shape).await.map(|()| None)).await.unwrap();
    let missing = world.started(&piece).await.unwrap_err();
    assert!(matches!(&missing, Error::NotFound { object: Object::Network(name) } if name == "vmbr9"), "{missing}");
    assert_eq!(missing.class(), Class::Refused);
    world.remove(&piece).await.unwrap();
    let told =
        [(&failed, "VM 6000", "the hypervisor's log may say more"), (&missing, "network vmbr9", "check its name")];
    world.unharmed(&piece, &told).await;
}

#[tokio::test(start_paused = true)]
async fn f20_a_guest_agent_that_never_answers_is_never_waited_for() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.fault([always(FaultId::F20)]);
    let began = Instant::now();
    world.make(&piece).await.unwrap();
    assert_eq!(world.proxmox.power_state(&piece.vm).await.unwrap(), Power::Running);
    world.remove(&piece).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!((world.calls("/agent"), world.heard().len()), (0, 0));
    world.unharmed(&piece, &[]).await;
}
