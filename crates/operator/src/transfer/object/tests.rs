//! What an object becomes on its way into a file and out of it.

use std::collections::BTreeSet;

use super::*;

fn claim() -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "MachineClaim",
        "metadata": {
            "name": "c", "namespace": "ci", "uid": "u-1", "resourceVersion": "7", "generation": 3,
            "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-02T00:00:00Z",
            "finalizers": ["hyperfleet.io/vm-cleanup"], "labels": { "a": "b" },
            "annotations": { LAST_APPLIED: "{}", "mine": "stays" },
            "ownerReferences": [
                { "apiVersion": "apps/v1", "kind": "Deployment", "name": "other", "uid": "u-3" },
                { "apiVersion": API_VERSION, "kind": "RunnerPool", "name": "small", "uid": "u-2" },
            ],
        },
        "spec": { "workload": {} }, "status": { "phase": "Busy" },
    })
}

#[test]
fn what_goes_into_the_file_is_on_hold_and_bound_to_no_server() {
    let packed = pack(&claim(), "aa");
    assert_eq!(
        packed["metadata"],
        json!({
            "name": "c", "namespace": "ci", "generation": 3, "finalizers": ["hyperfleet.io/vm-cleanup"],
            "labels": { "a": "b" },
            "annotations": { HOLD: hold("aa"), OWNER: "RunnerPool/small", DELETING: "true", "mine": "stays" },
        })
    );
    assert_eq!((&packed["spec"], &packed["status"]), (&claim()["spec"], &claim()["status"]));
    assert_eq!(held_for(&packed), Some("aa"));
}

#[test]
fn what_is_made_of_it_has_the_owner_that_there_is() {
    let packed = pack(&claim(), "aa");
    let pool =
        json!({ "apiVersion": API_VERSION, "kind": "RunnerPool", "metadata": { "name": "small", "uid": "u-9" } });
    let made = unpack(&packed, Some(reference(&pool)));
    assert_eq!(made["metadata"]["ownerReferences"][0]["uid"], "u-9");
    assert_eq!(made["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
    assert!(made.get("status").is_none() && made["metadata"].get("generation").is_none());
    assert_eq!(
        unpack(&packed, None)["metadata"].get("ownerReferences"),
        None,
        "one that is not there would be its end"
    );
}

#[test]
fn every_secret_that_is_named_is_found_once_for_each_naming() {
    let source = json!({
        "kind": "RunnerSource", "spec": {
            "github": { "app": { "appId": { "name": "gh", "key": "id" }, "privateKey": { "name": "key", "key": "pem" } } },
            "tls": { "caCertificate": { "name": "ca", "key": "ca.crt" } }, "scope": { "name": "x" },
        },
    });
    let found: BTreeSet<String> = secrets_of(&source).into_iter().collect();
    assert_eq!(found, BTreeSet::from(["ca", "gh", "key"].map(str::to_owned)));
    let claim = json!({ "kind": "MachineClaim", "spec": { "env": [{ "name": "gh", "key": "id" }] } });
    assert_eq!(secrets_of(&claim), Vec::<String>::new());
}

#[test]
fn a_field_that_was_not_kept_is_named() {
    let wanted = json!({ "phase": "Busy", "list": [{ "a": 1, "b": { "c": 2 } }] });
    assert_eq!(lost(&wanted, &wanted, "status"), None);
    let more = json!({ "phase": "Busy", "list": [{ "a": 1, "b": { "c": 2, "d": 3 } }], "new": true });
    assert_eq!(lost(&wanted, &more, "status"), None, "what a server adds takes nothing away");
    let less = json!({ "phase": "Busy", "list": [{ "a": 1, "b": {} }] });
    assert_eq!(lost(&wanted, &less, "status").as_deref(), Some("status.list[0].b.c"));
}

#[test]
fn an_object_that_only_says_that_it_is_on_hold_was_never_looked_after() {
    let stalled = json!({ "type": "Stalled" });
    for status in [json!(null), json!({}), json!({ "conditions": [stalled] })] {
        assert!(is_untouched(&json!({ "status": status })), "{status}");
    }
    for status in [json!({ "phase": "Pending" }), json!({ "conditions": [stalled, { "type": "Ready" }] })] {
        assert!(!is_untouched(&json!({ "status": status })), "{status}");
    }
}

#[test]
fn generations_are_those_of_the_new_server() {
    for (told, had, tells) in [(3, 3, 1), (2, 3, 0)] {
        let mut status = json!({ "observedGeneration": told, "conditions": [{ "observedGeneration": told }, {}] });
        renumber(&mut status, &json!(had), &json!(1));
        assert_eq!(status, json!({ "observedGeneration": tells, "conditions": [{ "observedGeneration": tells }, {}] }));
    }
}

#[test]
fn kinds_are_reached_under_the_names_that_their_definitions_have() {
    for definition in api::crds() {
        assert_eq!(resource(&definition.spec.names.kind).plural, definition.spec.names.plural);
    }
    let mut known: Vec<&str> = KINDS.to_vec();
    known.sort_unstable();
    let mut all: Vec<String> = api::crds().into_iter().map(|definition| definition.spec.names.kind).collect();
    all.sort_unstable();
    assert_eq!(known, all, "every kind moves");
}
