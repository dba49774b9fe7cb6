//! Every example is one a user can really start from.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::examples;
use crate::{UnknownFields, admit_with, registry};

/// Every object of every story, with the story's name.
fn objects() -> Vec<(&'static str, Value)> {
    let stories = examples().into_iter();
    stories.flat_map(|story| story.objects.into_iter().map(move |(_, object)| (story.name, object))).collect()
}

fn parse<K: DeserializeOwned>(object: &Value) -> Result<(), serde_json::Error> {
    serde_json::from_value::<K>(object.clone()).map(|_| ())
}

fn parse_as_its_kind(object: &Value) -> Result<(), serde_json::Error> {
    match object["kind"].as_str().unwrap() {
        "HypervisorCluster" => parse::<crate::HypervisorCluster>(object),
        "HypervisorMachineTemplate" => parse::<crate::HypervisorMachineTemplate>(object),
        "RunnerSource" => parse::<crate::RunnerSource>(object),
        "RunnerPool" => parse::<crate::RunnerPool>(object),
        "MachineClaim" => parse::<crate::MachineClaim>(object),
        "Secret" => parse::<k8s_openapi::api::core::v1::Secret>(object),
        "Namespace" => parse::<k8s_openapi::api::core::v1::Namespace>(object),
        other => panic!("no example should be a {other}"),
    }
}

#[test]
fn every_example_parses_and_is_admitted_without_an_unknown_field() {
    for (story, object) in objects() {
        parse_as_its_kind(&object).unwrap_or_else(|fault| panic!("{story}: {fault}"));
        if object["apiVersion"] == registry::API_VERSION {
            let admitted =
                admit_with(UnknownFields::Refuse, &object, None).unwrap_or_else(|no| panic!("{story}: {no}"));
            parse_as_its_kind(&admitted).unwrap();
        }
    }
}

#[test]
fn an_admitted_example_reads_back_the_same_from_its_type() {
    for (story, object) in objects().into_iter().filter(|(_, object)| object["kind"] == "RunnerPool") {
        let admitted = crate::admit(&object, None).unwrap();
        let typed: crate::RunnerPool = serde_json::from_value(admitted.clone()).unwrap();
        assert_eq!(
            crate::admit(&serde_json::to_value(&typed).unwrap(), None).unwrap()["spec"],
            admitted["spec"],
            "{story}"
        );
    }
}

#[test]
fn stories_and_their_files_have_names_of_their_own() {
    let stories = examples();
    let names: BTreeSet<_> = stories.iter().map(|story| story.name).collect();
    assert_eq!(names.len(), stories.len());
    for story in stories {
        let stems: BTreeSet<_> = story.objects.iter().map(|(stem, _)| stem).collect();
        assert_eq!(stems.len(), story.objects.len(), "{}", story.name);
        assert!(story.summary.ends_with('.'), "{}", story.name);
    }
}

#[test]
fn every_kind_a_person_writes_has_an_example() {
    let kinds: BTreeSet<_> = objects().iter().map(|(_, object)| object["kind"].as_str().unwrap().to_owned()).collect();
    for kind in ["HypervisorCluster", "HypervisorMachineTemplate", "RunnerSource", "RunnerPool", "MachineClaim"] {
        assert!(kinds.contains(kind), "{kind}");
    }
}

/// Every `{name, key}` below a value.
fn secret_entries(value: &Value, found: &mut Vec<(String, String)>) {
    if let (Some(name), Some(key)) =
        (value.get("name").and_then(Value::as_str), value.get("key").and_then(Value::as_str))
    {
        found.push((name.to_owned(), key.to_owned()));
    }
    for below in value.as_object().into_iter().flat_map(|fields| fields.values()) {
        secret_entries(below, found);
    }
}

#[test]
fn every_secret_entry_an_example_names_is_in_its_story_and_namespace() {
    for story in examples() {
        for (stem, object) in &story.objects {
            let mut wanted = Vec::new();
            secret_entries(&object["spec"], &mut wanted);
            for (name, key) in wanted {
                let there = story.objects.iter().any(|(_, other)| {
                    other["kind"] == "Secret"
                        && other["metadata"]["name"] == name.as_str()
                        && other["metadata"]["namespace"] == object["metadata"]["namespace"]
                        && other["stringData"].get(&key).is_some()
                });
                assert!(there, "{}/{stem} names {name}/{key}", story.name);
            }
        }
    }
}

#[test]
fn every_object_an_example_refers_to_is_in_its_story() {
    for story in examples() {
        for (stem, object) in &story.objects {
            let spec = object["spec"].as_object().into_iter().flatten();
            for (field, reference) in spec.filter(|(field, _)| field.ends_with("Ref")) {
                let there = story.objects.iter().any(|(_, other)| other["metadata"]["name"] == reference["name"]);
                assert!(there, "{}/{stem}: {field}", story.name);
            }
        }
    }
}
