//! What the built-in kinds make of objects, against what a real server answered to the same.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use api::Violation;
use apiserver::kind::{BuiltIn, Kind, Nature};
use apiserver::{Failure, kinds};
use serde_json::{Value, json};

const KINDS: &str = include_str!("golden/validation.json");
const DEFINITIONS: &str = include_str!("golden/definitions.json");

/// Long texts are written short in the recordings.
fn expand(value: &mut Value) {
    match value {
        Value::String(text) if text.starts_with('×') => {
            let parts: Vec<&str> = text.split('×').collect();
            *text = parts[1].repeat(parts[2].parse().unwrap());
        }
        Value::Array(items) => items.iter_mut().for_each(expand),
        Value::Object(fields) => fields.values_mut().for_each(expand),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn served(path: &str) -> (Kind, Option<String>) {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (group, rest) = if parts[0] == "api" { ("", &parts[2..]) } else { (parts[1], &parts[3..]) };
    let (namespace, plural) = match rest {
        ["namespaces", namespace, plural] => (Some((*namespace).to_owned()), *plural),
        [plural] => (None, *plural),
        other => panic!("no such path: {other:?}"),
    };
    let kind = kinds::kinds().into_iter().find(|kind| kind.group == group && kind.plural == plural);
    (kind.unwrap(), namespace)
}

fn rules(kind: &Kind) -> &'static dyn BuiltIn {
    match kind.nature {
        Nature::BuiltIn(rules) => rules,
        Nature::Custom(_) => panic!("{} is built in", kind.kind),
    }
}

/// What the server does with an object between decoding and storing it.
fn admit(kind: &Kind, namespace: Option<&str>, case: &Value) -> Result<Value, Failure> {
    let mut new = case["new"].clone();
    expand(&mut new);
    let unknown = kinds::decode_check(kind, &new)?;
    assert_eq!(unknown, Vec::<String>::new(), "{}", case["about"]);
    new["apiVersion"] = json!(kind.api_version());
    new["kind"] = json!(kind.kind);
    if let Some(namespace) = namespace {
        new["metadata"]["namespace"] = json!(namespace);
    } else {
        new["metadata"].as_object_mut().unwrap().remove("namespace");
    }
    rules(kind).default(&mut new);
    let event = kind.group == kinds::event::GROUP;
    let stored = |object: &Value| if event { kinds::event::to_core(object) } else { object.clone() };
    let mut new = stored(&new);
    let old = case.get("old").map(stored);
    let violations = judge(kind, &mut new, old.as_ref(), case["subresource"].as_str());
    if !violations.is_empty() {
        let name = new["metadata"]["name"].as_str().unwrap_or_default();
        // Events are one kind, and that is the core's.
        let of = if event { apiserver::failure::Of { group: "", name: "Event" } } else { kind.kind() };
        return Err(Failure::invalid(of, name, &violations));
    }
    Ok(if event { kinds::event::to_new(&new) } else { new })
}

fn judge(kind: &Kind, new: &mut Value, old: Option<&Value>, subresource: Option<&str>) -> Vec<Violation> {
    match (subresource, old) {
        (Some("finalize"), Some(old)) => {
            kinds::namespace::prepare_finalize(new, old);
            let mut found = kinds::metadata::violations(kind, new, Some(old));
            found.extend(kinds::namespace::finalize_violations(new, old));
            found
        }
        (subresource, old) => {
            let status = subresource == Some("status");
            rules(kind).prepare(new, old, status);
            kinds::violations(kind, new, old, status)
        }
    }
}

fn answer(outcome: Result<Value, Failure>) -> Value {
    match outcome {
        Ok(mut object) => {
            for field in ["uid", "resourceVersion", "creationTimestamp", "generation"] {
                object["metadata"].as_object_mut().unwrap().remove(field);
            }
            json!({ "object": object })
        }
        Err(failure) => {
            let mut answer = json!({ "code": failure.code.as_u16(), "message": failure.message });
            if let Some(details) = failure.details {
                let causes = details.causes.iter().map(|it| json!([it.reason, it.field, it.message]));
                answer["causes"] = causes.collect();
            }
            answer
        }
    }
}

fn compare(recorded: &str) {
    let cases: Vec<Value> = serde_json::from_str(recorded).unwrap();
    assert!(cases.len() > 20, "the recordings are there");
    let mut wrong = Vec::new();
    for case in &cases {
        let (kind, namespace) = served(case["path"].as_str().unwrap());
        let got = answer(admit(&kind, namespace.as_deref(), case));
        if got != case["answer"] {
            let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap();
            wrong.push(format!("{}\n  got {}\n  but {}", case["about"], pretty(&got), pretty(&case["answer"])));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn built_in_kinds_say_what_the_server_says() {
    compare(KINDS);
}

#[test]
fn definitions_are_judged_as_the_server_does() {
    compare(DEFINITIONS);
}
