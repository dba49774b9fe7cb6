//! Status written by those who do not lead.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "../examples/lamps/lamp.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the example, which uses the rest")]
mod lamp;
#[path = "world/site.rs"]
#[allow(dead_code, reason = "shared with the tests of leaders, which use the rest")]
mod site;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{Api, Client, CustomResourceExt as _};
use lamp::{Lamp, LampStatus};
use reconcile::Class;
use runtime::{Severity, Swap};
use serde_json::{Value, json};
use sim::world::{Person, World};

const LAMPS: &str = "/apis/example.hyperfleet.io/v1/namespaces/default/lamps";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

fn lit(reason: &str, holds: bool) -> Condition {
    Condition {
        type_: "Lit".to_owned(),
        status: if holds { "True" } else { "False" }.to_owned(),
        reason: reason.to_owned(),
        message: format!("because of {reason}"),
        observed_generation: None,
        last_transition_time: Time(jiff::Timestamp::UNIX_EPOCH),
    }
}

/// A process with a swap and no lease, a lamp, and somebody who looks.
async fn house(world: &World) -> (Swap, Api<Lamp>, Person) {
    let kubernetes = world.kubernetes("kube");
    kubernetes.define(&serde_json::to_value(Lamp::crd()).unwrap()).unwrap();
    let made: Arc<Mutex<Option<(Swap, Client)>>> = Arc::default();
    let slot = Arc::clone(&made);
    world.start("service", move |desk| {
        let parts = site::parts(desk);
        let client = site::client(desk, &parts);
        *slot.lock().unwrap() = Some((Swap::new(&client, &parts, "switch", "one"), client));
    });
    let (swap, client) = made.lock().unwrap().take().unwrap();
    let person = world.person("person", "kube");
    let lamp = json!({
        "apiVersion": "example.hyperfleet.io/v1", "kind": "Lamp", "metadata": { "name": "a" },
        "spec": { "colour": "red", "bulbs": 1 },
    });
    person.create(LAMPS, &lamp).await.unwrap();
    let foreign = json!({
        "type": "Dusty", "status": "True", "reason": "Old", "message": "m", "lastTransitionTime": "2020-01-01T00:00:00Z",
    });
    person.merge(&format!("{LAMPS}/a/status"), &json!({ "status": { "conditions": [foreign] } })).await.unwrap();
    (swap, Api::default_namespaced(client), person)
}

async fn write(swap: &Swap, seen: &Lamp, condition: Condition) -> Result<String, Class> {
    let status = LampStatus { lit: 1, conditions: vec![condition] };
    swap.status(seen, &status, &["Lit"], |_| Severity::Normal).await.map_err(|fault| fault.class())
}

fn conditions(lamp: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let listed = lamp["status"]["conditions"].as_array().unwrap();
    listed.iter().map(|found| (text(&found["type"]), text(&found["lastTransitionTime"]))).collect()
}

#[test]
fn of_two_who_saw_the_same_one_writes_and_the_other_learns_of_it() {
    World::run(1, async |world: World| {
        let (swap, lamps, person) = house(&world).await;
        let seen = lamps.get("a").await.unwrap();
        let version = write(&swap, &seen, lit("Switch", true)).await.unwrap();
        assert_ne!(Some(&version), seen.metadata.resource_version.as_ref());
        assert_eq!(write(&swap, &seen, lit("Timer", true)).await, Err(Class::Conflict));
        let lamp = person.get(&format!("{LAMPS}/a")).await.unwrap();
        assert_eq!(lamp["metadata"]["resourceVersion"], version);
        assert_eq!(lamp["status"]["lit"], 1);
    });
}

#[test]
fn conditions_get_their_times_those_of_others_stay_and_people_are_told() {
    World::run(1, async |world: World| {
        let (swap, lamps, person) = house(&world).await;
        write(&swap, &lamps.get("a").await.unwrap(), lit("Switch", true)).await.unwrap();
        let first = conditions(&person.get(&format!("{LAMPS}/a")).await.unwrap());
        assert_eq!(first[1], ("Dusty".to_owned(), "2020-01-01T00:00:00Z".to_owned()));
        assert!(first[0].1.as_str() > "2025", "{first:?}");
        world.pass(Duration::from_mins(5)).await;
        write(&swap, &lamps.get("a").await.unwrap(), lit("Timer", true)).await.unwrap();
        assert_eq!(conditions(&person.get(&format!("{LAMPS}/a")).await.unwrap()), first, "it has not flipped");
        let seen = lamps.get("a").await.unwrap();
        let version = write(&swap, &seen, lit("Timer", true)).await.unwrap();
        assert_eq!(Some(version), seen.metadata.resource_version, "what is so already is not written");
        let events = person.get(EVENTS).await.unwrap();
        let mut reasons: Vec<&str> =
            events["items"].as_array().unwrap().iter().map(|event| event["reason"].as_str().unwrap()).collect();
        reasons.sort_unstable();
        assert_eq!(reasons, ["Switch", "Timer"]);
        assert_eq!(events["items"][0]["reportingController"], "hyperfleet.io/switch");
    });
}
