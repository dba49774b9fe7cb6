//! Answers as a server could give them, and differences planted in them: what the comparison must see, and what it must not.

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Value, json};

use super::compare::{Difference, differences};
use super::normal::normalise;
use super::run::{Answer, Record};
use super::sequence::{Act, Call, Sequence, Step};

const UID: &str = "0b8de3c2-9d0f-4d56-8a3e-6f1b2c3d4e5f";
const OTHER: &str = "7c1aa3f4-0000-4d56-8a3e-6f1b2c3d4e5f";

/// Create, update, a conflict, a list, and a watch.
pub fn sequence() -> Sequence {
    let path = "/api/v1/namespaces/«ns»/configmaps";
    let send = |method| Act::Send(Call::new(method, path));
    let acts = [
        send(Method::POST),
        send(Method::PUT),
        send(Method::PUT),
        send(Method::GET),
        Act::Watch(Call::new(Method::GET, path)),
    ];
    let steps = acts.into_iter().enumerate().map(|(id, act)| Step { id, act }).collect();
    Sequence { seed: 1, steps, controllers: false }
}

fn object(name: &str, uid: &str, version: u64, value: &str) -> Value {
    let entry = |writer: &str, time: &str| {
        json!({ "manager": writer, "operation": "Update", "apiVersion": "v1", "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": { "f:data": { "f:a": {} } } })
    };
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": name, "namespace": "real-1", "uid": uid, "resourceVersion": version.to_string(),
            "creationTimestamp": "2026-03-04T05:06:07Z",
            "managedFields": [entry("bob", "2026-03-04T05:06:07Z"), entry("ann", "2026-03-04T05:06:08Z")],
        },
        "data": { "a": value },
    })
}

/// What the real server said.
pub fn record() -> Record {
    let answer =
        |status, body| Answer { status, content_type: "application/json".to_owned(), body, ..Answer::default() };
    let conflict = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 409, "reason": "Conflict",
        "message": "Operation cannot be fulfilled on configmaps \"one\": the object has been modified",
        "details": { "name": "one", "kind": "configmaps" },
    });
    let list = json!({
        "kind": "ConfigMapList", "apiVersion": "v1", "metadata": { "resourceVersion": "31" },
        "items": [object("one", UID, 12, "y"), object("two", OTHER, 14, "z")],
    });
    let event = |kind: &str, version, value| json!({ "type": kind, "object": object("one", UID, version, value) });
    let answers = [
        answer(201, object("one", UID, 10, "x")),
        answer(200, object("one", UID, 12, "y")),
        answer(409, conflict),
        answer(200, list),
        answer(200, Value::Null),
    ];
    let events = vec![event("ADDED", 10, "x"), event("MODIFIED", 12, "y"), event("DELETED", 15, "y")];
    Record {
        namespace: "real-1".to_owned(),
        answers: answers.into_iter().enumerate().collect(),
        streams: BTreeMap::from([(4, events)]),
    }
}

/// The same answers as another server gives them: other uids, versions, times, namespace.
pub fn elsewhere(record: &Record) -> Record {
    let translate = |value: &Value| -> Value {
        let text = value.to_string();
        let text = text.replace(UID, "11111111-9d0f-4d56-8a3e-6f1b2c3d4e5f").replace("real-1", "ours-1");
        let text = text.replace("2026-03-04T05:06:08", "2027-03-04T05:06:07");
        let versions = [("10", "100"), ("12", "120"), ("14", "140"), ("15", "151"), ("31", "999")];
        let text = versions.iter().fold(text, |text, (from, to)| {
            text.replace(&format!("\"resourceVersion\":\"{from}\""), &format!("\"resourceVersion\":\"{to}\""))
        });
        serde_json::from_str(&text).expect("still JSON")
    };
    let mut record = record.clone();
    "ours-1".clone_into(&mut record.namespace);
    record.answers.values_mut().for_each(|answer| answer.body = translate(&answer.body));
    record.streams.values_mut().flatten().for_each(|event| *event = translate(event));
    record
}

/// What the comparison finds when this was done to one of two equal records.
pub fn found(plant: impl FnOnce(&mut Record)) -> Vec<Difference> {
    let (sequence, real) = (sequence(), record());
    let mut ours = elsewhere(&real);
    plant(&mut ours);
    differences(&normalise(&sequence, &real), &normalise(&sequence, &ours))
}
