//! Properties of apply; the recorded scenarios show the rest.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::apply;
use crate::failure::Failure;
use crate::merge::fields::Set;
use crate::merge::managed::Managed;
use crate::merge::track::Writer;

static NOTHING: Set = Set::new();

fn schema() -> Value {
    let text = json!({ "type": "string" });
    json!({ "type": "object", "properties": {
        "apiVersion": text, "kind": text,
        "metadata": { "type": "object", "properties": {
            "name": text, "managedFields": { "type": "array", "items": { "type": "object" } },
        } },
        "spec": { "type": "object", "properties": {
            "colour": text, "size": text,
            "tags": { "type": "array", "x-kubernetes-list-type": "set", "items": text },
            "users": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": { "type": "object", "properties": { "name": text, "age": { "type": "integer" } } } },
            "labels": { "type": "object", "additionalProperties": text },
            "words": { "type": "array", "items": text },
            "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        } },
    } })
}

fn by(name: &str, second: i64) -> Writer<'_> {
    Writer {
        name,
        subresource: "",
        api_version: "example.com/v1",
        kind: "Thing",
        kin: &[],
        reset: &NOTHING,
        blank: None,
        now: jiff::Timestamp::from_second(1_000_000 + second).unwrap(),
    }
}

fn thing(spec: &Value) -> Value {
    let mut thing = json!({ "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": "x" } });
    if !spec.is_null() {
        thing["spec"] = spec.clone();
    }
    thing
}

fn applied(live: Option<&Value>, spec: &Value, writer: &Writer<'_>, force: bool) -> Result<Value, Failure> {
    apply(&schema(), live, &thing(spec), writer, force)
}

fn field(name: &'static str) -> BoxedStrategy<Value> {
    let letters = || proptest::sample::subsequence(vec!["a", "b", "c", "d"], 1..=4).prop_shuffle();
    match name {
        "tags" | "words" => letters().prop_map(|letters| json!(letters)).boxed(),
        "users" => (letters(), 0..3)
            .prop_map(|(names, age)| {
                let user = |(at, name): (usize, &&str)| {
                    if at % 2 == 0 { json!({ "name": name, "age": age }) } else { json!({ "name": name }) }
                };
                names.iter().enumerate().map(user).collect()
            })
            .boxed(),
        "labels" => {
            letters().prop_map(|names| names.iter().map(|name| ((*name).to_owned(), json!("1"))).collect()).boxed()
        }
        "free" => letters()
            .prop_map(|names| names.iter().map(|name| ((*name).to_owned(), json!({ "x": [1, name] }))).collect())
            .boxed(),
        _ => "[pq]".prop_map(Value::from).boxed(),
    }
}

/// A spec with some of these fields, and at least one.
fn spec(names: &'static [&'static str]) -> impl Strategy<Value = Value> {
    proptest::sample::subsequence(names, 1..=names.len()).prop_flat_map(|names| {
        let fields: Vec<_> =
            names.into_iter().map(|name| field(name).prop_map(move |value| (name.to_owned(), value))).collect();
        fields.prop_map(|fields| fields.into_iter().collect::<Value>())
    })
}

const ALL: &[&str] = &["colour", "size", "tags", "users", "labels", "words", "free"];
const SOME: &[&str] = &["colour", "tags", "labels"];
const REST: &[&str] = &["size", "users", "words", "free"];

#[test]
fn a_live_object_that_nobody_owns_belongs_to_a_stand_in() {
    let live = thing(&json!({ "colour": "red" }));
    let refused = applied(Some(&live), &json!({ "colour": "blue" }), &by("a", 1), false).unwrap_err();
    let message =
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using example.com/v1: .spec.colour";
    assert_eq!(refused.message, message);
}

proptest! {
    #[test]
    fn applying_twice_is_applying_once(first in spec(ALL), second in spec(ALL)) {
        let live = applied(None, &first, &by("a", 1), false).unwrap();
        let live = applied(Some(&live), &second, &by("b", 2), true).unwrap();
        let again = applied(Some(&live), &second, &by("b", 3), false).unwrap();
        prop_assert_eq!(again, live);
    }

    #[test]
    fn owners_of_different_fields_never_conflict(first in spec(SOME), second in spec(REST), third in spec(SOME)) {
        let live = applied(None, &first, &by("a", 1), false).unwrap();
        let live = applied(Some(&live), &second, &by("b", 2), false).unwrap();
        let live = applied(Some(&live), &third, &by("a", 3), false).unwrap();
        let mut expected = second;
        for (name, value) in third.as_object().unwrap() {
            expected[name] = value.clone();
        }
        prop_assert_eq!(&live["spec"], &expected);
    }

    #[test]
    fn who_applies_nothing_keeps_nothing_but_what_others_own(theirs in spec(SOME), ours in spec(REST), both in any::<bool>()) {
        let before = applied(None, &theirs, &by("b", 1), false).unwrap();
        let mut wanted = ours;
        if both {
            for (name, value) in theirs.as_object().unwrap() {
                wanted[name] = value.clone();
            }
        }
        let live = applied(Some(&before), &wanted, &by("a", 2), false).unwrap();
        let live = applied(Some(&live), &Value::Null, &by("a", 3), false).unwrap();
        prop_assert_eq!(live, before);
    }

    #[test]
    fn what_conflicts_is_what_force_takes(first in spec(ALL), second in spec(ALL)) {
        let live = applied(None, &first, &by("a", 1), false).unwrap();
        let conflicts = applied(Some(&live), &second, &by("b", 2), false).is_err();
        let result = applied(Some(&live), &second, &by("b", 2), true).unwrap();
        let fields = |object: &Value| {
            let managed = Managed::of(object).unwrap();
            managed.holdings().iter().find(|holding| holding.owner.name == "a").map(|holding| holding.fields.clone())
        };
        prop_assert_eq!(conflicts, fields(&live) != fields(&result));
    }
}
