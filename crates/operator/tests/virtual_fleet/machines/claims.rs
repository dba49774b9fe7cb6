//! Claims from their creation to nothing left behind.

use std::time::Duration;

use agent::{Ending, Line};
use operator::bootstrap::{Peer, digest};
use proptest::prelude::*;
use serde_json::{Value, json};
use sim::proxmox::Simulator;
use sim::world::{Direction, World, across};

use crate::guests::Through;
use crate::yard::{CLAIMS, FOREIGN, Yard};

/// Everything that a machine could leave on a hypervisor, and what it must not touch there.
pub(crate) fn there(pve: &Simulator) -> Value {
    let state = pve.state();
    json!([state["vms"], state["volumes"], state["pools"], state["heldLocks"], state["runningTasks"]])
}

/// Names of the VMs that are not somebody else's; those that are being cloned have none yet.
pub(crate) fn ours(pve: &Simulator) -> Vec<Option<String>> {
    let ours = |(vmid, _): &(u32, Option<String>)| (6000..6100).contains(vmid) && *vmid != FOREIGN;
    pve.machines().into_iter().filter(ours).map(|(_, name)| name).collect()
}

/// Watches a claim until it is in that phase, or gone; the phases on the way.
pub(crate) async fn until(yard: &Yard, name: &str, phase: &str, seconds: u64) -> Vec<String> {
    let mut phases: Vec<String> = Vec::new();
    for _ in 0..seconds * 10 {
        let now = yard.phase(name).await;
        if phases.last() != Some(&now) {
            phases.push(now.clone());
        }
        if now == phase {
            break;
        }
        yard.world.pass(Duration::from_millis(100)).await;
    }
    phases
}

#[test]
fn r3_2_r3_3_r3_10_a_claim_runs_its_command_and_leaves_nothing_behind() {
    World::run(1, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        yard.claim("hello", &["sleep", "20"], |claim| claim["spec"]["captureOutput"] = json!(true)).await;
        let phases = until(&yard, "hello", "Succeeded", 120).await;
        let seen: Vec<&str> = phases.iter().map(String::as_str).filter(|phase| !phase.is_empty()).collect();
        assert!(
            ["Provisioning", "Bootstrapping", "Busy", "Terminating", "Succeeded"]
                .iter()
                .all(|phase| seen.contains(phase)),
            "{seen:?}"
        );
        let status = yard.claimed("hello").await["status"].clone();
        assert_eq!((&status["outcome"]["exitCode"], &status["outcome"]["output"]), (&json!(0), &json!("done\n")));
        assert_eq!(yard.guests.endings(), [(vm_of(&status), Ending::Finished(agent::Exit::Code(0)))]);
        assert_eq!(there(&pve), before);
        // An hour later nobody needs it any more.
        yard.pass(3_700).await;
        assert_eq!(yard.claimed("hello").await, Value::Null);
        assert_eq!(there(&pve), before);
    });
}

pub(crate) fn vm_of(status: &Value) -> u32 {
    status["allocation"]["vmId"].as_u64().unwrap().try_into().unwrap()
}

#[test]
fn a_failing_command_says_how_it_failed() {
    World::run(2, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        yard.claim("bad", &["exit", "3", "after", "1"], |_| {}).await;
        until(&yard, "bad", "Failed", 120).await;
        let claim = yard.claimed("bad").await;
        assert_eq!((&claim["status"]["phase"], &claim["status"]["outcome"]["exitCode"]), (&json!("Failed"), &json!(3)));
        assert_eq!(claim["status"]["outcome"]["output"], Value::Null, "output was not asked for");
        assert_eq!(there(&pve), before);
    });
}

/// Each transition is told once, on the claim.
#[test]
fn p18_events_tell_the_story_once() {
    World::run(3, async |world| {
        let (yard, _) = Yard::with_template(&world).await;
        yard.claim("hello", &["sleep", "5"], |_| {}).await;
        until(&yard, "hello", "Succeeded", 120).await;
        let told: Vec<(String, String)> = yard.events("hello").await;
        let told: Vec<String> = told.into_iter().map(|(kind, reason)| format!("{kind} {reason}")).collect();
        let story = ["Normal Cloning", "Normal Booting", "Normal AgentAttested", "Normal Busy", "Normal Finished"];
        for line in story {
            assert!(told.iter().any(|told| told == line), "{line} is missing in {told:?}");
        }
        assert!(told.iter().all(|line| line.starts_with("Normal")), "{told:?}");
    });
}

