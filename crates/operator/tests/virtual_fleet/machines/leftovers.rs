//! What clones leave behind that fail, and what was there before them.

use std::time::Duration;

use serde_json::{Value, json};
use sim::proxmox::{FaultId, FaultRule, Simulator};
use sim::world::World;

use super::claims::{ours, there, until};
use crate::yard::{CLAIMS, CLUSTERS, FOREIGN, TEMPLATES, Yard};

/// Waits for that, looking as often as that, but not for ever.
async fn wait(world: &World, what: &str, step: Duration, mut holds: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if holds() {
            return;
        }
        world.pass(step).await;
    }
    panic!("waited in vain for {what}");
}

/// How many disks there are that belong to a VM, or did.
fn disks(pve: &Simulator) -> usize {
    let state = pve.state();
    state["volumes"].as_array().unwrap().iter().filter(|volume| volume.to_string().contains("vm-6")).count()
}

/// Whether somebody has the lock of a storage. The first of a clone's disks is made under the first such lock: looked for often
/// enough, it is that one.
pub(super) fn works_at(pve: &Simulator, storage: &str) -> bool {
    pve.state()["heldLocks"].to_string().contains(&format!("storage {storage}"))
}

/// Nobody gets the lock of a storage for so long, on any node.
pub(super) fn hold(pve: &Simulator, storage: &str, seconds: f64) {
    let held = |node: &str| FaultRule {
        node: Some(node.to_owned()),
        storage: Some(storage.to_owned()),
        seconds: Some(seconds),
        ..FaultRule::new(FaultId::F02)
    };
    pve.set_faults(["pve1", "pve2"].map(held).to_vec());
}

fn failed(pve: &Simulator) -> usize {
    pve.search("clone failed: ").len()
}

/// Lets the next clone fail when it has made a disk, so that Proxmox cannot take it back: somebody else gets the lock between
/// the first and the second.
async fn fail(world: &World, pve: &Simulator, storage: &str) {
    let (disks_before, failed_before) = (disks(pve), failed(pve));
    wait(world, "a clone that makes a disk", Duration::from_millis(1), || works_at(pve, storage)).await;
    hold(pve, storage, 40.0);
    wait(world, "a clone that fails", Duration::from_millis(100), || failed(pve) > failed_before).await;
    assert!(ours(pve).is_empty() && disks(pve) > disks_before, "the VM is gone, and its disk is not");
}

/// A machine whose first clone fails and leaves a volume on that storage; of an operator that dies in that moment.
fn a_clone_fails(storage: &'static str, template: &Value, dies: bool) {
    let template = template.clone();
    World::run(10_094, async move |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        yard.person.merge(&format!("{TEMPLATES}/small"), &json!({ "spec": template })).await.unwrap();
        yard.pass(5).await;
        let before = there(&pve);
        yard.claim("one", &["sleep", "20"], |_| {}).await;
        fail(&world, &pve, storage).await;
        if dies {
            world.crash("operator");
            world.pass(Duration::from_secs(20)).await;
            world.restart("operator");
        }
        until(&yard, "one", "Succeeded", 900).await;
        assert_eq!((yard.phase("one").await.as_str(), there(&pve)), ("Succeeded", before));
    });
}

/// Found by day 10094 of the thousand: the storage's lock was held while a clone failed, so that Proxmox could not remove
/// what the clone had made by then, and another number was taken.
#[test]
fn what_a_clone_that_failed_could_not_take_back_is_removed_before_another_one() {
    a_clone_fails("disks", &json!({}), false);
}

/// It is made where its template says, and that is where it is looked for, also by who comes after a crash.
#[test]
fn what_a_whole_copy_left_on_a_storage_of_its_own_is_removed_before_another_one() {
    let copied = json!({ "storage": "shared", "template": { "proxmox": { "linkedClone": false } } });
    for dies in [false, true] {
        a_clone_fails("shared", &copied, dies);
    }
}

