//! The API in process is held to the real kube-apiserver: the same sequences of requests, and every answer and every
//! event must be equal.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "conformance/suite.rs"]
mod suite;

#[expect(clippy::print_stdout, reason = "the lane repeats it")]
fn say(line: &str) {
    println!("lane: {line}");
}

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::PostParams;
use rstest::rstest;
use serde_json::{Value, json};
use suite::compare::{Verdict, summary};
use suite::drive::{drive, seeds, shrink};
use suite::planted::found;
use suite::run::{Pace, Record, Server};

/// One in so many sequences may meet the turn of a second where it matters. Measured: one in several thousand.
const FLEETING: usize = 500;

/// Runs the seeds on the real server and on ours, prints what was compared, and fails with a report.
async fn hold_ours_to_the_real_one(range: std::ops::Range<u64>, pace: Pace, test: &str) -> Vec<Verdict> {
    let (client, tag) = suite::real(testenv::shared().await).await;
    let real = Server { client, tag: format!("c{tag}"), pace };
    let ours = Server { client: suite::ours::ours().await, tag: format!("c{tag}"), pace };
    let watch = testenv::Stopwatch::start();
    let mut verdicts = drive(&real, &ours, &seeds(range)).await;
    let (requests, events) = suite::counts(&verdicts);
    let differing = verdicts.iter().filter(|verdict| !verdict.agrees()).count();
    let fleeting = verdicts.iter().filter(|verdict| verdict.fleeting).count();
    say(&format!(
        "{} sequences on the real server and on ours in {:.0?}: {requests} requests and {events} watch events \
         compared, {differing} sequences with unexplained differences ({fleeting} more differed once and never again)",
        verdicts.len(),
        watch.elapsed(),
    ));
    let command = format!("cargo test -p hyperfleet-apiserver --test real_conformance -- --include-ignored {test}");
    // Shrinking costs as many requests as steps: a person who replays a few seeds has the time.
    if differing > 0 && verdicts.len() < 50 {
        shrink(&real, &ours, &mut verdicts).await;
    }
    assert!(differing == 0, "{}", summary(&verdicts, &command));
    assert!(
        fleeting <= 1 + verdicts.len() / FLEETING,
        "{fleeting} sequences differed once: that is no second that turned"
    );
    verdicts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_answers_two_thousand_sequences_as_the_real_server() {
    let test = "ours_answers_two_thousand_sequences_as_the_real_server";
    hold_ours_to_the_real_one(0..2000, Pace::Quick, test).await;
}

/// What a server keeps of a write that changes nothing depends on whether a second has passed, and so do ages in tables.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_answers_as_the_real_server_with_a_second_between_steps() {
    let test = "ours_answers_as_the_real_server_with_a_second_between_steps";
    hold_ours_to_the_real_one(640..700, Pace::Seconds, test).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the big number"]
async fn soak_ours_answers_twenty_thousand_sequences_as_the_real_server() {
    let test = "soak_ours_answers_twenty_thousand_sequences_as_the_real_server";
    let verdicts = hold_ours_to_the_real_one(2000..22_000, Pace::Quick, test).await;
    let met: BTreeSet<&str> = verdicts.iter().flat_map(|verdict| verdict.known.iter().copied()).collect();
    let idle: Vec<&str> =
        suite::differences::KNOWN.iter().map(|known| known.id).filter(|id| !met.contains(id)).collect();
    say(&format!("known differences never met: {idle:?}"));
}

/// Two servers that are one: what is equal here but for names and times is equal after normalisation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_does_not_differ_from_itself() {
    let (client, tag) = suite::real(testenv::shared().await).await;
    let first = Server { client: client.clone(), tag: format!("a{tag}"), pace: Pace::Quick };
    let second = Server { client, tag: format!("b{tag}"), pace: Pace::Quick };
    let verdicts = drive(&first, &second, &seeds(0..100)).await;
    let (requests, events) = suite::counts(&verdicts);
    say(&format!("{} sequences twice on the real server: {requests} requests, {events} watch events", verdicts.len()));
    let command = "cargo test -p hyperfleet-apiserver --test real_conformance a_server_does_not_differ_from_itself";
    assert!(verdicts.iter().all(Verdict::agrees), "{}", summary(&verdicts, command));
}

