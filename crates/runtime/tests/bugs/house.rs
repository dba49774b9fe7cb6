//! A house full of lamps in a world: two replicas of the controller, a person who changes their mind, and bad weather.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResourceExt as _;
use runtime::lease::spawn;
use runtime::{Cache, Driver, Leadership, Recorder, Selection};
use serde_json::{Value, json};
use sim::world::{Call, Desk, Invariant, Mark, Object, Person, State, Storm, Weather, World, general};

use crate::faulty::{Bug, Faulty};
use crate::lamp::{LAMP, Lamp, Lamps, lamp_of};
use crate::site;

pub(crate) const LAMPS: &str = "lamps.example.hyperfleet.io";
pub(crate) const COLLECTION: &str = "/apis/example.hyperfleet.io/v1/namespaces/default/lamps";
const BULBS: &str = "/api/v1/namespaces/default/configmaps";
const FINALIZER: &str = "example.hyperfleet.io/put-out";

/// One replica of the operator.
fn operate(desk: &Desk, bug: Option<Bug>) {
    let parts = site::parts(desk);
    let client = site::client(desk, &parts);
    let elected = spawn(site::candidacy(desk), &client, &parts);
    let leadership = if bug == Some(Bug::NoLease) { Leadership::always() } else { elected };
    let here = ["default".to_owned()];
    let lamps: Cache<Lamp> = Cache::spawn(&Selection::namespaces(&here), &client, &parts);
    let labelled = Selection { labels: Some(LAMP.to_owned()), ..Selection::namespaces(&here) };
    let bulbs: Cache<ConfigMap> = Cache::spawn(&labelled, &client, &parts);
    let instance = desk.life.to_string();
    let recorder = Recorder::new(client.clone(), parts.clock, parts.metrics.clone(), "lamps", &instance);
    let lamp_controller = Lamps { bulbs: bulbs.clone() };
    let controller = Faulty { lamps: lamp_controller, bug, client: client.clone(), recorder, clock: parts.clock };
    let driver = Driver::new(controller, &lamps, &client, &leadership, &instance, &parts);
    if bug == Some(Bug::MissedTrigger) { driver } else { driver.watches(&bulbs, lamp_of) }.spawn();
}

/// The API with the Lamp's definition, and two replicas.
pub(crate) fn furnish(world: &World, bug: Option<Bug>) {
    build(world);
    staff(world, bug);
}

/// The API with the Lamp's definition.
pub(crate) fn build(world: &World) {
    let kubernetes = world.kubernetes("kube");
    kubernetes.define(&serde_json::to_value(Lamp::crd()).unwrap()).unwrap();
}

/// Two replicas.
pub(crate) fn staff(world: &World, bug: Option<Bug>) {
    for (name, skew) in [("east", 40), ("west", -3_600)] {
        world.start(name, move |desk| operate(desk, bug));
        world.turn_clock(name, SignedDuration::from_secs(skew));
    }
}

pub(crate) fn lamp(name: &str, colour: &str, bulbs: u32) -> Value {
    json!({
        "apiVersion": "example.hyperfleet.io/v1", "kind": "Lamp", "metadata": { "name": name },
        "spec": { "colour": colour, "bulbs": bulbs },
    })
}

async fn paint(person: &Person, name: &str, changes: Value) {
    person.merge(&format!("{COLLECTION}/{name}"), &json!({ "spec": changes })).await.unwrap();
}

/// A minute without any API, and a change of mind in the middle of it.
async fn outage(world: &World, person: &Person) {
    world.weather(Weather { broken: 1.0, ..Weather::CALM });
    world.pass(Duration::from_secs(5)).await;
    paint(person, "hall", json!({ "colour": "green" })).await;
    world.pass(Duration::from_mins(1)).await;
    world.weather(Weather::CALM);
}

/// A short day: lamps come, change during a storm, the API goes away, lamps go.
pub(crate) async fn day(world: &World, bug: Option<Bug>, storm: &Storm) {
    furnish(world, bug);
    let person = world.person("person", "kube");
    person.create(COLLECTION, &lamp("hall", "red", 3)).await.unwrap();
    person.create(COLLECTION, &lamp("attic", "blue", 2)).await.unwrap();
    let mind = async {
        let mut dice = world.dice("mind");
        for (name, changes) in [
            ("hall", json!({ "bulbs": 5 })),
            ("attic", json!({ "colour": "white" })),
            ("hall", json!({ "bulbs": 1, "colour": "pink" })),
            ("hall", json!({ "bulbs": 4 })),
        ] {
            world.pass(dice.between(Duration::from_secs(1), storm.length / 3)).await;
            paint(&person, name, changes).await;
        }
    };
    futures::join!(world.weather_out(storm), mind);
    world.pass(Duration::from_mins(2)).await;
    outage(world, &person).await;
    world.pass(Duration::from_mins(2)).await;
    world.calm();
    evening(world, &person).await;
}

