//! Claims in bad times: lost and doubled requests, stale views, dead and paused replicas, clocks that jump, a hypervisor that
//! fails. Afterwards every claim has ended, and nothing is left.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use sim::world::{Storm, Weather, World, across, seeds};

use super::claims::{ours, there, until};
use crate::mishaps::mishaps;
use crate::yard::{CLAIMS, CLUSTERS, Yard};

/// One bad evening for two replicas and their claims; the phases in which the claims ended.
fn evening(seed: u64, claims: usize) -> BTreeMap<String, usize> {
    World::run(seed, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        yard.with_replica();
        yard.pass(20).await;
        pve.set_faults(mishaps());
        let mut dice = world.dice("claims");
        for number in 0..claims {
            let seconds = dice.below(90).to_string();
            yard.claim(&format!("c{number}"), &["sleep", &seconds], |claim| {
                claim["spec"]["lifecycle"] = json!({ "bootstrapTimeout": "10m", "maxLifetime": "1h" });
            })
            .await;
        }
        let storm = Storm::rough(Duration::from_mins(4));
        let mut weather = Box::pin(world.weather_out(&storm));
        let mut told = Vec::new();
        loop {
            tokio::select! {
                biased;
                () = &mut weather => break,
                () = world.pass(Duration::from_secs(1)) => {
                    let mut names: Vec<String> = ours(&pve).into_iter().flatten().collect();
                    names.sort();
                    let pairs = names.windows(2).any(|pair| pair[0] == pair[1]);
                    assert!(!pairs, "two VMs of one claim: {names:?}");
                    if dice.chance(0.02) {
                        told.push(format!("c{}", dice.below(claims)));
                    }
                }
            }
        }
        for name in told {
            let _ = yard.person.delete(&format!("{CLAIMS}/{name}")).await;
        }
        pve.set_faults(Vec::new());
        ended(&yard, claims).await;
        // What nobody remembers is found by those who look for orphans.
        for _ in 0..90 {
            if there(&pve) == before {
                break;
            }
            yard.pass(20).await;
        }
        let listed = yard.person.get(CLAIMS).await.unwrap();
        if there(&pve) != before {
            let cluster = yard.person.get(&format!("{CLUSTERS}/pve")).await.unwrap();
            panic!("seed {seed} leaves {} beside {listed} of {}", there(&pve), cluster["status"]);
        }
        let phase = |claim: &Value| claim["status"]["phase"].as_str().unwrap_or_default().to_owned();
        listed["items"].as_array().unwrap().iter().map(phase).fold(BTreeMap::new(), |mut sums, phase| {
            *sums.entry(phase).or_default() += 1;
            sums
        })
    })
}

/// Waits until every claim has ended, however it did.
async fn ended(yard: &Yard, claims: usize) {
    for _ in 0..360 {
        yard.pass(10).await;
        let mut open = Vec::new();
        for number in 0..claims {
            let claim = yard.claimed(&format!("c{number}")).await;
            let phase = claim["status"]["phase"].as_str().unwrap_or_default();
            if claim != Value::Null && !["Succeeded", "Failed"].contains(&phase) {
                open.push(claim);
            }
        }
        if open.is_empty() {
            return;
        }
    }
    panic!("claims do not end: {}", serde_json::to_string(&yard.person.get(CLAIMS).await.unwrap()["items"]).unwrap());
}

fn evenings(first: u64, count: u64, claims: usize) {
    let all = across(&seeds(first, count), |seed| evening(seed, claims));
    let sums = all.into_iter().flatten().fold(BTreeMap::<String, usize>::new(), |mut sums, (phase, number)| {
        *sums.entry(phase).or_default() += number;
        sums
    });
    println!("lane: {count} storms over {claims} claims each ended: {sums:?}");
    assert!(sums.get("Succeeded").is_some_and(|number| *number > 0), "no claim ever succeeds: {sums:?}");
}

#[test]
fn p6_p7_a_storm_over_two_replicas_leaves_nothing_behind() {
    evenings(1, 8, 6);
}

#[test]
#[ignore = "many seeds: make soak"]
fn soak_two_hundred_storms_leave_nothing_behind() {
    evenings(1_000, 200, 8);
}

/// Found by storm 1181: the replica that took over had not heard of the end, and made the machine once more.
#[test]
fn a_leader_whose_watch_fell_silent_makes_nothing_for_a_claim_that_has_ended() {
    World::run(3, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        yard.with_replica();
        yard.pass(20).await;
        yard.claim("brief", &["sleep", "5"], |_| {}).await;
        until(&yard, "brief", "Provisioning", 60).await;
        yard.world.pass(Duration::from_millis(50)).await;
        world.weather_between("replica", "kube", Weather { half_open: 1.0, ..Weather::CALM });
        until(&yard, "brief", "Bootstrapping", 60).await;
        yard.world.pass(Duration::from_millis(50)).await;
        // Requests work again; the watch has ended without a word.
        world.weather_between("replica", "kube", Weather::CALM);
        until(&yard, "brief", "Succeeded", 120).await;
        assert_eq!(there(&pve), before);
        world.crash("operator");
        for _ in 0..300 {
            yard.pass(1).await;
            assert_eq!(ours(&pve), [None::<String>; 0], "{}", world.text());
        }
        assert_eq!(there(&pve), before);
    });
}
