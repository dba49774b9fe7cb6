//! Tables, compared with what a real server answered.

use rstest::rstest;

use super::*;
use crate::kinds;

const NOW: &str = "2026-11-16T06:16:16Z";

fn rendering(include: Include) -> Rendering<'static> {
    let now = NOW.parse().unwrap();
    Rendering { version: "v1", include, metadata: json!({ "resourceVersion": "7" }), headed: true, now }
}

fn built_in(group: &str, plural: &str) -> Kind {
    kinds::kinds().into_iter().find(|kind| kind.group == group && kind.plural == plural).unwrap()
}

/// The answers of a real server to the same definition and objects.
fn custom() -> (Kind, Vec<Value>, Value) {
    let golden: Value = serde_json::from_str(include_str!("../../tests/golden/table.json")).unwrap();
    let kind = kinds::custom::kinds_of(&golden["definition"]).unwrap().remove(0);
    (kind, golden["objects"].as_array().unwrap().clone(), golden["table"].clone())
}

#[test]
fn cells_of_custom_resources_are_those_of_the_real_server() {
    let (kind, objects, recorded) = custom();
    let table = render(&kind, &objects, &rendering(Include::Nothing));
    assert_eq!(table["columnDefinitions"], recorded["columnDefinitions"]);
    for (row, recorded) in table["rows"].as_array().unwrap().iter().zip(recorded["rows"].as_array().unwrap()) {
        assert_eq!(row["cells"], recorded["cells"]);
    }
}

#[rstest]
#[case("", "namespaces", json!({"metadata":{"name":"zz","creationTimestamp":"2026-11-16T06:09:56Z"},"status":{"phase":"Active"}}), json!(["zz","Active","6m20s"]))]
#[case("", "secrets", json!({"metadata":{"name":"s1","creationTimestamp":"2026-11-16T06:09:54Z"},"type":"Opaque","data":{"a":"","b":"","c":""}}), json!(["s1","Opaque",3,"6m22s"]))]
#[case("", "configmaps", json!({"metadata":{"name":"c1","creationTimestamp":"2026-11-16T06:09:54Z"},"binaryData":{"a":""}}), json!(["c1",1,"6m22s"]))]
#[case("", "events", json!({"metadata":{"name":"e1"}}), json!(["<unknown>","","","","","","","<unknown>",1,"e1"]))]
#[case("", "serviceaccounts", json!({"metadata":{"name":"sa1","creationTimestamp":"2026-11-16T06:09:54Z"}}), json!(["sa1","6m22s"]))]
#[case("coordination.k8s.io", "leases", json!({"metadata":{"name":"l1","creationTimestamp":"2026-11-16T06:09:55Z"},"spec":{}}), json!(["l1","","6m21s"]))]
#[case("rbac.authorization.k8s.io", "roles", json!({"metadata":{"name":"r1","creationTimestamp":"2026-11-16T06:09:55Z"}}), json!(["r1","2026-11-16T06:09:55Z"]))]
#[case("rbac.authorization.k8s.io", "rolebindings", json!({"metadata":{"name":"r2","creationTimestamp":"2026-11-16T06:09:55Z"},"roleRef":{"kind":"Role","name":"x"},"subjects":[{"kind":"User","name":"u"},{"kind":"ServiceAccount","name":"u"},{"kind":"Group","name":"g"}]}), json!(["r2","Role/x","6m21s","u","g","/u"]))]
#[case("apiextensions.k8s.io", "customresourcedefinitions", json!({"metadata":{"name":"lamps.ex.io","creationTimestamp":"2026-11-16T06:09:56Z"}}), json!(["lamps.ex.io","2026-11-16T06:09:56Z"]))]
fn built_in_kinds_bring_their_own_cells(
    #[case] group: &str,
    #[case] plural: &str,
    #[case] object: Value,
    #[case] cells: Value,
) {
    let table = render(&built_in(group, plural), &[object], &rendering(Include::Nothing));
    assert_eq!(table["rows"], json!([{ "cells": cells, "object": null }]));
}

#[test]
fn a_repeated_event_counts_its_series() {
    let event = json!({
        "metadata": { "name": "e" }, "involvedObject": { "kind": "Pod", "name": "p", "fieldPath": "spec" },
        "eventTime": "2026-11-16T06:00:00.000000Z", "reportingComponent": "a/b", "reportingInstance": "i",
        "message": " done ", "series": { "count": 5, "lastObservedTime": "2026-11-16T06:16:06.000000Z" },
    });
    let cells = json!(["10s", "", "", "pod/p", "spec", "a/b, i", "done", "16m", 5, "e"]);
    for (group, event) in [("", event.clone()), (kinds::event::GROUP, kinds::event::to_new(&event))] {
        let table = render(&built_in(group, "events"), &[event], &rendering(Include::Nothing));
        assert_eq!(table["rows"][0]["cells"], cells, "{group}");
    }
}

#[test]
fn rows_carry_what_was_asked_for() {
    let kind = built_in("", "secrets");
    let secret = json!({ "kind": "Secret", "apiVersion": "v1", "metadata": { "name": "s" }, "type": "Opaque" });
    let carried =
        |include| render(&kind, std::slice::from_ref(&secret), &rendering(include))["rows"][0]["object"].clone();
    assert_eq!(carried(Include::Object), secret);
    let meta = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": { "name": "s" } });
    assert_eq!(carried(Include::Metadata), meta);
    assert_eq!(Include::read(""), Include::Metadata);
    let refusal = Include::check("Foo").unwrap_err();
    assert!(refusal.message.ends_with("must be 'Metadata', 'Object', 'None', or empty"), "{refusal}");
}

#[test]
fn kinds_without_a_printer_have_no_rows_at_all() {
    let empty = |group, plural| render(&built_in(group, plural), &[], &rendering(Include::Metadata))["rows"].clone();
    assert_eq!(empty("", "secrets"), json!([]));
    assert_eq!(empty("rbac.authorization.k8s.io", "roles"), Value::Null);
}
