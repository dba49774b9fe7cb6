//! Rights and credentials that are missing, and tags that others rule over.

use std::time::Duration;

use providers::hypervisor::proxmox::Credentials;
use providers::hypervisor::{Error, Hypervisor, Shape, Tag};
use reconcile::Class;
use sim::proxmox::{FaultId, FaultRule, Options, Release};
use tokio::time::Instant;

use crate::world::{Piece, World, always, once, options, slow};

#[tokio::test(start_paused = true)]
async fn f26_without_its_tags_a_vm_is_ours_all_the_same() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.make(&piece).await.unwrap();
    world.fault([FaultRule { vmid: Some(6_000), ..once(FaultId::F26) }]);
    let seen = world.look(&piece).await.unwrap();
    assert!(!seen.facts().tags.contains(&Tag::ours()), "somebody took our tag off, not our record");
    let tagged = Shape { tags: [Tag::ours()].into(), ..Shape::default() };
    let tag = async |seen: &_| world.proxmox.configure(seen, &tagged).await.map(|()| None);
    world.change(&piece, tag).await.unwrap();
    let tags = world.look(&piece).await.unwrap().facts().tags.clone();
    assert!(tags.contains(&Tag::ours()) && tags.contains(&Tag::parse("somebody-else").unwrap()), "{tags:?}");
    world.remove(&piece).await.unwrap();

    // A policy keeps the tag from us: the rest works without it.
    world.fault([FaultRule { variant: Some("hyperfleet".into()), ..always(FaultId::F26) }]);
    let denied = world.make(&piece).await.unwrap_err();
    assert!(matches!(denied, Error::PermissionDenied { .. }) && denied.class() == Class::Refused, "{denied}");
    let untagged = Shape { tags: [].into(), ..world.shape(&piece) };
    let configure = async |seen: &_| world.proxmox.configure(seen, &untagged).await.map(|()| None);
    world.change(&piece, configure).await.unwrap();
    world.started(&piece).await.unwrap();
    world.remove(&piece).await.unwrap();
    world.calm();
    world.unharmed(&piece, &[(&denied, "VM 6000", "Sys.Modify for modifying tag 'hyperfleet'")]).await;
}

#[tokio::test(start_paused = true)]
async fn f27_revoked_credentials_are_told_once_and_replaced_without_a_restart() {
    let world = World::new(Release::V9).await;
    let piece = Piece::at(6_000);
    world.make(&piece).await.unwrap();
    world.fault([always(FaultId::F27)]);
    let (began, before) = (Instant::now(), world.calls("/"));
    let refused = world.remove(&piece).await.unwrap_err();
    assert!(matches!(refused, Error::Auth { .. }) && refused.class() == Class::Refused, "{refused}");
    assert_eq!((began.elapsed().as_secs(), world.calls("/") - before), (3, 1), "each refusal costs three seconds");
    let password = Credentials::Password { user: "op@pve".to_owned(), password: "golden".into() };
    world.proxmox.rotate(password).await;
    assert_eq!(world.proxmox.health().await.unwrap().identity, "op@pve");
    world.remove(&piece).await.unwrap();
    world.unharmed(&piece, &[(&refused, "the hypervisor", "right, enabled and not expired")]).await;
}

#[tokio::test(start_paused = true)]
async fn f28_a_refusal_for_want_of_rights_is_no_proof_that_a_vm_is_gone() {
    let world = World::over(Options { profile: slow(), ..options(Release::V9) }).await.with_pool_rights_only();
    let piece = Piece::at(6_000);
    let task = world.begin(&piece).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let early = world.look(&piece).await.unwrap_err();
    assert!(matches!(early, Error::PermissionDenied { .. }), "its pool does not have it yet: {early}");
    world.end(&task).await.unwrap();
    world.make(&piece).await.unwrap();
    world.fault([once(FaultId::F28)]);
    let lost = world.look(&piece).await.unwrap_err();
    assert!(matches!(lost, Error::PermissionDenied { .. }), "{lost}");
    world.remove(&piece).await.unwrap();
    let gone = world.look(&piece).await.unwrap_err();
    assert!(matches!(gone, Error::NotFound { .. }), "the same refusal, but now it is certain: {gone}");
    let told = [
        (&early, "VM 6000", "needs VM.Audit on /vms/6000); grant it and try again"),
        (&lost, "VM 6000", "needs VM.Audit on /vms/6000); grant it and try again"),
        (&gone, "VM 6000", "does not exist"),
    ];
    world.unharmed(&piece, &told).await;
}
