//! Every recorded answer that the client would read, read.

use std::collections::BTreeMap;

use serde_json::Value;

use super::config::Config;
use super::recorded::{Row, rows};
use super::resources::{self, Resource};
use super::task::Status;
use super::upid::Upid;
use crate::hypervisor::{Error, Inventory, Media, Object, Power, Shared, TaskState};

fn succeeded(path: impl Fn(&str) -> bool) -> Vec<Row> {
    let found: Vec<Row> = rows().into_iter().filter(|row| row.status == 200 && path(&row.path)).collect();
    assert!(!found.is_empty(), "the record holds such answers");
    found
}

fn content<T: serde::de::DeserializeOwned>(row: &Row) -> T {
    serde_json::from_value(row.body["data"].clone()).unwrap_or_else(|error| panic!("{}: {error}", row.path))
}

#[test]
fn every_recorded_configuration_reads() {
    for row in succeeded(|path| path.ends_with("/config")).iter().filter(|row| row.method == "GET") {
        let config = Config::from(content::<BTreeMap<String, Value>>(row));
        let facts = config.facts().expect("it has a digest");
        assert_eq!(facts.digest.as_str().len(), 40);
        assert!(facts.mac.is_some());
        assert!(facts.drives.iter().any(|drive| drive.boots && drive.size.is_some()), "{:?}", facts.drives);
        assert!(facts.drives.iter().any(|drive| drive.media == Media::CloudInit));
        assert!(facts.drives.iter().any(|drive| drive.media == Media::Tpm));
    }
}

#[test]
fn every_recorded_inventory_reads() {
    for row in succeeded(|path| path == "/cluster/resources") {
        let inventory: Inventory = resources::inventory(content::<Vec<Resource>>(&row));
        assert!(!inventory.vms.is_empty());
        assert!(inventory.vms.iter().all(|row| row.power == Power::Unknown), "no statistics daemon has run");
        let listed = row.body["data"].as_array().unwrap();
        let guests = listed.iter().filter(|entry| entry["type"] == "qemu").count();
        assert_eq!(inventory.vms.len(), guests, "no guest is left out");
        let storages = listed.iter().filter(|entry| entry["type"] == "storage").count();
        assert_eq!(inventory.storages.len(), storages);
    }
}

#[test]
fn every_recorded_task_reads() {
    let states: Vec<(String, TaskState)> = succeeded(|path| path.contains("/tasks/") && path.ends_with("/status"))
        .iter()
        .map(|row| {
            let upid: Upid = row.body["data"]["upid"].as_str().unwrap().parse().unwrap();
            (upid.kind().to_owned(), content::<Status>(row).state(&upid))
        })
        .collect();
    let failed =
        |error: &str| states.iter().any(|(_, state)| matches!(state, TaskState::Failed(e) if e.as_str() == error));
    assert!(states.contains(&("qmclone".into(), TaskState::Done { warnings: 0 })));
    assert!(states.contains(&("qmdestroy".into(), TaskState::Done { warnings: 3 })));
    for error in ["NotFound", "LockTimeout", "Locked", "AlreadyExists", "Unsupported"] {
        assert!(failed(error), "{error} is among the recorded ends");
    }
    let storage =
        Error::LockTimeout { object: Object::Image("9000".parse().unwrap()), lock: Shared::Storage("store".into()) };
    assert!(states.contains(&("qmclone".into(), TaskState::Failed(storage))));
}

#[test]
fn every_recorded_task_that_was_begun_has_a_task_id() {
    let changes = rows().into_iter().filter(|row| row.method != "GET" && row.status == 200);
    for row in changes.filter(|row| !row.body["data"].is_null()) {
        let text: Option<String> = content(&row);
        assert!(text.is_some_and(|text| text.parse::<Upid>().is_ok()), "{} {}", row.method, row.path);
    }
}
