//! The driver on a real API server, with the lamp controller under exactly its declared rights.

#![allow(missing_docs, unreachable_pub, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "../examples/lamps/lamp.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod lamp;
#[path = "lamps/room.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod room;

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Resource, ResourceExt};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use room::Room;
use runtime::{Notice, Recorder, Severity};
use serde_json::json;
use testenv::eventually;

const SOON: Duration = Duration::from_secs(30);

/// What can happen to one lamp.
#[derive(Clone, Debug)]
enum Act {
    Want {
        colour: &'static str,
        bulbs: u32,
    },
    Remove,
    /// Somebody breaks a bulb.
    Break,
    /// Somebody else writes into the same object: a conflict for whoever read it before.
    Disturb,
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (prop::sample::select(vec!["red", "green", "blue"]), 0_u32..4).prop_map(|(colour, bulbs)| Act::Want { colour, bulbs }),
        1 => Just(Act::Remove),
        1 => Just(Act::Break),
        2 => Just(Act::Disturb),
    ]
}

/// 120 lamps live through random histories at once, while the controller is restarted and crashed. In the end the
/// world is what the last wish of each lamp says, and nobody writes any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p16_any_interleaving_ends_in_the_state_of_the_last_wish_and_then_rests() {
    let room = Room::open(testenv::shared().await).await;
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &[16; 32]));
    let histories: Vec<Vec<Act>> =
        prop::collection::vec(prop::collection::vec(any_act(), 1..5), 120).new_tree(&mut runner).unwrap().current();
    let mut shift = room.work().await;
    let mut wishes: BTreeMap<String, Option<(&str, u32)>> = BTreeMap::new();
    for round in 0..4 {
        for (number, history) in histories.iter().enumerate() {
            let Some(act) = history.get(round) else { continue };
            let name = format!("lamp-{number}");
            play(&room, &name, act, &mut wishes).await;
        }
        if round % 2 == 0 {
            shift.crash();
        } else {
            shift.end().await;
        }
        shift = room.work().await;
    }
    let mut expected: Vec<(String, String)> = Vec::new();
    for (name, wish) in &wishes {
        let Some((colour, bulbs)) = wish else { continue };
        expected.extend((0..*bulbs).map(|bulb| (format!("{name}-{bulb}"), (*colour).to_owned())));
    }
    expected.sort();
    eventually("every bulb is what the last wish says", Duration::from_secs(90), async || {
        (room.shining().await == expected).then_some(())
    })
    .await;
    let lamps = wishes.values().filter(|wish| wish.is_some()).count();
    eventually("removed lamps are gone and the others are lit", SOON, async || {
        let all = room.lamps().list(&ListParams::default()).await.unwrap().items;
        let lit = |lamp: &lamp::Lamp| {
            lamp.status
                .as_ref()
                .is_some_and(|status| status.lit == lamp.spec.bulbs && status.conditions[0].status == "True")
        };
        (all.len() == lamps && all.iter().all(lit)).then_some(())
    })
    .await;
    // What is told of it comes late where the server is busy.
    eventually("nothing more is told", SOON, async || {
        let mark = room.plane.audit_mark().await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let writes = room.plane.audit_since(mark).await.user(&room.account.username()).writes();
        let told = writes.clone().filter(|line| line.resource == "events");
        assert_eq!(told.len(), writes.len(), "a settled world is written to: {writes:?}");
        writes.is_empty().then_some(())
    })
    .await;
    shift.end().await;
}

