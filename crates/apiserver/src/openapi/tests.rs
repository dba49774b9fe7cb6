//! The documents that kubectl reads.

use super::*;
use crate::kinds::custom::kinds_of;
use crate::kinds::definition::ROOT;
use crate::store::Resource;

fn served() -> Kinds {
    let mut kinds = Kinds::built_in();
    for crd in api::crds() {
        let resource = Resource::new(&crd.spec.group, &crd.spec.names.plural);
        kinds.define(&resource, "v1alpha1", kinds_of(&serde_json::to_value(crd).unwrap()).unwrap());
    }
    kinds
}

fn ask(path: &str) -> Value {
    let parts: Vec<&str> = path.split('/').collect();
    let answer = answer(&served(), &parts, "").unwrap();
    let crate::answer::Content::Whole(bytes) = answer.body else { panic!("{path} is answered at once") };
    serde_json::from_slice(&bytes).unwrap()
}

fn documents() -> Vec<(String, Value)> {
    let index = ask("v3");
    let paths = index["paths"].as_object().unwrap();
    paths.keys().map(|path| (path.clone(), ask(&format!("v3/{path}")))).collect()
}

fn follow(schema: &Value, schemas: &Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(name) = fields.get("$ref").and_then(Value::as_str) {
                let name = name.strip_prefix(ROOT).unwrap();
                assert!(schemas.get(name).is_some(), "{name} is there");
            }
            for below in fields.values() {
                follow(below, schemas);
            }
        }
        Value::Array(items) => {
            for below in items {
                follow(below, schemas);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let documents = documents();
    assert_eq!(documents.len(), 6, "five built-in versions and ours");
    for (_, document) in documents {
        follow(&document, &document["components"]["schemas"]);
    }
}

#[test]
fn kubectl_finds_the_parameters_that_it_looks_for_on_every_kind() {
    for (path, document) in documents() {
        let patches: Vec<&Value> =
            document["paths"].as_object().unwrap().values().filter_map(|it| it.get("patch")).collect();
        assert!(!patches.is_empty(), "{path}");
        for patch in patches {
            let names: Vec<&Value> = patch["parameters"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
            assert!(names.contains(&&json!("dryRun")) && names.contains(&&json!("fieldValidation")), "{path}");
            assert!(patch["x-kubernetes-group-version-kind"]["kind"].is_string(), "{path}");
            let strategic = patch["requestBody"]["content"].get("application/strategic-merge-patch+json").is_some();
            assert_eq!(strategic, !path.contains("hyperfleet"), "{path}");
        }
    }
}

#[test]
fn lists_merge_as_the_real_server_says() {
    let recorded: Value = serde_json::from_str(include_str!("../../tests/golden/merging.json")).unwrap();
    let mut ours = Map::new();
    for (_, document) in documents() {
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            let mut note = |place: String, schema: &Value| {
                let marks = schema.as_object().unwrap().iter();
                let marks = marks.filter(|(key, _)| key.starts_with("x-kubernetes-") && !key.ends_with("-kind"));
                let marks: Map<String, Value> = marks.map(|(key, value)| (key.clone(), value.clone())).collect();
                if name.starts_with("io.k8s") && !marks.is_empty() {
                    ours.insert(place, Value::Object(marks));
                }
            };
            note(name.clone(), schema);
            for (property, schema) in schema["properties"].as_object().into_iter().flatten() {
                note(format!("{name}.{property}"), schema);
            }
        }
    }
    assert_eq!(Value::Object(ours), recorded);
}

#[test]
fn custom_kinds_say_who_they_are_and_keep_their_words() {
    let document = ask("v3/apis/hypervisor.hyperfleet.io/v1alpha1");
    let pool = &document["components"]["schemas"]["io.hyperfleet.hypervisor.v1alpha1.RunnerPool"];
    let of = json!([{ "group": "hypervisor.hyperfleet.io", "version": "v1alpha1", "kind": "RunnerPool" }]);
    assert_eq!(pool["x-kubernetes-group-version-kind"], of);
    assert!(pool["properties"]["spec"]["description"].is_string(), "{pool}");
    let metadata = json!([{ "$ref": format!("{ROOT}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta") }]);
    assert_eq!(pool["properties"]["metadata"]["allOf"], metadata);
}
