//! Machines that nobody remembers: they go, unless there are too many of them, and nobody else's ever does.

use std::collections::BTreeSet;
use std::time::Duration;

use providers::hypervisor::Keyring;
use serde_json::{Value, json};
use sim::proxmox::Simulator;
use sim::world::{Deed, Direction, Scenario, World, across, crash_everywhere, seeds};

use super::claims::{ours, there, until};
use crate::promises::promises;
use crate::yard::{CLAIMS, CLUSTERS, FOREIGN, Yard};

/// Claims that work for a long time, each with its machine.
async fn working(yard: &Yard, names: &[&str]) {
    for name in names {
        yard.claim(name, &["sleep", "1000000"], |_| {}).await;
    }
    for name in names {
        let phases = until(yard, name, "Busy", 300).await;
        assert_eq!(phases.last().map(String::as_str), Some("Busy"), "{name}: {}", yard.claimed(name).await);
    }
    // Until their seeds are taken away.
    yard.pass(60).await;
}

/// A person takes a claim away without waiting for anybody; the claim as it was.
async fn lose(yard: &Yard, name: &str) -> Value {
    let (path, claim) = (format!("{CLAIMS}/{name}"), yard.claimed(name).await);
    yard.person.delete(&path).await.unwrap();
    yard.person.merge(&path, &json!({ "metadata": { "finalizers": null } })).await.unwrap();
    assert_eq!(yard.claimed(name).await, Value::Null);
    claim
}

/// A person brings a claim back from a backup: another uid, the same status.
async fn restore(yard: &Yard, claim: &Value) {
    let name = claim["metadata"]["name"].as_str().unwrap();
    let mut object = claim.clone();
    object["metadata"] = json!({ "name": name, "finalizers": claim["metadata"]["finalizers"] });
    yard.person.create(CLAIMS, &object).await.unwrap();
    yard.person.merge(&format!("{CLAIMS}/{name}/status"), &json!({ "status": claim["status"] })).await.unwrap();
    let back = yard.claimed(name).await;
    assert_eq!(back["status"]["allocation"], claim["status"]["allocation"]);
    assert_ne!(back["metadata"]["uid"], claim["metadata"]["uid"]);
}

fn vm_of(claim: &Value) -> u32 {
    claim["status"]["allocation"]["vmId"].as_u64().unwrap().try_into().unwrap()
}

fn numbers(pve: &Simulator) -> BTreeSet<u64> {
    let ours = |vmid: &u32| (6000..6100).contains(vmid) && *vmid != FOREIGN;
    pve.machines().into_iter().map(|(vmid, _)| vmid).filter(ours).map(u64::from).collect()
}

async fn annotate(yard: &Yard, value: Value) {
    let note = json!({ "metadata": { "annotations": { "hyperfleet.io/confirm-orphans": value } } });
    yard.person.merge(&format!("{CLUSTERS}/pve"), &note).await.unwrap();
}

/// How many of the events about the cluster have this reason.
async fn told(yard: &Yard, kind: &str, reason: &str) -> usize {
    yard.events("pve").await.iter().filter(|event| **event == (kind.to_owned(), reason.to_owned())).count()
}

#[test]
fn r3_9_an_orphan_is_removed_without_a_trace_and_reported() {
    across(&seeds(1, 6), |seed| {
        World::run(seed, async |world: World| {
            let (yard, pve) = Yard::with_template(&world).await;
            working(&yard, &["stays"]).await;
            let before = there(&pve);
            working(&yard, &["lost"]).await;
            world.crash("operator");
            let lost = lose(&yard, "lost").await;
            yard.pass(5).await;
            world.restart("operator");
            yard.pass(5 * 60).await;
            assert!(numbers(&pve).contains(&vm_of(&lost).into()), "not before the grace is over");
            yard.pass(3 * 60).await;
            assert_eq!(there(&pve), before, "{}", world.text());
            assert_eq!(told(&yard, "Normal", "OrphanRemoved").await, 1);
            assert_eq!(yard.phase("stays").await, "Busy");
            let page = yard.metrics();
            assert!(page.contains(r#"hyperfleet_orphans_total{cluster="default/pve",action="removed"} 1"#), "{page}");
        });
    });
}

#[test]
fn an_orphan_goes_in_time_although_the_clock_was_set_back() {
    World::run(5, async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        working(&yard, &["stays", "lost"]).await;
        world.crash("operator");
        let lost = lose(&yard, "lost").await;
        world.restart("operator");
        yard.pass(2 * 60).await;
        world.turn_clock("operator", jiff::SignedDuration::from_hours(-30));
        yard.pass(6 * 60).await;
        assert!(!numbers(&pve).contains(&vm_of(&lost).into()), "{}", world.text());
        assert_eq!(yard.phase("stays").await, "Busy");
    });
}

/// A clone call can be on its way for long; what it makes is nobody's, although the claim is kept to be read.
#[test]
fn a_machine_that_comes_back_after_its_claim_has_ended_is_an_orphan() {
    World::run(4, async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        yard.claim("done", &["sleep", "20"], |_| {}).await;
        until(&yard, "done", "Busy", 60).await;
        let vm = vm_of(&yard.claimed("done").await);
        let description = pve.setting(vm, "description").unwrap();
        until(&yard, "done", "Succeeded", 300).await;
        pve.crowd([vm], "pve1");
        assert!(pve.describe(vm, &description) && numbers(&pve).contains(&vm.into()));
        yard.pass(9 * 60).await;
        assert!(!numbers(&pve).contains(&vm.into()), "{}", world.text());
        assert_eq!(yard.phase("done").await, "Succeeded");
    });
}

