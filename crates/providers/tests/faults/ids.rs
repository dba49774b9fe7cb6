//! Numbers that somebody else took, and VMs that nobody remembers.

use providers::hypervisor::{Error, Hypervisor, Mark, Object, Tag, Whose};
use reconcile::Class;
use sim::proxmox::{FaultId, Options, Release};

use crate::world::{BY_HAND, BY_HAND_ELSEWHERE, OTHER_OPERATORS, Piece, World, first_of, once, options, range, slow};

#[tokio::test(start_paused = true)]
async fn f01_an_id_that_is_taken_is_left_alone_and_another_one_works() {
    let world = World::over(Options { profile: slow(), ..options(Release::V9) }).await;
    // On our node the call itself is refused, elsewhere the task fails.
    let here = world.clone_once(&Piece::at(BY_HAND)).await.unwrap_err();
    let elsewhere = world.clone_once(&Piece::at(BY_HAND_ELSEWHERE)).await.unwrap_err();
    for (error, id) in [(&here, BY_HAND), (&elsewhere, BY_HAND_ELSEWHERE)] {
        assert!(
            matches!(error, Error::AlreadyExists { object: Object::Vm(taken), .. } if taken.get() == id),
            "{error}"
        );
        assert_eq!(error.class(), Class::Conflict);
    }
    // Two of our own want one number: one of them gets it.
    let early = Piece::at(6_000);
    let late = Piece { allocation: "claim-late".parse().unwrap(), ..early.clone() };
    let (first, second, won, lost) = match tokio::join!(world.clone_once(&early), world.clone_once(&late)) {
        (Ok(won), Err(lost)) => (early, late, won, lost),
        (Err(lost), Ok(won)) => (late, early, won, lost),
        both => panic!("one of them gets it, not {both:?}"),
    };
    assert!(matches!(lost, Error::LockTimeout { .. } | Error::AlreadyExists { .. }), "{lost}");
    let foreign = world.proxmox.look(&second.vm, second.whose()).await.unwrap_err();
    assert!(
        matches!(&foreign, Error::Foreign { mark: Mark::OtherAllocation(whose), .. } if *whose == first.allocation),
        "{foreign}"
    );
    let again = world.look(&first).await.unwrap();
    assert_eq!(won.facts().digest, again.facts().digest, "the loser did not touch the winner's VM");
    let other = Piece { allocation: second.allocation, ..Piece::at(6_001) };
    world.make(&other).await.unwrap();
    world.remove(&other).await.unwrap();
    world.remove(&first).await.unwrap();
    let told = [
        (&here, "VM 6099", "take another id"),
        (&elsewhere, "VM 6098", "take another id"),
        (&lost, "VM 6000", "try again"),
        (&foreign, "VM 6000", "left alone"),
    ];
    world.unharmed(&first, &told).await;
}

#[tokio::test(start_paused = true)]
async fn f24_a_task_that_runs_though_its_call_failed_is_adopted() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.fault([once(FaultId::F24)]);
    let unknown = world.begin(&piece).await.unwrap_err();
    assert!(matches!(unknown, Error::UnknownOutcome { .. }), "{unknown}");
    world.cloned(&piece).await.unwrap();
    assert_eq!(world.calls("/clone"), 2, "the other operator's clone, and one of ours: it was found, not made again");
    world.fault(first_of(FaultId::F24, crate::world::CHANGES));
    world.make(&piece).await.unwrap();
    let found = world.proxmox.find(piece.whose(), range()).await.unwrap();
    assert_eq!((found.ours.len(), found.undecided.len()), (1, 0));
    world.remove(&piece).await.unwrap();
    assert_eq!(world.heard(), ["UnknownOutcome"].into());
    world.unharmed(&piece, &[(&unknown, "VM 6000", "look before trying again")]).await;
}

#[tokio::test(start_paused = true)]
async fn f33_what_others_make_in_our_range_is_never_ours() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.make(&piece).await.unwrap();
    world.admin("POST", "/nodes/pve1/qemu/6000/clone", "newid=6050&full=1").await;
    let found = world.proxmox.find(Whose::AnyOfOurs, range()).await.unwrap();
    let ours: Vec<u32> = found.ours.iter().map(|seen| seen.vm().id.get()).collect();
    assert_eq!((ours.as_slice(), found.undecided.len()), ([6_000].as_slice(), 0));
    let look = async |vm: &Piece| world.proxmox.look(&vm.vm, Whose::AnyOfOurs).await.unwrap_err();
    let by_hand = look(&Piece::at(BY_HAND)).await;
    let theirs = look(&Piece::at(OTHER_OPERATORS)).await;
    let copy = look(&Piece::at(6_050)).await;
    // Whoever comes in between what we planned and what we do keeps what he made.
    world.fault([sim::proxmox::FaultRule { vmid: Some(6_001), ..once(FaultId::F33) }]);
    let taken = world.clone_once(&Piece::at(6_001)).await.unwrap_err();
    let refused = world.remove(&Piece::at(6_001)).await.unwrap_err();
    assert!(matches!(refused, Error::Foreign { mark: Mark::Unmarked, .. }), "{refused}");
    world.remove(&piece).await.unwrap();
    for id in [6_001, 6_050] {
        world.admin("DELETE", &format!("/nodes/pve1/qemu/{id}"), "").await;
    }
    let told = [
        (&by_hand, "VM 6099", "no ownership record; it is left alone"),
        (&theirs, "VM 6097", "belongs to operator theirs; it is left alone"),
        (&copy, "VM 6050", "a copy of VM 6000; it is left alone"),
        (&refused, "VM 6001", "left alone"),
        (&taken, "VM 6001", "take another id"),
    ];
    world.unharmed(&piece, &told).await;
}

/// Steps after which an operator may be killed.
const STEPS: usize = 5;

#[tokio::test(start_paused = true)]
async fn f36_an_operator_that_is_killed_after_any_step_finds_its_vm_by_its_mark() {
    let mut world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.fault(first_of(FaultId::F36, &[("POST", "/clone")]));
    let unknown = world.begin(&piece).await.unwrap_err();
    assert!(matches!(unknown, Error::UnknownOutcome { .. }), "{unknown}");
    for step in 0..STEPS {
        match step {
            0 => {}
            1 => drop(world.cloned(&piece).await.unwrap()),
            2 => world.stage(&piece).await.unwrap(),
            3 => world.prepare(&piece).await.unwrap(),
            _ => world.started(&piece).await.unwrap(),
        }
        world.restart();
        let found = world.proxmox.find(Whose::AnyOfOurs, range()).await.unwrap();
        assert_eq!((found.ours.len(), found.undecided.len()), (1, 0), "after step {step}");
        assert_eq!(found.ours[0].allocation(), &piece.allocation);
        assert_eq!(found.ours[0].facts().tags.contains(&Tag::ours()), step >= 3, "the mark is there before the tags");
    }
    // The answers to everything else get lost, too.
    world.remove(&piece).await.unwrap();
    world.fault(first_of(FaultId::F36, crate::world::CHANGES));
    world.make(&piece).await.unwrap();
    world.remove(&piece).await.unwrap();
    assert_eq!(world.heard(), ["UnknownOutcome"].into());
    world.unharmed(&piece, &[(&unknown, "VM 6000", "look before trying again")]).await;
}
