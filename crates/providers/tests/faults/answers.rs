//! Answers that come late, wrong or not at all.

use std::time::Duration;

use providers::hypervisor::{Error, Hypervisor, Object, Power, Seen, TaskState, Whose};
use sim::proxmox::{FaultId, FaultRule, Options, Profile, Release};
use tokio::time::Instant;

use crate::world::{CHANGES, Piece, World, always, first_of, once, options, range};

#[tokio::test(start_paused = true)]
async fn f10_a_change_whose_answer_comes_too_late_is_looked_up_not_repeated() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.fault(first_of(FaultId::F10, &[("POST", "/clone"), ("GET", "/config")]));
    let change = world.begin(&piece).await.unwrap_err();
    assert!(matches!(&change, Error::NodeUnreachable { object: Object::Image(_), .. }), "a read has failed: {change}");
    let started = Instant::now();
    let unknown = world.begin(&piece).await.unwrap_err();
    assert_eq!(started.elapsed().as_secs(), 30, "the proxy's answer is waited for");
    assert!(matches!(&unknown, Error::UnknownOutcome { .. }), "{unknown}");
    world.cloned(&piece).await.unwrap();
    assert_eq!(world.calls("/clone"), 2, "the other operator's clone, and one of ours");
    world.fault(first_of(FaultId::F10, CHANGES));
    world.make(&piece).await.unwrap();
    let found = world.proxmox.find(piece.whose(), range()).await.unwrap();
    assert_eq!((found.ours.len(), found.undecided.len()), (1, 0));
    world.remove(&piece).await.unwrap();
    assert_eq!(world.heard(), ["UnknownOutcome"].into());
    let told = [(&change, "image 9000", "check that it is up"), (&unknown, "VM 6000", "look before trying again")];
    world.unharmed(&piece, &told).await;
}

#[tokio::test(start_paused = true)]
async fn f21_a_busy_node_is_not_asked_for_more_than_it_can_do() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.make(&piece).await.unwrap();
    // Twelve seconds a call, three at a time: nine calls at once would keep some waiting beyond the proxy's thirty.
    world.fault([FaultRule { seconds: Some(12.0), path: Some("/status/current".into()), ..always(FaultId::F21) }]);
    let (began, ask) = (Instant::now(), || world.proxmox.power_state(&piece.vm));
    let three = async || tokio::join!(ask(), ask(), ask());
    let (a, b, c) = tokio::join!(three(), three(), three());
    for (one, two, three) in [a, b, c] {
        assert_eq!([one, two, three], [Ok(Power::Running), Ok(Power::Running), Ok(Power::Running)]);
    }
    assert_eq!(began.elapsed().as_secs(), 36);
    // A daemon that is busier than that answers too late for everything.
    world.remove(&piece).await.unwrap();
    world.fault([FaultRule { seconds: Some(40.0), path: Some("/clone".into()), ..once(FaultId::F21) }]);
    let unknown = world.begin(&piece).await.unwrap_err();
    assert!(matches!(unknown, Error::UnknownOutcome { .. }), "{unknown}");
    world.make(&piece).await.unwrap();
    let found = world.proxmox.find(piece.whose(), range()).await.unwrap();
    assert_eq!(found.ours.len(), 1, "it was ordered twice, and is there once");
    world.remove(&piece).await.unwrap();
    // What the daemon did in the end, after everything was removed, carries its mark like everything else.
    tokio::time::sleep(Duration::from_mins(1)).await;
    let found = world.proxmox.find(Whose::AnyOfOurs, range()).await.unwrap();
    assert_eq!(found.ours.iter().map(Seen::allocation).collect::<Vec<_>>(), [&piece.allocation]);
    world.remove(&piece).await.unwrap();
    world.unharmed(&piece, &[(&unknown, "VM 6000", "look before trying again")]).await;
}

#[tokio::test(start_paused = true)]
async fn f22_a_connection_that_is_gone_costs_a_read_nothing_and_a_change_a_look() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.fault(first_of(FaultId::F22, &[("GET", "/cluster/resources"), ("GET", "/feature"), ("POST", "/clone")]));
    world.proxmox.inventory().await.unwrap();
    let unknown = world.begin(&piece).await.unwrap_err();
    assert!(matches!(unknown, Error::UnknownOutcome { .. }), "{unknown}");
    assert!(matches!(world.look(&piece).await, Err(Error::NotFound { .. })), "in truth it did not happen");
    world.fault([FaultRule { times: Some(2), ..once(FaultId::F22) }]);
    let failed = world.look(&piece).await.unwrap_err();
    assert!(matches!(failed, Error::NodeUnreachable { .. }), "twice in a row is told: {failed}");
    world.fault(first_of(FaultId::F22, CHANGES));
    world.make(&piece).await.unwrap();
    world.remove(&piece).await.unwrap();
    assert_eq!(world.heard(), ["UnknownOutcome"].into());
    let told = [(&unknown, "VM 6000", "look before trying again"), (&failed, "VM 6000", "check that it is up")];
    world.unharmed(&piece, &told).await;
}

#[tokio::test(start_paused = true)]
async fn f23_the_end_of_a_task_that_nobody_knows_any_more_is_read_off_the_vm() {
    let profile = Profile { start: Duration::from_secs(20), ..Profile::ZERO };
    let world = World::over(Options { profile, ..options(Release::V9) }).await;
    let piece = Piece::at(6_000);
    // The record is rotated away after the work is done.
    let task = world.begin(&piece).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    world.fault([once(FaultId::F23)]);
    assert_eq!(world.proxmox.task(&task).await.unwrap(), TaskState::Lost);
    let lost = world.end(&task).await.unwrap_err();
    assert!(world.look(&piece).await.unwrap().facts().lock.is_none(), "the work was done");
    // The worker dies with its record, in the middle of a start.
    world.prepare(&piece).await.unwrap();
    let crash = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        world.fault([FaultRule { variant: Some("crash".into()), ..once(FaultId::F23) }]);
    };
    let (started, ()) = tokio::join!(world.started(&piece), crash);
    started.unwrap();
    assert_eq!(world.proxmox.power_state(&piece.vm).await.unwrap(), Power::Running);
    assert_eq!(world.heard(), ["UnknownOutcome"].into());
    world.remove(&piece).await.unwrap();
    world.unharmed(&piece, &[(&lost, "qmclone:9000", "look before trying again")]).await;
}