/// Everything that only looks like ours, with the marks that a hurried reader would believe.
#[test]
fn p26_r6_7_r8_8_other_peoples_machines_are_never_touched() {
    World::run(2, async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        working(&yard, &["stays", "original"]).await;
        let original = vm_of(&yard.claimed("original").await);
        assert!(pve.copy(original, 6091), "a person's clone of ours");
        pve.crowd([6092, 6093, 6094, 6095], "pve1");
        let key = |text: &str| text.as_bytes().repeat(4).into();
        let other = Keyring::new("somebody".parse().unwrap(), "pve-1".parse().unwrap(), key("12345678"));
        let allocation = "11111111-2222-4333-8444-555555555555".parse().unwrap();
        pve.describe(6092, &other.describe(6092.try_into().unwrap(), &allocation, "another operator's"));
        // The name of ours with a key that is not.
        let secret = yard.person.get("/api/v1/namespaces/default/secrets/hyperfleet-ownership").await.unwrap();
        let secret: k8s_openapi::api::core::v1::Secret = serde_json::from_value(secret).unwrap();
        let operator = String::from_utf8(secret.data.unwrap()["operator-id"].0.clone()).unwrap();
        let forger = Keyring::new(operator.parse().unwrap(), "pve-1".parse().unwrap(), key("87654321"));
        pve.describe(6093, &forger.describe(6093.try_into().unwrap(), &allocation, "forged"));
        pve.describe(6094, "hyperfleet-owner: v1 operator= cluster= allocation= vmid=6094 signature=");
        let before = there(&pve);
        let began = world.age();
        yard.pass(30 * 60).await;
        assert_eq!(there(&pve), before, "{}", world.text());
        for number in [6091, 6092, 6093, 6094, 6095, FOREIGN] {
            let touched = world.history().calls.iter().any(|call| {
                call.begun >= began
                    && call.deed.verb.writes()
                    && call.to == "pve"
                    && call.target.contains(&number.to_string())
            });
            assert!(!touched, "VM {number} was touched");
        }
        // The original goes, so that its copy is all that is left of it.
        yard.person.delete(&format!("{CLAIMS}/original")).await.unwrap();
        yard.pass(30 * 60).await;
        assert!(!numbers(&pve).contains(&original.into()));
        assert!(numbers(&pve).is_superset(&(6091..6096).collect()), "{:?}", numbers(&pve));
        assert_eq!(told(&yard, "Normal", "OrphanRemoved").await, 0);
    });
}

const MANY: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

