//! Answers against the `returns` part of the official schema, which recorded answers overrule.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use sim::proxmox::{Fixture, Options, Profile, Release};

use crate::golden::{as_8_4, play_all, rows};
use crate::replay::{Player, clock};

/// Where recorded answers of real Proxmox code contradict the schema; nothing else may.
const CONTRADICTIONS: &[&str] = &[
    // A string, "100".
    "GET /cluster/nextid is not of type integer",
    // A string, "1.5".
    "GET /nodes/{node}/qemu/{vmid}/config.cpulimit is not of type number",
    // Numbers where the option is one.
    "GET /nodes/{node}/qemu/{vmid}/pending[].value is not of type string",
    // Null where there is none.
    "GET /nodes/{node}/storage/{storage}/content[].parent is not of type string",
    // Null when the change was made while the call waited.
    "POST /nodes/{node}/qemu/{vmid}/config is not of type string",
];

fn schema(release: Release) -> Map<String, Value> {
    let text = match release {
        Release::V8 => include_str!("../../schema/pve-8.4.json"),
        Release::V9 => include_str!("../../schema/pve-9.1.3.json"),
    };
    serde_json::from_str(text).unwrap()
}

/// The path template that a path belongs to.
fn template<'a>(schema: &'a Map<String, Value>, verb: &str, path: &str) -> Option<&'a str> {
    let parts: Vec<&str> = path.split('?').next()?.split('/').filter(|part| !part.is_empty()).collect();
    let fits = |template: &str| {
        let words: Vec<&str> = template.split('/').filter(|part| !part.is_empty()).collect();
        words.len() == parts.len() && words.iter().zip(&parts).all(|(word, part)| word.starts_with('{') || word == part)
    };
    let mut candidates: Vec<&str> = schema
        .iter()
        .filter(|(template, verbs)| fits(template) && verbs.get(verb).is_some())
        .map(|(t, _)| t.as_str())
        .collect();
    candidates.sort_by_key(|template| template.matches('{').count());
    candidates.first().copied()
}

/// Everything in `value` that `rule` does not allow, as places in the answer.
fn wrong(value: &Value, rule: &Value, place: &str, found: &mut BTreeSet<String>) {
    let kind = rule["type"].as_str().unwrap_or("any");
    let right = match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean() || value == 0 || value == 1,
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    if !right {
        found.insert(format!("{place} is not of type {kind}"));
        return;
    }
    for item in value.as_array().into_iter().flatten() {
        wrong(item, &rule["items"], &format!("{place}[]"), found);
    }
    let Some(members) = value.as_object() else { return };
    for (name, rule) in rule["properties"].as_object().into_iter().flatten() {
        match members.get(name) {
            Some(member) => wrong(member, rule, &format!("{place}.{name}"), found),
            None if rule["optional"] == 1 || rule["optional"] == "1" => {}
            None => {
                found.insert(format!("{place}.{name} is missing"));
            }
        }
    }
}

/// The contradictions between answers and schema.
fn contradictions<'a>(
    release: Release,
    answers: impl Iterator<Item = (&'a str, &'a str, &'a Value)>,
) -> BTreeSet<String> {
    let (schema, mut found) = (schema(release), BTreeSet::new());
    for (verb, path, body) in answers {
        let Some(template) = template(&schema, verb, path) else { continue };
        wrong(&body["data"], &schema[template][verb]["returns"], &format!("{verb} {template}"), &mut found);
    }
    found
}

fn known() -> BTreeSet<String> {
    CONTRADICTIONS.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn every_listed_contradiction_is_one_of_a_recorded_answer() {
    let rows = rows();
    let good = rows.iter().filter(|row| row.status == 200);
    let found = contradictions(Release::V9, good.map(|row| (row.method.as_str(), row.path.as_str(), &row.body)));
    assert_eq!(found, known());
}

#[tokio::test(start_paused = true)]
async fn our_answers_to_the_recorded_calls_contradict_the_schema_nowhere_else() {
    for release in [Release::V8, Release::V9] {
        let rows: Vec<_> = rows()
            .iter()
            .enumerate()
            .map(|(number, row)| match release {
                Release::V8 => as_8_4(number, row),
                Release::V9 => row.clone(),
            })
            .collect();
        let answers = play_all(release, &rows).await;
        let good = rows.iter().zip(&answers).filter(|(_, answer)| answer.status == 200);
        let found =
            contradictions(release, good.map(|(row, answer)| (row.method.as_str(), row.path.as_str(), &answer.body)));
        let more: Vec<_> = found.difference(&known()).cloned().collect();
        assert!(more.is_empty(), "{release:?}: {more:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn neither_do_those_about_a_running_machine() {
    for release in [Release::V8, Release::V9] {
        let options = Options { profile: Profile::NVME_LINKED, ..Options::new(release, Fixture::Demo, clock()) };
        let mut cluster = Player::over(options);
        assert_eq!(cluster.work("POST", "/nodes/pve1/qemu/9000/clone", "newid=101&pool=hf").await, "OK");
        assert_eq!(cluster.work("POST", "/nodes/pve1/qemu/101/status/start", "").await, "OK");
        tokio::time::sleep(std::time::Duration::from_secs(15)).await;
        let paths = [
            "/version",
            "/cluster/resources",
            "/cluster/status",
            "/cluster/tasks",
            "/cluster/nextid",
            "/nodes",
            "/nodes/pve1/status",
            "/nodes/pve1/network",
            "/nodes/pve1/qemu",
            "/nodes/pve1/qemu/101/config",
            "/nodes/pve1/qemu/101/pending",
            "/nodes/pve1/qemu/101/status/current",
            "/nodes/pve1/qemu/9000/feature?feature=clone",
            "/nodes/pve1/storage",
            "/nodes/pve1/storage/disks/status",
            "/nodes/pve1/storage/disks/content",
            "/nodes/pve1/tasks",
            "/pools",
            "/storage",
            "/access/permissions",
        ];
        let mut answers = Vec::new();
        for path in paths {
            answers.push((path, cluster.must("GET", path, "").await));
        }
        let bodies: Vec<(&str, Value)> =
            answers.into_iter().map(|(path, data)| (path, serde_json::json!({ "data": data }))).collect();
        let found = contradictions(release, bodies.iter().map(|(path, body)| ("GET", *path, body)));
        let more: Vec<_> = found.difference(&known()).cloned().collect();
        assert!(more.is_empty(), "{release:?}: {more:#?}");
    }
}