/// F-13: what was there before us is not ours, and the way around it is another number.
#[test]
fn a_volume_that_is_in_the_way_of_the_first_clone_is_left_alone_and_another_number_is_taken() {
    World::run(13, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        let rule =
            |vmid| FaultRule { vmid: Some(vmid), storage: Some("disks".to_owned()), ..FaultRule::new(FaultId::F13) };
        pve.set_faults((6_000..6_099).filter(|vmid| *vmid % 10 != 1 && *vmid != FOREIGN).map(rule).collect());
        yard.pass(1).await;
        let before = there(&pve);
        yard.claim("one", &["sleep", "20"], |_| {}).await;
        until(&yard, "one", "Succeeded", 1_200).await;
        assert_eq!((yard.phase("one").await.as_str(), there(&pve)), ("Succeeded", before));
        assert!(!pve.search("already exists").is_empty(), "a number was tried that has a volume");
    });
}

/// Without the right to remove volumes three claims that wait for a person kept all places of their storage.
#[test]
fn claims_that_may_not_remove_what_is_left_hold_nobody_up() {
    World::run(21, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        let without = json!({ "spec": { "proxmox": { "seed": "smbios", "isoStorage": null } } });
        yard.person.merge(&format!("{CLUSTERS}/pve"), &without).await.unwrap();
        yard.pass(60).await;
        assert!(pve.revoke("Datastore.Allocate"));
        for name in ["one", "two", "three"] {
            yard.claim(name, &["sleep", "20"], |_| {}).await;
            fail(&world, &pve, "disks").await;
            yard.pass(660).await;
            let (_, _, said) = yard.claim_condition(name, "VMCleanedUp").await;
            assert!(said.contains("vm-6") && said.contains("Datastore.Allocate"), "{name}: {said}");
        }
        yard.claim("four", &["sleep", "20"], |_| {}).await;
        until(&yard, "four", "Succeeded", 120).await;
        assert_eq!(yard.phase("four").await, "Succeeded", "{:?}", yard.claimed("four").await);
    });
}

/// Each of them kept a place until its pause was over, and for ever if it was deleted meanwhile.
#[test]
fn claims_whose_clone_failed_hold_nobody_up_while_they_pause_and_after() {
    World::run(23, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        let slow = json!({ "spec": { "backoff": { "initial": "10m", "max": "10m", "maxAttempts": 5 } } });
        yard.person.merge(&format!("{TEMPLATES}/small"), &slow).await.unwrap();
        hold(&pve, "disks", 30.0);
        for name in ["one", "two", "three"] {
            yard.claim(name, &["sleep", "20"], |_| {}).await;
        }
        wait(&world, "three clones that fail", Duration::from_millis(100), || failed(&pve) == 3).await;
        yard.pass(40).await;
        for name in ["one", "two"] {
            yard.person.delete(&format!("{CLAIMS}/{name}")).await.unwrap();
        }
        yard.pass(10).await;
        yard.claim("four", &["sleep", "20"], |_| {}).await;
        until(&yard, "four", "Succeeded", 120).await;
        assert_eq!(yard.phase("four").await, "Succeeded", "{:?}", yard.claimed("four").await);
        assert_eq!(yard.phase("three").await, "Pending");
    });
}

/// Machines that share their image's disks need no default storage, and must not wait for one after a clone that failed.
#[test]
fn a_clone_that_failed_asks_no_storage_that_it_has_nothing_on() {
    World::run(22, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        yard.person.merge(&format!("{CLUSTERS}/pve"), &json!({ "spec": { "defaultStorage": "tank" } })).await.unwrap();
        assert!(pve.switch_storage("tank", false));
        yard.pass(90).await;
        let before = there(&pve);
        hold(&pve, "disks", 30.0);
        yard.claim("one", &["sleep", "20"], |_| {}).await;
        yard.claim("two", &["sleep", "20"], |_| {}).await;
        wait(&world, "a clone that fails", Duration::from_millis(100), || failed(&pve) > 0).await;
        yard.person.delete(&format!("{CLAIMS}/two")).await.unwrap();
        until(&yard, "one", "Succeeded", 300).await;
        assert_eq!((yard.phase("one").await.as_str(), yard.claimed("two").await), ("Succeeded", Value::Null));
        assert_eq!(there(&pve), before);
    });
}