#[test]
fn a_storm_stops_everything_until_a_person_says_how_many_there_are() {
    World::run(3, async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        working(&yard, &["stays"]).await;
        let before = there(&pve);
        working(&yard, &MANY).await;
        world.crash("operator");
        for name in MANY {
            lose(&yard, name).await;
        }
        world.restart("operator");
        yard.pass(30 * 60).await;
        assert_eq!(ours(&pve).len(), 7, "none is removed");
        let (status, reason, message) = yard.condition("pve", "OrphanStorm").await;
        assert_eq!((status.as_str(), reason.as_str()), ("True", "OrphanStorm"));
        assert!(message.starts_with("6 of 7 machines") && message.contains("confirm-orphans: \"6\""), "{message}");
        assert_eq!(yard.ready("pve").await.0, "True", "new machines can be made all the same");
        assert_eq!(told(&yard, "Warning", "OrphanStorm").await, 1);
        assert!(yard.metrics().contains(r#"hyperfleet_orphans_total{cluster="default/pve",action="storm"} 1"#));
        annotate(&yard, json!("5")).await;
        yard.pass(5 * 60).await;
        assert_eq!(ours(&pve).len(), 7, "that is another number");
        annotate(&yard, json!("6")).await;
        yard.pass(3 * 60).await;
        assert_eq!(there(&pve), before, "{}", world.text());
        assert_eq!(yard.condition("pve", "OrphanStorm").await.0, "");
        assert_eq!(told(&yard, "Normal", "OrphanRemoved").await, 6);
    });
}

/// A process that starts in the middle of a storm does not forget it for a moment.
#[test]
fn a_storm_outlives_the_process_that_saw_it() {
    World::run(4, async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        working(&yard, &MANY).await;
        world.crash("operator");
        for name in &MANY[..5] {
            lose(&yard, name).await;
        }
        world.restart("operator");
        yard.pass(10 * 60).await;
        assert_eq!(yard.condition("pve", "OrphanStorm").await.0, "True");
        world.crash("operator");
        world.restart("operator");
        for _ in 0..60 {
            yard.pass(10).await;
            assert_eq!(yard.condition("pve", "OrphanStorm").await.0, "True");
        }
        assert_eq!(told(&yard, "Warning", "OrphanStorm").await, 1);
        assert_eq!(ours(&pve).len(), 6);
    });
}

/// Every claim is gone, as in a restore that has just begun: with few machines it is no storm by their number.
#[test]
fn an_empty_list_of_claims_removes_nothing() {
    for count in [2, 6] {
        World::run(5, async |world: World| {
            let (yard, pve) = Yard::with_template(&world).await;
            let names = &MANY[..count];
            working(&yard, names).await;
            let before = numbers(&pve);
            world.crash("operator");
            let mut backup = Vec::new();
            for name in names {
                backup.push(lose(&yard, name).await);
            }
            world.restart("operator");
            yard.pass(20 * 60).await;
            assert_eq!(numbers(&pve), before, "nothing is removed");
            let (status, _, message) = yard.condition("pve", "OrphanStorm").await;
            assert_eq!(status, "True");
            assert!(message.contains("there is no MachineClaim at all"), "{message}");
            // The restore takes its time; the one claim that comes first makes no orphans of the others.
            world.crash("operator");
            restore(&yard, &backup[0]).await;
            world.restart("operator");
            yard.pass(4 * 60).await;
            let others: BTreeSet<u64> = backup[1..].iter().map(|claim| vm_of(claim).into()).collect();
            assert!(numbers(&pve).is_superset(&others), "{:?}", numbers(&pve));
            world.crash("operator");
            for claim in &backup[1..] {
                restore(&yard, claim).await;
            }
            world.restart("operator");
            yard.pass(30 * 60).await;
            assert_eq!(yard.condition("pve", "OrphanStorm").await.0, "");
            assert_eq!(told(&yard, "Normal", "OrphanRemoved").await, 0, "{}", world.text());
        });
    }
}

/// Records are bound to the allocation, not to the claim's uid, which a restore changes.
#[test]
fn a_restored_claim_keeps_its_machine() {
    World::run(9, async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        working(&yard, &["one", "two"]).await;
        let before = numbers(&pve);
        world.crash("operator");
        for name in ["one", "two"] {
            let claim = lose(&yard, name).await;
            restore(&yard, &claim).await;
        }
        world.restart("operator");
        yard.pass(30 * 60).await;
        assert_eq!(numbers(&pve), before, "{}", world.text());
        assert_eq!((yard.phase("one").await.as_str(), yard.phase("two").await.as_str()), ("Busy", "Busy"));
        assert_eq!(yard.condition("pve", "OrphanStorm").await.0, "");
    });
}