async fn play(room: &Room<'_>, name: &str, act: &Act, wishes: &mut BTreeMap<String, Option<(&'static str, u32)>>) {
    let there = wishes.get(name).is_some_and(Option::is_some);
    match act {
        Act::Want { colour, bulbs } if there => {
            room.patch(name, json!({ "spec": { "colour": colour, "bulbs": bulbs } })).await;
            wishes.insert(name.to_owned(), Some((colour, *bulbs)));
        }
        Act::Want { colour, bulbs } => {
            // One that is still going keeps its name until its bulbs are out.
            eventually("the name is free", SOON, async || {
                room.lamps().get_opt(name).await.unwrap().is_none().then_some(())
            })
            .await;
            room.add(name, colour, *bulbs).await;
            wishes.insert(name.to_owned(), Some((colour, *bulbs)));
        }
        Act::Remove if there => {
            room.remove(name).await;
            wishes.insert(name.to_owned(), None);
        }
        Act::Break => {
            let _ = room.bulbs().delete(&format!("{name}-0"), &DeleteParams::default()).await;
        }
        Act::Disturb if there => {
            room.patch(name, json!({ "metadata": { "annotations": { "disturbed": format!("{act:?}") } } })).await;
        }
        Act::Remove | Act::Disturb => {}
    }
}

/// Somebody else writes into an object all the time; the controller still gets through, and does not run hot.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p16_a_storm_of_conflicts_delays_but_does_not_stop_the_controller() {
    let room = Room::open(testenv::shared().await).await;
    let shift = room.work().await;
    room.add("busy", "red", 2).await;
    for turn in 0..100 {
        let colour = if turn % 2 == 0 { "green" } else { "red" };
        room.patch(
            "busy",
            json!({ "spec": { "colour": colour }, "metadata": { "annotations": { "turn": turn.to_string() } } }),
        )
        .await;
    }
    let expected = [("busy-0", "red"), ("busy-1", "red")].map(|(name, colour)| (name.to_owned(), colour.to_owned()));
    eventually("the last wish is fulfilled", SOON, async || (room.shining().await == expected).then_some(())).await;
    room.reads("busy", "Lit", "True", "AllBulbsShine").await;
    shift.end().await;
}

/// Each transition gives one event on the lamp, and `kubectl describe` shows it although it is written to events.k8s.io.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p18_each_transition_gives_one_event_that_kubectl_describe_shows() {
    let room = Room::open(testenv::shared().await).await;
    let shift = room.work().await;
    room.add("desk", "red", 3).await;
    room.reads("desk", "Lit", "True", "AllBulbsShine").await;
    room.patch("desk", json!({ "spec": { "colour": "blue" } })).await;
    let blue = |lit: &[(String, String)]| lit.iter().all(|(_, colour)| colour == "blue");
    eventually("the bulbs are blue", SOON, async || blue(&room.shining().await).then_some(())).await;
    room.reads("desk", "Lit", "True", "AllBulbsShine").await;
    shift.end().await;

    let events: Api<Event> = Api::namespaced(room.plane.client(), &room.namespace);
    let told: Vec<(String, String)> = events
        .list(&ListParams::default())
        .await
        .unwrap()
        .into_iter()
        .filter(|event| event.regarding.as_ref().is_some_and(|object| object.kind.as_deref() == Some("Lamp")))
        .map(|event| (event.type_.unwrap_or_default(), event.reason.unwrap_or_default()))
        .collect();
    let count = |reason: &str| told.iter().filter(|(_, told)| told == reason).count();
    assert_eq!(count("AllBulbsShine"), count("Lighting"), "they take turns: {told:?}");
    assert!((1..=2).contains(&count("AllBulbsShine")), "{told:?}");
    assert!(told.iter().all(|(type_, reason)| (reason == "Lighting") == (type_ == "Warning")), "{told:?}");

    let described = room.plane.kubectl(&["describe", "lamp", "desk", "-n", &room.namespace]).await;
    assert!(
        described.stdout.contains("AllBulbsShine") && described.stdout.contains("every bulb shines"),
        "{}",
        described.stdout
    );
}

