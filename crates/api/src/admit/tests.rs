//! What happens to an object on its way in.

use serde_json::{Value, json};

use super::{Cause, Judge, Part, UnknownFields, admit, admit_with};
use crate::examples;

fn example(kind: &str) -> Value {
    let mut objects = examples().into_iter().flat_map(|story| story.objects);
    objects.find(|(_, object)| object["kind"] == kind).expect("every kind has an example").1
}

#[test]
fn defaults_come_level_by_level() {
    let mut pool = example("RunnerPool");
    pool["spec"].as_object_mut().unwrap().remove("scaling");
    let admitted = admit(&pool, None).unwrap();
    assert_eq!(admitted["spec"]["scaling"]["maxReplicas"], 10);
    assert_eq!(admitted["spec"]["scaling"]["scaleDownDelay"], "5m");
    assert_eq!(admitted["spec"]["trust"]["forks"], false);
}

#[test]
fn unknown_fields_go_silently_or_are_refused_by_name() {
    let mut cluster = example("HypervisorCluster");
    cluster["spec"]["nodes"][0]["colour"] = json!("red");
    let admitted = admit(&cluster, None).unwrap();
    assert!(admitted["spec"]["nodes"][0].get("colour").is_none());
    let refusal = admit_with(UnknownFields::Refuse, &cluster, None).unwrap_err();
    assert_eq!(refusal.violations()[0].field, "spec.nodes[0].colour");
    assert_eq!(refusal.violations()[0].cause, Cause::Unknown);
}

#[test]
fn an_explicit_null_is_a_field_left_out() {
    let mut cluster = example("HypervisorCluster");
    cluster["spec"]["credentials"]["username"] = Value::Null;
    cluster["spec"]["proxmox"]["seed"] = Value::Null;
    let admitted = admit(&cluster, None).unwrap();
    assert!(admitted["spec"]["credentials"].get("username").is_none());
    assert_eq!(admitted["spec"]["proxmox"]["seed"], "iso");
}

#[test]
fn a_null_item_of_a_list_is_refused() {
    let mut pool = example("RunnerPool");
    pool["spec"]["labels"] = json!(["linux", null]);
    let refusal = admit(&pool, None).unwrap_err();
    assert_eq!(refusal.violations()[0].field, "spec.labels[1]");
    assert_eq!(refusal.violations()[0].cause, Cause::TypeInvalid);
}

#[test]
fn a_whole_float_is_stored_as_an_integer() {
    let mut template = example("HypervisorMachineTemplate");
    template["spec"]["network"] = json!({ "vlan": 7.0 });
    let admitted = admit(&template, None).unwrap();
    assert_eq!(admitted["spec"]["network"]["vlan"].to_string(), "7");
}

#[test]
fn a_rule_stumbles_over_a_whole_float_as_the_servers_does() {
    let mut pool = example("RunnerPool");
    pool["spec"]["scaling"]["maxReplicas"] = json!(30.0);
    let refusal = admit(&pool, None).unwrap_err();
    assert!(refusal.violations().iter().all(|violation| violation.field == "spec.scaling"), "{refusal}");
    assert!(refusal.to_string().contains("expected int, got float64"), "{refusal}");
}

#[test]
fn the_first_repetition_in_a_list_is_named() {
    let mut cluster = example("HypervisorCluster");
    cluster["spec"]["nodes"] = json!([{ "name": "pve1" }, { "name": "pve2" }, { "name": "pve1" }]);
    let refusal = admit(&cluster, None).unwrap_err();
    assert_eq!(refusal.violations()[0].field, "spec.nodes[2]");
    assert_eq!(refusal.violations()[0].cause, Cause::Duplicate);
}

#[test]
fn a_refusal_reads_as_the_servers_does() {
    let mut pool = example("RunnerPool");
    pool["spec"]["scaling"] = json!({ "minReplicas": 11 });
    let refusal = admit(&pool, None).unwrap_err().to_string();
    let expected = "RunnerPool.hypervisor.hyperfleet.io \"linux-x64\" is invalid: spec.scaling.minReplicas: Invalid \
                    value: minReplicas must not be above maxReplicas: raise maxReplicas first";
    assert_eq!(refusal, expected);
}

#[test]
fn what_was_wrong_before_and_did_not_change_is_let_through() {
    let mut old = example("RunnerPool");
    old["spec"]["scaling"] = json!({ "minReplicas": 20_000, "maxReplicas": 5 });
    let mut new = old.clone();
    new["spec"]["rerunLostJobs"] = json!(false);
    assert!(admit(&new, None).is_err(), "a new object is judged whole");
    admit(&new, Some(&old)).expect("neither the bound nor the rule is about what changed");
    new["spec"]["scaling"]["maxReplicas"] = json!(6);
    let refusal = admit(&new, Some(&old)).unwrap_err();
    assert!(refusal.violations().iter().all(|violation| violation.field == "spec.scaling.minReplicas"), "{refusal}");
}