/// Our own types cannot hold the claim, so that its machine looks orphaned; the API server, asked itself, knows better.
#[test]
fn a_claim_that_only_a_newer_version_can_read_keeps_its_machine() {
    World::run(10, async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        working(&yard, &["stays", "newer"]).await;
        let before = numbers(&pve);
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/machineclaims.hypervisor.hyperfleet.io";
        let mut crd = yard.person.get(path).await.unwrap();
        let step = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/step";
        crd.pointer_mut(step).unwrap().as_object_mut().unwrap().remove("enum").unwrap();
        yard.person.replace(path, &crd).await.unwrap();
        world.crash("operator");
        let word = json!({ "status": { "step": "hibernating" } });
        yard.person.merge(&format!("{CLAIMS}/newer/status"), &word).await.unwrap();
        world.restart("operator");
        yard.pass(30 * 60).await;
        assert_eq!(numbers(&pve), before, "{}", world.text());
        assert!(yard.metrics().contains(r#"hyperfleet_orphans_total{cluster="default/pve",action="failed"}"#));
        assert_eq!(told(&yard, "Normal", "OrphanRemoved").await, 0);
    });
}

/// Who cannot reach the API server does not lead, and who begins to lead begins from the start.
#[test]
fn nothing_goes_while_the_api_server_is_away() {
    World::run(6, async |world: World| {
        let (yard, _pve) = Yard::with_template(&world).await;
        working(&yard, &["stays", "lost"]).await;
        world.crash("operator");
        let lost = lose(&yard, "lost").await;
        world.restart("operator");
        yard.pass(4 * 60).await;
        // It comes back unseen.
        world.partition("operator", "kube", Direction::Both);
        restore(&yard, &lost).await;
        yard.pass(20 * 60).await;
        world.heal("operator", "kube");
        yard.pass(20 * 60).await;
        assert_eq!(told(&yard, "Normal", "OrphanRemoved").await, 0, "{}", world.text());
    });
}

/// What can go before the VM does: it is all that a process after a crash finds.
#[test]
fn a_removal_survives_a_crash_at_every_write() {
    let removes = |deed: &Deed| {
        let resource = deed.object.resource.as_str();
        resource.starts_with("DELETE ") || resource.ends_with("/status/stop")
    };
    let story = async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        working(&yard, &["stays"]).await;
        let before = there(&pve);
        yard.guests.without_agent();
        yard.claim("lost", &["sleep", "1000"], |_| {}).await;
        until(&yard, "lost", "Bootstrapping", 300).await;
        world.partition("operator", "kube", Direction::Both);
        lose(&yard, "lost").await;
        yard.pass(60).await;
        world.heal("operator", "kube");
        yard.pass(30 * 60).await;
        assert_eq!(there(&pve), before, "{}", world.text());
    };
    let invariants = promises();
    let scenario = Scenario { story, invariants: &invariants, counts: removes, down: Duration::from_secs(20) };
    let report = crash_everywhere(1, &scenario);
    println!("lane: crash at every write of an orphan's removal: {} writes", report.writes);
    assert!(report.failures.is_empty(), "{report}");
    assert!(report.writes >= 3, "stop, seed and VM: {}", report.writes);
}

#[test]
fn a_removal_that_fails_is_tried_again() {
    World::run(7, async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        working(&yard, &["stays"]).await;
        let before = there(&pve);
        working(&yard, &["lost"]).await;
        world.crash("operator");
        let lost = vm_of(&lose(&yard, "lost").await);
        world.restart("operator");
        assert!(pve.lock(lost, Some("backup")));
        yard.pass(12 * 60).await;
        assert!(numbers(&pve).contains(&lost.into()));
        assert!(yard.metrics().contains(r#"hyperfleet_orphans_total{cluster="default/pve",action="failed"}"#));
        assert!(pve.lock(lost, None));
        yard.pass(15 * 60).await;
        assert_eq!(there(&pve), before, "{}", world.text());
    });
}

#[test]
fn twenty_other_machines_in_our_range_cost_next_to_nothing() {
    World::run(8, async |world: World| {
        let (yard, pve) = Yard::with_cluster(&world).await;
        yard.template("small", |_| {}).await;
        pve.crowd(6010..6030, "pve1");
        yard.pass(15 * 60).await;
        let calls = pve.calls(&[""], &[]);
        let minutes = 180;
        yard.pass(minutes * 60).await;
        let calls = u32::try_from(pve.calls(&[""], &[]) - calls).unwrap();
        let per_minute = f64::from(calls) / f64::from(u32::try_from(minutes).unwrap());
        assert!(per_minute <= 3.0, "{per_minute} calls a minute");
        assert!(pve.calls(&["/qemu/6020/config"], &[]) > 0, "it was looked at");
    });
}