/// Saying the same thing again, even from a new process, is one more count on the same event.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_6_the_same_words_again_are_a_count_and_not_a_second_event() {
    let room = Room::open(testenv::shared().await).await;
    let lamp = room.add("lamp", "red", 0).await;
    let parts = room::parts();
    let client = room.client(&parts).await;
    let recorder = || Recorder::new(client.clone(), parts.clock, parts.metrics.clone(), "lamps", "test");
    let notice = Notice {
        severity: Severity::Warning,
        reason: "Flickers".to_owned(),
        action: "Look".to_owned(),
        note: "the lamp flickers".to_owned(),
        occasion: String::new(),
    };
    let first = recorder();
    for _ in 0..3 {
        first.publish(&notice, &lamp.object_ref(&())).await;
    }
    let events: Api<Event> = Api::namespaced(room.plane.client(), &room.namespace);
    let told = events.list(&ListParams::default()).await.unwrap().items;
    let [event] = told.as_slice() else { panic!("one event: {told:?}") };
    assert_eq!(event.series.as_ref().unwrap().count, 3);
    recorder().publish(&notice, &lamp.object_ref(&())).await;
    assert_eq!(events.list(&ListParams::default()).await.unwrap().items.len(), 1);
    let described = room.plane.kubectl(&["describe", "lamp", "lamp", "-n", &room.namespace]).await.stdout;
    assert!(described.contains("the lamp flickers"), "{described}");
}

/// A fault becomes a condition and an event that name it; when it is mended the object goes on and says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r9_3_a_fault_is_told_on_the_object_and_so_is_its_end() {
    let room = Room::open(testenv::shared().await).await;
    let shift = room.work().await;
    for (name, fault, reason) in
        [("a", "refused", "Refused"), ("b", "unavailable", "Unavailable"), ("c", "panic", "Unavailable")]
    {
        room.add(name, "red", 1).await;
        room.reads(name, "Lit", "True", "AllBulbsShine").await;
        room.patch(name, json!({ "spec": { "fault": fault } })).await;
        room.reads(name, "Stalled", "True", reason).await;
        assert_eq!(room.condition(name, "Lit").await.unwrap().0, "True", "what was true stays");
        room.patch(name, json!({ "spec": { "fault": null, "colour": "green" } })).await;
        eventually("the stall is over", SOON, async || room.condition(name, "Stalled").await.is_none().then_some(()))
            .await;
    }
    let described = room.plane.kubectl(&["describe", "lamp", "a", "-n", &room.namespace]).await.stdout;
    assert!(described.contains("look at lamp: no such socket"), "{described}");
    assert!(described.contains("Recovered"), "{described}");
    shift.end().await;
}

/// One object that our types cannot hold neither stops the others nor stays unnoticed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_cannot_be_read_is_reported_and_the_others_go_on() {
    let room = Room::open(testenv::shared().await).await;
    let shift = room.work().await;
    let resource = kube::api::ApiResource::erase::<lamp::Lamp>(&());
    let odd = DynamicObject::new("odd", &resource).data(json!({ "spec": { "colour": "red", "bulbs": "many" } }));
    let raw: Api<DynamicObject> = Api::namespaced_with(room.plane.client(), &room.namespace, &resource);
    raw.create(&PostParams::default(), &odd).await.unwrap();
    room.add("even", "red", 1).await;
    room.reads("even", "Lit", "True", "AllBulbsShine").await;
    eventually("the odd lamp's event", SOON, async || {
        let described = room.plane.kubectl(&["describe", "lamp", "odd", "-n", &room.namespace]).await.stdout;
        (described.contains("Unreadable") && described.contains("left alone")).then_some(())
    })
    .await;
    assert!(shift.parts.metrics.render().contains("hyperfleet_unreadable_objects{kind=\"Lamp\"} 1"));
    raw.patch("odd", &PatchParams::default(), &Patch::Merge(json!({ "spec": { "bulbs": 2 } }))).await.unwrap();
    room.reads("odd", "Lit", "True", "AllBulbsShine").await;
    assert_eq!(raw.get("odd").await.unwrap().finalizers().len(), 1);
    shift.end().await;
}