/// A collector leaves alone what belongs to an owner whose kind it cannot look up: both do, while both collect what
/// belongs to an owner of a known kind that is not there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_belongs_to_an_owner_of_an_unknown_kind_stays_on_both() {
    let plane = testenv::shared().await;
    let namespace = plane.namespace("owners").await;
    for client in [plane.client(), suite::ours::ours().await] {
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let room = serde_json::from_value(json!({ "metadata": { "name": namespace } })).unwrap();
        // The real one has it already.
        let _ = namespaces.create(&PostParams::default(), &room).await;
        let maps: Api<ConfigMap> = Api::namespaced(client, &namespace);
        for (name, version, kind) in [("kept", "elsewhere.example.com/v1", "Thing"), ("collected", "v1", "ConfigMap")] {
            let owner = json!({ "apiVersion": version, "kind": kind, "name": "nobody", "uid": "1-2-3" });
            let map = json!({ "metadata": { "name": name, "ownerReferences": [owner] } });
            maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
        }
        let watch = testenv::Stopwatch::start();
        while maps.get_opt("collected").await.unwrap().is_some() {
            assert!(watch.elapsed().as_secs() < 60, "nobody collects");
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        assert!(maps.get_opt("kept").await.unwrap().is_some());
    }
}

#[test]
fn other_names_numbers_and_times_are_no_difference() {
    assert_eq!(found(|_| {}), []);
}

fn body(record: &mut Record, step: usize) -> &mut Value {
    &mut record.answers.get_mut(&step).unwrap().body
}

fn events(record: &mut Record) -> &mut Vec<Value> {
    record.streams.get_mut(&4).unwrap()
}

#[rstest]
#[case::another_status(|record: &mut Record| record.answers.get_mut(&0).unwrap().status = 200, ".status")]
#[case::another_reason(|record: &mut Record| body(record, 2)["reason"] = json!("AlreadyExists"), ".body.reason")]
#[case::another_message(|record: &mut Record| body(record, 2)["message"] = json!("no"), ".body.message")]
#[case::a_changed_field(|record: &mut Record| body(record, 1)["data"]["a"] = json!("other"), ".body.data.a")]
#[case::a_missing_field(|record: &mut Record| { body(record, 1).as_object_mut().unwrap().remove("data"); }, ".body.data")]
#[case::an_owner_more(
    |record: &mut Record| { let entries = &mut body(record, 1)["metadata"]["managedFields"]; let first = entries[0].clone(); entries.as_array_mut().unwrap().push(first); },
    ".body.metadata.managedFields[2]"
)]
#[case::an_owner_of_another_field(
    |record: &mut Record| body(record, 1)["metadata"]["managedFields"][0]["fieldsV1"] = json!({ "f:data": {} }),
    ".body.metadata.managedFields[1].fieldsV1.f:data.f:a"
)]
#[case::owners_out_of_order(|record: &mut Record| body(record, 1)["metadata"]["managedFields"].as_array_mut().unwrap().reverse(), ".disorder")]
#[case::a_version_that_stays(|record: &mut Record| body(record, 1)["metadata"]["resourceVersion"] = json!("100"), ".body.metadata.resourceVersion")]
#[case::a_version_that_moves(|record: &mut Record| body(record, 3)["items"][0]["metadata"]["resourceVersion"] = json!("130"), ".body.items[0].metadata.resourceVersion")]
#[case::a_version_that_goes_back(|record: &mut Record| body(record, 1)["metadata"]["resourceVersion"] = json!("90"), ".disorder")]
#[case::another_uid(|record: &mut Record| body(record, 1)["metadata"]["uid"] = json!("99999999-9d0f-4d56-8a3e-6f1b2c3d4e5f"), ".body.metadata.uid")]
#[case::a_list_out_of_order(|record: &mut Record| body(record, 3)["items"].as_array_mut().unwrap().reverse(), ".disorder")]
#[case::a_warning(|record: &mut Record| record.answers.get_mut(&0).unwrap().warnings.push("299 - \"x\"".to_owned()), ".warnings[0]")]
#[case::a_dropped_event(|record: &mut Record| { events(record).remove(1); }, "[1].type")]
#[case::swapped_events(|record: &mut Record| events(record).swap(0, 1), "[0].type")]
#[case::an_event_twice(|record: &mut Record| { let last = events(record)[2].clone(); events(record).push(last); }, "[3]")]
#[case::an_old_object_in_an_event(|record: &mut Record| events(record)[1]["object"]["data"]["a"] = json!("x"), "[1].object.data.a")]
#[case::an_old_version_in_an_event(|record: &mut Record| events(record)[2]["object"]["metadata"]["resourceVersion"] = json!("120"), "[2].object.metadata.resourceVersion")]
#[case::a_watch_without_events(|record: &mut Record| { record.streams.clear(); }, "")]
fn a_planted_difference_is_found(#[case] plant: fn(&mut Record), #[case] at: &str) {
    let found = found(plant);
    assert!(found.iter().any(|difference| difference.at == at), "{found:#?}");
}

#[test]
fn one_seed_is_one_sequence() {
    for seed in 0..300 {
        let text = |seed| format!("{:?}", suite::generate::sequence(seed));
        assert_eq!(text(seed), text(seed));
    }
}

#[test]
fn the_page_lists_the_known_differences() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/api-differences.md");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == suite::differences::page(),
        "docs/reference/api-differences.md should be:\n{}",
        suite::differences::page()
    );
}
