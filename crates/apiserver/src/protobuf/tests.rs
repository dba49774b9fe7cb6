//! Bodies that a real kubectl sent.

use super::*;

/// The bytes that a real client sent, as the server logged them in hexadecimal, and the JSON that it meant.
fn recorded() -> Vec<(Vec<u8>, Value)> {
    let golden: Vec<Value> = serde_json::from_str(include_str!("../../tests/golden/protobuf.json")).unwrap();
    let bytes = |text: &str| STANDARD.decode(text).unwrap();
    golden.iter().map(|case| (bytes(case["body"].as_str().unwrap()), case["object"].clone())).collect()
}

/// Go writes fields that JSON leaves out; an empty one says nothing.
fn bare(value: &Value) -> Value {
    let empty = [Value::Null, json!(""), json!({}), json!(0), json!(false)];
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().map(|(key, value)| (key.clone(), bare(value)));
            Value::Object(kept.filter(|(_, value)| !empty.contains(value)).collect())
        }
        Value::Array(items) => items.iter().map(bare).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[test]
fn bodies_of_a_real_client_say_what_they_say_in_json() {
    let cases = recorded();
    assert!(cases.len() > 10, "the recordings are there");
    for (body, object) in cases {
        assert_eq!(bare(&read(&body).unwrap()), bare(&object));
    }
}

#[test]
fn every_message_that_is_referred_to_is_in_the_table() {
    let mut wanted = vec!["core.ConfigMap", "core.Secret", "core.Event", "rbac.Role", "coordination.Lease"];
    let mut seen = Vec::new();
    while let Some(name) = wanted.pop() {
        let fields = message(name).unwrap_or_else(|| panic!("{name} is in the table"));
        seen.push(name);
        wanted.extend(fields.values().filter_map(|field| match field.of {
            Type::Message(name) => Some(name).filter(|name| !seen.contains(name)),
            Type::Text
            | Type::Bytes
            | Type::Bool
            | Type::Int
            | Type::Time
            | Type::MicroTime
            | Type::Json
            | Type::Texts => None,
        }));
    }
    assert!(seen.contains(&"meta.OwnerReference") && seen.contains(&"core.ObjectReference"), "{seen:?}");
}

#[test]
fn bytes_that_are_no_message_are_refused() {
    let bad: [&[u8]; 6] = [
        b"",
        b"{}",
        b"k8s\0\xff",
        b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod",
        b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x03\x0a\x7f\x00",
        b"k8s\0\x0b",
    ];
    for body in bad {
        assert!(read(body).is_err(), "{body:?}");
    }
}