#[test]
fn an_item_of_a_map_list_keeps_its_past_by_key_and_not_by_place() {
    let mut old = example("HypervisorCluster");
    old["spec"]["nodes"] = json!([{ "name": "bad name" }, { "name": "pve2" }]);
    let mut new = old.clone();
    new["spec"]["nodes"] = json!([{ "name": "pve2", "cordon": true }, { "name": "bad name" }]);
    admit(&new, Some(&old)).expect("the bad node was there before");
    new["spec"]["nodes"][1]["name"] = json!("worse name");
    assert!(admit(&new, Some(&old)).is_err());
}

#[test]
fn a_rule_about_change_holds_even_where_the_rest_did_not_change() {
    let old = example("MachineClaim");
    let mut new = old.clone();
    new["spec"]["captureOutput"] = json!(false);
    assert_eq!(admit(&new, Some(&old)).unwrap_err().violations()[0].field, "spec");
}

#[test]
fn an_object_of_another_kind_or_group_is_refused_with_what_there_is() {
    let other =
        json!({ "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "Pod", "metadata": { "name": "x" } });
    let refusal = admit(&other, None).unwrap_err();
    assert_eq!(refusal.violations()[0].field, "kind");
    assert!(refusal.to_string().contains("RunnerPool"), "{refusal}");
    let other = json!({ "apiVersion": "v1", "kind": "Pod" });
    assert_eq!(admit(&other, None).unwrap_err().violations()[0].field, "apiVersion");
}

#[test]
fn any_schema_can_be_judged_by() {
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                              "properties": { "known": { "type": "object", "properties": {} } } },
                    "above": { "type": "number", "minimum": 1, "exclusiveMinimum": true },
                    "even": { "type": "integer", "multipleOf": 2 },
                    "either": { "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
                                "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] },
                },
            },
        },
    });
    let judge = Judge::new(schema).unwrap();
    let wrong = |spec: Value| judge.violations(&json!({ "spec": spec }), None).len();
    assert_eq!(wrong(json!({ "above": 1.5, "even": 4, "either": { "a": "x" } })), 0);
    assert_eq!(wrong(json!({ "above": 1 })), 1);
    assert_eq!(wrong(json!({ "even": 3 })), 1);
    assert_eq!(wrong(json!({ "either": { "a": "x", "b": "y" } })), 1);
    let (kept, unknown) =
        judge.coerce(&json!({ "spec": { "free": { "x": { "y": 1 }, "known": { "z": 1 } }, "gone": 1 } }));
    assert_eq!(kept, json!({ "spec": { "free": { "x": { "y": 1 }, "known": {} } } }));
    assert_eq!(unknown, ["spec.free.known.z", "spec.gone"]);
    assert!(!judge.has_rules());
}

#[test]
fn what_was_applied_is_defaulted_and_keeps_its_nulls() {
    let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
        "plain": { "type": "string" }, "size": { "type": "integer", "default": 1 },
    } } } });
    let judge = Judge::new(schema).unwrap();
    let object = json!({ "spec": { "plain": null, "size": null } });
    assert_eq!(judge.coerce(&object).0, json!({ "spec": { "size": 1 } }));
    let applied = judge.default(object);
    assert_eq!(applied, json!({ "spec": { "plain": null, "size": 1 } }));
    assert_eq!(judge.violations(&applied, None)[0].cause, Cause::TypeInvalid);
}

#[test]
fn a_status_is_judged_alone_and_named_from_itself_on() {
    let schema = json!({ "type": "object", "required": ["spec"], "properties": {
        "spec": { "type": "object" },
        "status": { "type": "object", "properties": { "count": { "type": "integer" } } },
    } });
    let judge = Judge::new(schema).unwrap();
    let said = |status: Value| {
        let found = judge.structure_violations(Part::Status, &json!({ "status": status }), None);
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let expected = [
        r#"status.count: Invalid value: "number": count in body must be of type integer: "number""#,
        r#"status: Invalid value: "": Checked value must be of type integer (default format) in count"#,
    ];
    assert_eq!(said(json!({ "count": 1.5 })), expected);
    assert_eq!(said(json!("x")), [r#"status: Invalid value: "string":  in body must be of type object: "string""#]);
}

#[test]
fn a_status_that_is_null_where_there_was_none_is_no_change() {
    let schema = json!({ "type": "object", "properties": { "status": { "type": "object" } } });
    let judge = Judge::new(schema).unwrap();
    let new = json!({ "status": null });
    let wrong = |old: Option<&Value>| judge.structure_violations(Part::Status, &new, old).len();
    assert_eq!(wrong(Some(&json!({}))), 0);
    assert_eq!(wrong(Some(&json!({ "status": {} }))), 1);
    assert_eq!(wrong(None), 1);
}

#[test]
fn repetitions_below_a_map_are_named_by_its_key() {
    let set = json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" });
    let schema = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "additionalProperties": set },
    } });
    let found = Judge::new(schema).unwrap().list_violations(&json!({ "spec": { "a.b": ["x", "x", "x"] } }), None);
    let said: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(said, [r#"spec[a.b][1]: Duplicate value: "x""#]);
}