#[test]
fn r9_4_how_machines_come_about_and_what_is_used_are_metrics() {
    World::run(5, async |world| {
        let (yard, _pve) = Yard::with_template(&world).await;
        let (labels, page) = (r#"cluster="default/pve""#, |yard: &Yard| yard.metrics());
        let count = |page: &str, name: &str| {
            let line = page.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        };
        let memory = format!(r#"hyperfleet_cluster_resource{{{labels},resource="memory",kind="allocated"}}"#);
        let before = count(&page(&yard), &memory).unwrap();
        yard.claim("works", &["sleep", "60"], |_| {}).await;
        until(&yard, "works", "Busy", 60).await;
        // The next listing shows it.
        yard.pass(45).await;
        let now = page(&yard);
        assert_eq!(count(&now, &format!(r#"hyperfleet_vms{{{labels},phase="Busy"}}"#)), Some(1), "{now}");
        let ready = format!(r#"hyperfleet_vm_provisioning_total{{{labels},result="ready",reason="AgentAttested"}}"#);
        assert_eq!(count(&now, &ready), Some(1), "{now}");
        let durations =
            format!(r#"hyperfleet_vm_provisioning_duration_seconds_count{{{labels},template="default/small"}}"#);
        assert_eq!(count(&now, &durations), Some(1), "{now}");
        assert_eq!(count(&now, &memory).unwrap() - before, 4 << 30);
        yard.guests.without_agent();
        yard.claim("mute", &["sleep", "1"], |claim| {
            claim["spec"]["lifecycle"] = json!({ "bootstrapTimeout": "1m" });
        })
        .await;
        until(&yard, "mute", "Failed", 240).await;
        let now = page(&yard);
        let failed =
            format!(r#"hyperfleet_vm_provisioning_total{{{labels},result="failed",reason="BootstrapTimeout"}}"#);
        assert_eq!((count(&now, &failed), count(&now, &ready)), (Some(1), Some(1)), "{now}");
        // Nothing is counted that has no machine any more.
        let left = |line: &&str| line.starts_with("hyperfleet_vms{") && !line.ends_with(" 0");
        assert_eq!(now.lines().filter(left).collect::<Vec<_>>(), [""; 0]);
    });
}

/// A claim is deleted at some moment of its life: nothing stays, and nobody else's VM is touched.
#[test]
fn p7_r3_5_r8_6_a_claim_deleted_at_any_moment_leaves_nothing_behind() {
    let moments: Vec<u64> = (0..50).collect();
    across(&moments, |moment| {
        World::run(100 + moment, async |world| {
            let (yard, pve) = Yard::with_template(&world).await;
            let before = there(&pve);
            yard.claim("short", &["sleep", "20"], |_| {}).await;
            world.pass(Duration::from_millis(moment * 800)).await;
            yard.person.delete(&format!("{CLAIMS}/short")).await.unwrap();
            let mut seconds = 0;
            while yard.claimed("short").await != Value::Null && seconds < 300 {
                yard.pass(1).await;
                seconds += 1;
            }
            assert_eq!(yard.claimed("short").await, Value::Null, "moment {moment}");
            assert_eq!(there(&pve), before, "moment {moment}");
        });
    });
}

#[test]
fn a_machine_whose_agent_never_calls_fails_with_what_is_known() {
    World::run(4, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        yard.guests.without_agent();
        yard.claim("mute", &["sleep", "1"], |claim| {
            claim["spec"]["lifecycle"] = json!({ "bootstrapTimeout": "2m" });
        })
        .await;
        until(&yard, "mute", "Failed", 300).await;
        let (status, reason, message) = yard.claim_condition("mute", "Ready").await;
        assert_eq!((status.as_str(), reason.as_str()), ("False", "BootstrapTimeout"));
        assert!(message.contains("bootstrapTimeout") && message.contains("never reached us"), "{message}");
        assert_eq!(there(&pve), before);
    });
}

#[test]
fn r6_5_a_token_that_runs_out_ends_the_machine() {
    World::run(5, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        yard.guests.without_agent();
        yard.template("quick", |template| template["spec"]["attestation"] = json!({ "joinTokenTTL": "2m" })).await;
        yard.pass(5).await;
        let before = there(&pve);
        yard.claim("late", &["sleep", "1"], |claim| claim["spec"]["templateRef"]["name"] = json!("quick")).await;
        until(&yard, "late", "Failed", 400).await;
        assert_eq!(yard.claim_condition("late", "Ready").await.1, "CredentialExpired");
        assert_eq!(there(&pve), before);
    });
}

#[test]
fn limits_end_machines_that_outlive_them() {
    for (limits, argv, reason) in [
        (json!({ "maxLifetime": "1m" }), ["sleep", "600"], "LifetimeExceeded"),
        (json!({ "jobTimeout": "30s" }), ["sleep", "600"], "Finished"),
    ] {
        World::run(6, async |world| {
            let (yard, pve) = Yard::with_template(&world).await;
            let before = there(&pve);
            yard.claim("long", &argv, |claim| claim["spec"]["lifecycle"] = limits).await;
            until(&yard, "long", "Failed", 300).await;
            assert_eq!(yard.phase("long").await, "Failed");
            assert_eq!(yard.claim_condition("long", "Ready").await.1, reason);
            assert_eq!(there(&pve), before);
        });
    }
}

#[test]
fn somebody_else_with_the_same_token_shuts_both_out() {
    World::run(8, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        yard.claim("robbed", &["sleep", "1000"], |_| {}).await;
        until(&yard, "robbed", "Busy", 120).await;
        let seed = yard.guests.seeds().pop().unwrap();
        let peer = Peer { address: [10, 9, 9, 9].into(), key: Some(digest(b"a thief's key")) };
        let thief = Through { guests: yard.guests.clone(), peer };
        let body = serde_json::to_vec(&protocol::Start {
            token: seed.token.clone(),
            machine: seed.machine.clone(),
            agent: "0".to_owned(),
        })
        .unwrap();
        let answer = thief.post(&protocol::path::start(&seed.id), body).await.unwrap();
        assert_eq!(answer.status, 403);
        until(&yard, "robbed", "Failed", 120).await;
        assert_eq!(yard.claim_condition("robbed", "Ready").await.1, "AttestationFailed");
        assert_eq!(there(&pve), before);
    });
}

#[test]
fn p1_r1_3_nothing_is_made_while_the_hypervisor_does_not_answer() {
    World::run(9, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        world.partition("operator", "pve", Direction::Both);
        yard.pass(120).await;
        yard.claim("waits", &["sleep", "1"], |_| {}).await;
        yard.pass(60).await;
        let (_, reason, message) = yard.claim_condition("waits", "Provisioning").await;
        assert_eq!(reason, "ClusterNotReady", "{message}");
        assert_eq!((yard.phase("waits").await.as_str(), pve.calls(&["/clone"], &[])), ("Pending", 0));
        world.heal("operator", "pve");
        let phases = until(&yard, "waits", "Succeeded", 600).await;
        assert_eq!(phases.last().map(String::as_str), Some("Succeeded"), "{phases:?}");
    });
}

#[test]
fn a_vm_that_somebody_tampered_with_is_left_to_people() {
    World::run(10, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        yard.claim("odd", &["sleep", "100000"], |_| {}).await;
        until(&yard, "odd", "Busy", 120).await;
        let vm = vm_of(&yard.claimed("odd").await["status"]);
        pve.describe(vm, "mine now");
        yard.person.delete(&format!("{CLAIMS}/odd")).await.unwrap();
        yard.pass(120).await;
        let (_, reason, message) = yard.claim_condition("odd", "VMCleanedUp").await;
        assert_eq!(reason, "OwnershipConflict");
        assert!(message.contains(&format!("hyperfleet.io/abandon={vm}")), "{message}");
        assert_eq!(ours(&pve).len(), 1, "it is still there");
        let note = json!({ "metadata": { "annotations": { "hyperfleet.io/abandon": vm.to_string() } } });
        yard.person.merge(&format!("{CLAIMS}/odd"), &note).await.unwrap();
        yard.pass(60).await;
        assert_eq!(yard.claimed("odd").await, Value::Null);
        assert_eq!(ours(&pve).len(), 1, "nobody touched it");
        assert!(yard.events("odd").await.iter().any(|(kind, reason)| kind == "Warning" && reason == "Abandoned"));
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    /// Many claims at once, some of them deleted on the way: one VM each, ever, and none at the end.
    #[test]
    fn p6_each_claim_has_one_vm_and_none_stays(seed in 0_u64..1_000_000, count in 3_usize..14) {
        World::run(seed, async |world| {
            let (yard, pve) = Yard::with_template(&world).await;
            let before = there(&pve);
            for number in 0..count {
                let seconds = (number * 7 % 30).to_string();
                yard.claim(&format!("c{number}"), &["sleep", &seconds], |claim| {
                    claim["spec"]["lifecycle"] = json!({ "ttl": "0s" });
                }).await;
            }
            let mut dice = world.dice("deletes");
            for _ in 0..240 {
                yard.pass(1).await;
                let names: Vec<String> = ours(&pve).into_iter().flatten().collect();
                let mut each = names.clone();
                each.sort();
                each.dedup();
                assert_eq!(names.len(), each.len(), "two VMs of one claim: {names:?}");
                if dice.chance(0.05) {
                    let name = format!("c{}", dice.below(count));
                    let _ = yard.person.delete(&format!("{CLAIMS}/{name}")).await;
                }
            }
            let left = yard.person.get(CLAIMS).await.unwrap();
            assert_eq!(left["items"], json!([]));
            assert_eq!(there(&pve), before);
        });
    }
}

/// Clones of a hypervisor that needs no time for them.
#[test]
fn in_a_burst_no_place_at_a_storage_stays_empty() {
    World::run(41, async |world| {
        let (yard, pve) = Yard::with_cluster(&world).await;
        yard.template("small", |template| template["spec"]["resources"]["memory"] = json!("512Mi")).await;
        yard.pass(5).await;
        for number in 0..80 {
            yard.claim(&format!("burst-{number}"), &["sleep", "600"], |_| {}).await;
        }
        yard.pass(30).await;
        let clones = pve.clones();
        assert_eq!(clones.len(), 80);
        // Four at a time, of which each takes a call to begin and one to see that it has ended, of 2 to 3 ms each.
        let took = clones[79].1.duration_since(clones[0].1);
        assert!(took < Duration::from_millis(350), "{took:?}");
    });
}