/// In calm weather: a lamp goes, a bulb is taken out by hand, and then nothing happens any more.
pub(crate) async fn evening(world: &World, person: &Person) {
    world.pass(Duration::from_mins(6)).await;
    person.delete(&format!("{COLLECTION}/attic")).await.unwrap();
    // With a bug there may be no such bulb.
    let _ = person.delete(&format!("{BULBS}/hall-0")).await;
    world.pass(Duration::from_mins(3)).await;
    world.mark(Mark::Settled);
    world.pass(Duration::from_mins(5)).await;
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The lamp that a bulb is for.
fn owner(bulb: &Value) -> Option<Object> {
    let lamp = bulb["metadata"]["labels"][LAMP].as_str()?;
    Some(Object::new(LAMPS, text(bulb, "/metadata/namespace"), lamp))
}

fn is_going(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// The bulbs that a lamp should have.
fn names(object: &Object, lamp: &Value) -> Vec<String> {
    (0..lamp["spec"]["bulbs"].as_u64().unwrap_or(0)).map(|number| format!("{}-{number}", object.name)).collect()
}

fn is_wanted(state: &State, bulb: &Object, value: &Value) -> bool {
    let Some(owner) = owner(value) else { return true };
    state.get(&owner).is_some_and(|lamp| !is_going(lamp) && names(&owner, lamp).contains(&bulb.name))
}

fn bulbs_of<'a>(state: &'a State, lamp: &'a Object) -> impl Iterator<Item = (&'a Object, &'a Value)> {
    state.of("configmaps").filter(move |(_, bulb)| owner(bulb).as_ref() == Some(lamp))
}

/// Whether exactly the right bulbs shine in the right colour.
pub(crate) fn shines(state: &State, object: &Object, lamp: &Value) -> bool {
    let mut lit: Vec<(&str, &str)> =
        bulbs_of(state, object).map(|(bulb, value)| (bulb.name.as_str(), text(value, "/data/colour"))).collect();
    let wanted = names(object, lamp);
    let mut right: Vec<(&str, &str)> = wanted.iter().map(|name| (name.as_str(), text(lamp, "/spec/colour"))).collect();
    lit.sort_unstable();
    right.sort_unstable();
    lit == right
}

/// Whether a lamp says of its present generation that it is lit.
pub(crate) fn says_lit(lamp: &Value) -> bool {
    let conditions = lamp["status"]["conditions"].as_array();
    let present = |condition: &&Value| condition["observedGeneration"] == lamp["metadata"]["generation"];
    conditions
        .into_iter()
        .flatten()
        .filter(present)
        .any(|condition| condition["type"] == "Lit" && condition["status"] == "True")
}

/// What is not as it was asked for.
fn missing(state: &State) -> Vec<String> {
    let dark =
        state.of(LAMPS).filter(|(object, lamp)| is_going(lamp) || !shines(state, object, lamp) || !says_lit(lamp));
    let stray = state.of("configmaps").filter(|(bulb, value)| !is_wanted(state, bulb, value));
    dark.chain(stray).map(|(object, _)| format!("{object} is not as it should be")).collect()
}

/// Everything that is promised about lamps.
pub(crate) fn promises() -> Vec<Invariant> {
    let mut promises = general();
    promises.extend(site::one_leader());
    promises.extend([
        Invariant::one_object_per_purpose("configmaps", |bulb, value| {
            owner(value)?;
            // `hall-0`, also of `hall-0-x7k2p`.
            Some(bulb.name.splitn(3, '-').take(2).collect::<Vec<_>>().join("-"))
        }),
        Invariant::made_objects_name_their_owner("configmaps", LAMP),
        Invariant::finalizers_wait(LAMPS, FINALIZER, |state, lamp, _| {
            bulbs_of(state, lamp).map(|(bulb, _)| bulb.clone()).collect()
        }),
        Invariant::wanted_things_stay("configmaps", is_wanted),
        Invariant::status_is_true(LAMPS, says_lit, shines),
        Invariant::converges(missing),
    ]);
    promises
}

/// Writes that show that the house is not at rest.
pub(crate) fn unrest(call: &Call) -> bool {
    site::acts(&call.deed)
}

/// What the status of any lamp says and is not so.
pub(crate) fn lies(state: &State) -> Vec<String> {
    let wrong = state.of(LAMPS).filter(|(object, lamp)| says_lit(lamp) != shines(state, object, lamp));
    wrong.map(|(object, lamp)| format!("{object}: {}", lamp["status"])).collect()
}
