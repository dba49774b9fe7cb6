//! Leader election in a world where everything fails: never two leaders acting, and a leader again when it is calm.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::print_stdout, reason = "figures belong to the lane's report")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "world/site.rs"]
mod site;

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use runtime::lease::spawn;
use runtime::{Leadership, Parts, Writer};
use serde_json::json;
use sim::world::{Desk, Failed, Figures, Storm, World, across, general, seeds};

/// What a leader does: counts, once a second, for as long as it leads.
fn act(desk: &Desk, client: &kube::Client, leadership: Leadership) {
    let (client, life) = (client.clone(), desk.life.to_string());
    desk.tasks.spawn("acting", async move {
        let writer = Writer::new(client.clone(), leadership.clone(), "counter");
        let api: Api<ConfigMap> = Api::namespaced(client, "default");
        loop {
            leadership.acquired().await;
            if let Ok(Some(seen)) = api.get_opt("count").await {
                let count: u64 = seen.data.as_ref().unwrap()["count"].parse().unwrap();
                // What cannot be written is tried again with fresh eyes.
                let _ = writer.merge(&seen, json!({ "data": { "count": (count + 1).to_string(), "by": life } })).await;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
}

fn candidate(desk: &Desk) {
    let parts = site::parts(desk);
    let client = site::client(desk, &parts);
    act(desk, &client, spawn(site::candidacy(desk), &client, &parts));
}

/// The planted bug: who has led once renews whatever record it finds, without a look at the holder.
fn careless(desk: &Desk) {
    let parts = site::parts(desk);
    let client = site::client(desk, &parts);
    let honest = spawn(site::candidacy(desk), &client, &parts);
    let leases: Api<Lease> = Api::namespaced(client.clone(), "default");
    let (life, leadership) = (desk.life.to_string(), honest.clone());
    desk.tasks.spawn("careless renewal", async move {
        honest.acquired().await;
        loop {
            tokio::time::sleep(Duration::from_secs(3)).await;
            let Ok(mut lease) = leases.get("world").await else { continue };
            lease.spec.as_mut().unwrap().holder_identity = Some(life.clone());
            let _ = leases.replace("world", &PostParams::default(), &lease).await;
        }
    });
    act(desk, &client, leadership);
}

fn storm() -> Storm {
    Storm { pauses: 1.0, crashes: 0.5, partitions: 1.0, jumps: 0.5, ..Storm::rough(Duration::from_mins(5)) }
}

/// Three candidates with different clocks, five bad minutes, and two good ones.
fn elect(seed: u64, candidate: fn(&Desk)) -> (Result<(), Failed>, Figures, bool) {
    World::run(seed, async |world: World| {
        world.kubernetes("kube");
        let person = world.person("person", "kube");
        let count = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "count" }, "data": { "count": "0" } });
        person.create("/api/v1/namespaces/default/configmaps", &count).await.unwrap();
        for (name, skew) in [("a", 0), ("b", -86_400), ("c", 90)] {
            world.start(name, candidate);
            world.turn_clock(name, SignedDuration::from_secs(skew));
        }
        world.weather_out(&storm()).await;
        world.pass(Duration::from_mins(1)).await;
        let calm = world.age();
        world.pass(Duration::from_mins(1)).await;
        let acted =
            world.history().commits.iter().any(|commit| commit.at > calm && commit.object.resource == "configmaps");
        let mut invariants = general();
        invariants.extend(site::one_leader());
        (world.judge(&invariants), world.figures(), acted)
    })
}

fn elections(seeds: &[u64]) {
    let elected = across(seeds, |seed| {
        let (verdict, these, acted) = elect(seed, candidate);
        verdict.unwrap();
        assert!(acted, "seed {seed}: nobody leads after the storm");
        these
    });
    let figures: Figures = elected.into_iter().sum();
    println!("lane: elections of three candidates: {figures}");
}

#[test]
fn p30_leaders_act_alone_whatever_happens_and_somebody_leads_in_the_end() {
    elections(&seeds(1, 100));
}

#[test]
#[ignore = "the big number"]
fn soak_a_thousand_elections() {
    elections(&seeds(1_000, 1_000));
}

#[test]
fn a_candidate_that_renews_without_checking_the_holder_is_found() {
    let found = seeds(1, 10).into_iter().filter(|seed| {
        let names = elect(*seed, careless).0.err().map(|failed| failed.verdict.names()).unwrap_or_default();
        names.contains(&"leases are not stolen") && names.contains(&"leaders act alone")
    });
    let found = found.count();
    assert!(found > 0, "the checker cannot fail");
    println!("lane: a careless renewal is found by {found} of 10 seeds");
}

#[test]
fn an_election_is_told_the_same_twice() {
    for seed in seeds(7, 3) {
        let tell = || {
            World::run(seed, async |world: World| {
                world.kubernetes("kube");
                for name in ["a", "b", "c"] {
                    world.start(name, candidate);
                }
                world.weather_out(&storm()).await;
                world.text()
            })
        };
        let (first, second) = (tell(), tell());
        let differing = first.lines().zip(second.lines()).enumerate().find(|(_, (one, other))| one != other);
        assert_eq!(differing, None, "seed {seed}");
    }
}

/// Parts are what a process stands on; a world gives each life its own.
#[test]
fn every_life_has_its_own_identity() {
    World::run(1, async |world: World| {
        world.kubernetes("kube");
        world.start("a", |desk| {
            let Parts { .. } = site::parts(desk);
            desk.tell("", site::candidacy(desk).identity);
        });
        world.crash("a");
        world.restart("a");
        assert!(world.text().contains("a#1") && world.text().contains("a#2"));
    });
}
