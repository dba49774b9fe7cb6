//! Properties of tracking; the recorded scenarios show the rest.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Writer, resets, track};
use crate::merge::fields::Set;
use crate::merge::managed::Managed;
use crate::merge::shape::Shape;
use crate::merge::typed::present;

fn schema() -> Value {
    json!({ "type": "object", "properties": {
        "apiVersion": { "type": "string" }, "kind": { "type": "string" },
        "metadata": { "type": "object", "properties": {
            "name": { "type": "string" }, "labels": { "type": "object", "additionalProperties": { "type": "string" } },
            "managedFields": { "type": "array", "items": { "type": "object" } },
        } },
        "spec": { "type": "object", "properties": {
            "a": { "type": "string" }, "b": { "type": "integer" },
            "tags": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
            "list": { "type": "array", "items": { "type": "string" } },
        } },
        "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
    } })
}

fn writer<'a>(name: &'a str, reset: &'a Set) -> Writer<'a> {
    Writer {
        name,
        subresource: "",
        api_version: "example.com/v1",
        kind: "Thing",
        kin: &[],
        reset,
        blank: None,
        now: "2026-01-01T00:00:00Z".parse().unwrap(),
    }
}

fn thing(spec: &Value) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": "x" }, "spec": spec })
}

fn specs() -> impl Strategy<Value = Value> {
    let tags = proptest::sample::subsequence(vec!["x", "y", "z"], 0..=3);
    (proptest::option::of("[pq]"), proptest::option::of(0..2), proptest::option::of(tags), proptest::option::of("[rs]"))
        .prop_map(|(a, b, tags, item)| {
            let mut spec = json!({});
            let mut put = |name: &str, value: Option<Value>| {
                if let Some(value) = value {
                    spec[name] = value;
                }
            };
            put("a", a.map(Value::from));
            put("b", b.map(Value::from));
            put("tags", tags.map(Value::from));
            put("list", item.map(|item| json!([item])));
            spec
        })
}

#[test]
fn what_a_strategy_takes_back_is_not_owned() {
    let reset = resets(super::Strategy::Main { status: true });
    let mut new = thing(&json!({ "a": "p" }));
    new["status"] = json!({ "phase": "Up" });
    let tracked = track(&schema(), None, new, &writer("w", &reset));
    assert_eq!(tracked["metadata"]["managedFields"][0]["fieldsV1"], json!({ "f:spec": { ".": {}, "f:a": {} } }));
}

#[test]
fn a_writer_without_a_name_is_unknown() {
    let tracked = track(&schema(), None, thing(&json!({ "a": "p" })), &writer("", &Set::new()));
    assert_eq!(tracked["metadata"]["managedFields"][0]["manager"], "unknown");
}

#[test]
fn an_unsound_object_gets_no_ownership() {
    let tracked = track(&schema(), None, thing(&json!({ "a": 1 })), &writer("w", &Set::new()));
    assert_eq!(tracked, thing(&json!({ "a": 1 })));
}

#[test]
fn ownership_in_a_version_that_is_gone_is_forgotten() {
    let (reset, blank) = (Set::new(), json!({}));
    let early = Writer { api_version: "example.com/v0", ..writer("w", &reset) };
    let old = track(&schema(), None, thing(&json!({ "a": "p" })), &early);
    let mut new = old.clone();
    new["spec"]["b"] = json!(1);
    let owners =
        |writer: &Writer<'_>| Managed::of(&track(&schema(), Some(&old), new.clone(), writer)).unwrap().holdings().len();
    assert_eq!(owners(&Writer { kin: &["example.com/v0"], ..writer("v", &reset) }), 2);
    assert_eq!(owners(&Writer { blank: Some(&blank), ..writer("v", &reset) }), 1);
    assert_eq!(owners(&writer("v", &reset)), 0);
}

#[test]
fn an_item_that_was_there_twice_and_is_there_once_is_owned_by_who_made_it_so() {
    let reset = Set::new();
    let once_and_twice = [json!({ "tags": ["x"] }), json!({ "tags": ["x", "x"] })];
    for (before, after) in [(0, 1), (1, 0)] {
        let old = track(&schema(), None, thing(&once_and_twice[before]), &writer("w", &reset));
        let mut new = old.clone();
        new["spec"] = once_and_twice[after].clone();
        let tracked = track(&schema(), Some(&old), new, &writer("v", &reset));
        let fields = &tracked["metadata"]["managedFields"];
        let of = |name: &str| fields.as_array().unwrap().iter().find(|entry| entry["manager"] == name).unwrap();
        assert_eq!(of("v")["fieldsV1"], json!({ "f:spec": { "f:tags": { "v:\"x\"": {} } } }));
        assert_eq!(of("w")["fieldsV1"], json!({ "f:spec": { ".": {}, "f:tags": {} } }));
    }
}

#[test]
fn parts_of_what_became_a_whole_are_owned_as_a_whole() {
    let reset = Set::new();
    let old = track(&schema(), None, thing(&json!({ "tags": ["x", "y"] })), &writer("w", &reset));
    let mut whole = schema();
    whole["properties"]["spec"]["properties"]["tags"]["x-kubernetes-list-type"] = json!("atomic");
    let mut new = old.clone();
    new["spec"]["b"] = json!(1);
    let tracked = track(&whole, Some(&old), new, &writer("v", &reset));
    let fields = &tracked["metadata"]["managedFields"];
    let of = |name: &str| fields.as_array().unwrap().iter().find(|entry| entry["manager"] == name).unwrap();
    assert_eq!(of("w")["fieldsV1"], json!({ "f:spec": { ".": {}, "f:tags": {} } }));
}

proptest! {
    #[test]
    fn every_leaf_has_exactly_one_updater(first in specs(), second in specs(), third in specs()) {
        let (schema, reset) = (schema(), Set::new());
        let mut live = track(&schema, None, thing(&first), &writer("a", &reset));
        for (name, spec) in [("b", second), ("c", third)] {
            let mut new = live.clone();
            new["spec"] = spec;
            live = track(&schema, Some(&live), new, &writer(name, &reset));
        }
        let managed = Managed::of(&live).unwrap_or_default();
        let spec = json!({ "spec": live["spec"] });
        for path in present(Shape::new(&schema), &spec).paths() {
            let owners = managed.holdings().iter().filter(|holding| holding.fields.has(&path.0)).count();
            prop_assert_eq!(owners, 1, "{} of {}", path, live);
        }
    }

    #[test]
    fn writing_the_same_again_changes_nothing(spec in specs()) {
        let (schema, reset) = (schema(), Set::new());
        let live = track(&schema, None, thing(&spec), &writer("a", &reset));
        let later = "2027-01-01T00:00:00Z".parse().unwrap();
        let again = track(&schema, Some(&live), live.clone(), &Writer { now: later, ..writer("b", &reset) });
        prop_assert_eq!(again, live);
    }
}
