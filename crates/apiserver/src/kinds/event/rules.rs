//! What an event must and must not say. Events of the old kind have no `eventTime`; what has one is held to more.

use api::Violation;
use serde_json::Value;

use crate::kinds::field::{immutable, immutable_text, internal, invalid_shown, invalid_text, required, text};
use crate::kinds::names;

const SHORT: usize = 128;
const NOTE: usize = 1024;

/// The rules of both forms.
pub(super) fn legacy(event: &Value, reporter: &str) -> Vec<Violation> {
    let (namespace, about) = (text(event, "/metadata/namespace"), text(event, "/involvedObject/namespace"));
    let elsewhere = || invalid_text("involvedObject.namespace", about, "does not match event.namespace");
    let mut found = Vec::new();
    if is_set(event, "/eventTime") {
        if about.is_empty() && !matches!(namespace, "default" | "kube-system") {
            found.push(elsewhere());
        }
        found.extend(timed(event, reporter));
    } else if about.is_empty() {
        if !matches!(namespace, "" | "default") {
            found.push(elsewhere());
        }
    } else if about != namespace {
        found.push(elsewhere());
    }
    found.extend(names::subdomain(namespace).into_iter().map(|wrong| invalid_text("namespace", namespace, wrong)));
    found
}

fn timed(event: &Value, reporter: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    let controller = text(event, "/reportingComponent");
    if controller.is_empty() {
        found.push(required(reporter, ""));
    }
    found.extend(names::qualified(controller).into_iter().map(|wrong| invalid_text(reporter, controller, wrong)));
    for field in ["reportingInstance", "action", "reason"] {
        let value = text(event, &format!("/{field}"));
        if value.is_empty() {
            found.push(required(field, ""));
        }
        found.extend(at_most(field, value, SHORT));
    }
    found.extend(at_most("message", text(event, "/message"), NOTE));
    found
}

fn at_most(field: &str, value: &str, limit: usize) -> Option<Violation> {
    let detail = format!("can have at most {limit} characters");
    (value.len() > limit).then(|| invalid_text(field, "", detail))
}

/// What `events.k8s.io/v1` demands of a new event beyond.
pub(super) fn strict(event: &Value) -> Vec<Violation> {
    let mut found = series(event);
    if !is_set(event, "/eventTime") {
        found.push(required("eventTime", ""));
    }
    let kind = text(event, "/type");
    if !matches!(kind, "Normal" | "Warning") {
        found.push(invalid_text("type", "", format!("has invalid value: {kind}")));
    }
    let unset = |field: &str| invalid_text(field, "", "needs to be unset");
    for field in ["firstTimestamp", "lastTimestamp", "count"] {
        if is_set(event, &format!("/{field}")) {
            found.push(unset(field));
        }
    }
    if is_set(event, "/source/component") || is_set(event, "/source/host") {
        found.push(unset("source"));
    }
    found
}

/// What `events.k8s.io/v1` allows to change.
pub(super) fn strict_step(new: &Value, old: &Value) -> Vec<Violation> {
    let mut found = if new.get("series") == old.get("series") { Vec::new() } else { series(new) };
    let whole = |field: &'static str| immutable_internal(field, new.get(field), old.get(field));
    let word = |name: &str, field: &str| {
        immutable_text(name, text(new, &format!("/{field}")), text(old, &format!("/{field}")))
    };
    found.extend(whole("involvedObject"));
    found.extend(word("reason", "reason"));
    found.extend(word("message", "message"));
    found.extend(whole("source"));
    found.extend(immutable("firstTimestamp", new.get("firstTimestamp"), old.get("firstTimestamp")));
    found.extend(immutable("lastTimestamp", new.get("lastTimestamp"), old.get("lastTimestamp")));
    let count = |event: &Value| event.get("count").cloned().unwrap_or_else(|| Value::from(0));
    found.extend(immutable("count", Some(&count(new)), Some(&count(old))));
    found.extend(word("reason", "reason"));
    found.extend(word("type", "type"));
    found.extend(immutable("eventTime", new.get("eventTime"), old.get("eventTime")));
    found.extend(word("action", "action"));
    found.extend(whole("related"));
    found.extend(word("reportingController", "reportingComponent"));
    found.extend(word("reportingInstance", "reportingInstance"));
    found
}

fn series(event: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    if let Some(series) = event.get("series").filter(|series| series.is_object()) {
        if series.get("count").and_then(Value::as_i64).unwrap_or_default() < 2 {
            found.push(invalid_text("series.count", "", "should be at least 2"));
        }
        if !is_set(series, "/lastObservedTime") {
            found.push(required("series.lastObservedTime", ""));
        }
    }
    found
}

fn is_set(event: &Value, pointer: &str) -> bool {
    match event.pointer(pointer) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => true,
    }
}

/// A struct is shown with the names of its Go fields, and all of them.
fn immutable_internal(field: &str, new: Option<&Value>, old: Option<&Value>) -> Option<Violation> {
    immutable(field, new, old)?;
    let names: &[(&str, &str)] = match field {
        "source" => &[("Component", "component"), ("Host", "host")],
        _ => &[
            ("Kind", "kind"),
            ("Namespace", "namespace"),
            ("Name", "name"),
            ("UID", "uid"),
            ("APIVersion", "apiVersion"),
            ("ResourceVersion", "resourceVersion"),
            ("FieldPath", "fieldPath"),
        ],
    };
    Some(invalid_shown(field, &internal(new.unwrap_or(&Value::Null), names), "field is immutable"))
}
