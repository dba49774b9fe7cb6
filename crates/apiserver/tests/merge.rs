//! Replays requests that a real kube-apiserver 1.36.3 answered, and expects the same objects, ownership and refusals.
//!
//! `merge/recorded.json` holds written scenarios, `merge/recorded_random.json` drawn ones; in both the times of ownership
//! are replaced by the number of the step that set them. Steps that the server refused for reasons outside of merging
//! (validation, names) are left out. What surrounds merging in a server is played by `merge/around.rs`.
#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "merge/around.rs"]
mod around;

use apiserver::failure::{Failure, Of};
use apiserver::merge::apply::apply;
use apiserver::merge::managed::settle_times;
use apiserver::merge::patch::{PatchKind, configuration, json_patch, merge_patch, strategic_merge};
use apiserver::merge::track::{Strategy, Writer, resets, track};
use apiserver::merge::{blank, track_scale};
use around::Around;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const START: &str = "2026-01-01T00:00:00Z";

#[test]
fn written_scenarios_end_as_in_the_real_server() {
    replay(include_str!("merge/recorded.json"), 45);
}

#[test]
fn drawn_scenarios_end_as_in_the_real_server() {
    replay(include_str!("merge/recorded_random.json"), 12);
}

fn replay(recorded: &str, at_least: usize) {
    let around = Around::new(include_str!("merge/schemas.json"));
    let scenarios: Vec<Value> = serde_json::from_str(recorded).unwrap();
    assert!(scenarios.len() >= at_least, "{} scenarios", scenarios.len());
    let mut wrong = Vec::new();
    for scenario in &scenarios {
        wrong.extend(run(&around, scenario));
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

/// Runs a scenario, each step on what the real server had then; the differences.
fn run(around: &Around, scenario: &Value) -> Vec<String> {
    let kind = scenario["kind"].as_str().unwrap();
    let mut live: Option<Value> = None;
    let mut wrong = Vec::new();
    for step in scenario["steps"].as_array().unwrap() {
        let told = |what: &str, want: &Value, got: &Value| {
            let (title, at, body) = (&scenario["title"], &step["at"], &step["body"]);
            format!("{title} step {at}: {what}\n  body {body}\n  want {want}\n  got  {got}")
        };
        match (step.get("object"), perform(around, kind, live.as_ref(), step)) {
            (Some(want), Ok(got)) if *want == got => {}
            (Some(want), Ok(got)) => wrong.push(told("object", want, &got)),
            (Some(want), Err(failure)) => wrong.push(told("refused", want, &failure.to_status())),
            (None, Ok(got)) => wrong.push(told("not refused", &step["failure"], &got)),
            (None, Err(failure)) => {
                let got = sorted(failure.to_status());
                let want = sorted(step["failure"].clone());
                let same = ["message", "reason", "details"].iter().all(|name| want.get(name) == got.get(name));
                let message = |status: &Value| status["message"].as_str().unwrap().to_owned();
                // Parsers have their own words for what is not YAML.
                let yaml = message(&got).starts_with("error decoding YAML: error converting YAML to JSON: yaml:");
                if got["code"] != step["code"] || !(same || yaml) {
                    wrong.push(told("refusal", &step["failure"], &got));
                }
            }
        }
        live = step.get("object").cloned().or(live);
    }
    wrong
}

/// A refusal with its causes in order: the real server mixes the owners of conflicts.
fn sorted(refusal: Value) -> Value {
    let mut refusal = refusal;
    if let Some(causes) = refusal.pointer_mut("/details/causes").and_then(Value::as_array_mut) {
        causes.sort_by_key(ToString::to_string);
    }
    refusal
}

/// One request, as a server would serve it around merging.
fn perform(around: &Around, kind: &str, live: Option<&Value>, step: &Value) -> Result<Value, Failure> {
    let text = |name: &str| step.get(name).and_then(Value::as_str).unwrap_or_default();
    let (op, subresource, body) = (text("op"), text("sub"), &step["body"]);
    let (api_version, name) = Around::kind(kind);
    let custom = kind == "lamp";
    let reset = resets(match (subresource, custom || kind == "ns") {
        ("status", _) => Strategy::CustomStatus,
        ("", status) => Strategy::Main { status },
        (_, _) => Strategy::Nothing,
    });
    let blank = blank(api_version, name);
    let writer = Writer {
        name: text("by"),
        subresource,
        api_version,
        kind: name,
        kin: &[],
        reset: &reset,
        blank: (!custom).then_some(&blank),
        now: START.parse::<Timestamp>().unwrap() + SignedDuration::from_secs(step["at"].as_i64().unwrap()),
    };
    let bytes = body.as_str().map_or_else(|| body.to_string(), ToOwned::to_owned).into_bytes();
    let schema = around.schema(kind);

    if op != "create" && op != "update" {
        let media = match op {
            "json" => "application/json-patch+json",
            "merge" => "application/merge-patch+json; charset=utf-8",
            "strategic" => "application/strategic-merge-patch+json",
            _ => "application/apply-patch+yaml",
        };
        let patch = PatchKind::of(media, custom)?;
        let violations = patch.wrong_options(writer.name, step.get("force").and_then(Value::as_bool));
        if !violations.is_empty() {
            let of = Of { group: "meta.k8s.io", name: "PatchOptions" };
            return Err(Failure::invalid(of, "", &violations));
        }
        if patch == PatchKind::Apply {
            let force = step.get("force") == Some(&json!(true));
            let applied = apply(schema, live, &configuration(&bytes)?, &writer, force)?;
            let finished = finish(kind, live, around.default(kind, applied), subresource);
            return Ok(around.decode(kind, finished));
        }
    }
    let before = live.cloned().unwrap_or_default();
    if subresource == "scale" {
        let mut new = before.clone();
        new["spec"]["replicas"] = body["spec"]["replicas"].clone();
        let new = track_scale(&before, new, &["spec", "replicas"], &writer);
        return Ok(finish(kind, live, new, ""));
    }
    let new = match op {
        "json" => json_patch(&before, &bytes)?,
        "merge" => merge_patch(&before, &bytes)?,
        "strategic" => strategic_merge(schema, &before, &bytes)?,
        _ => body.clone(),
    };
    let new = track(schema, live, around.decode(kind, new), &writer);
    Ok(finish(kind, live, new, subresource))
}

fn finish(kind: &str, live: Option<&Value>, new: Value, subresource: &str) -> Value {
    let mut new = Around::prepare(kind, live, new, subresource);
    if let Some(live) = live {
        settle_times(live, &mut new);
    }
    new
}
