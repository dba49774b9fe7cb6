//! Events, which are one thing under two names: `v1` is what is stored, `events.k8s.io/v1` is the same in other words,
//! with stricter rules.

use std::borrow::Cow;

use api::Violation;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::built_in::{column, kind, name_column, wide};
use super::field::text;
use super::{metadata, shape};
use crate::kind::{BuiltIn, Column, Kind};
use crate::table::duration::since;

mod rules;

const CORE: &str = "io.k8s.api.core.v1.Event";
const NEW: &str = "io.k8s.api.events.v1.Event";
/// The group of the newer form.
pub const GROUP: &str = "events.k8s.io";

/// `v1` and `events.k8s.io/v1` word for word; the rest has the same name in both.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

struct CoreEvent;
struct NewEvent;

pub(super) fn core_event() -> Kind {
    let short_names = vec!["ev".to_owned()];
    Kind { short_names, columns: columns(), ..kind("", "Event", "events", CORE, &CoreEvent) }
}

pub(super) fn new_event() -> Kind {
    let short_names = vec!["ev".to_owned()];
    Kind { short_names, columns: columns(), ..kind(GROUP, "Event", "events", NEW, &NewEvent) }
}

/// A stored event as `events.k8s.io/v1` shows it.
pub fn to_new(core: &Value) -> Value {
    convert(core, "events.k8s.io/v1", NEW, |name| RENAMED.iter().find(|(old, _)| *old == name).map(|(_, new)| *new))
}

/// An `events.k8s.io/v1` event as it is stored.
pub fn to_core(new: &Value) -> Value {
    convert(new, "v1", CORE, |name| RENAMED.iter().find(|(_, new)| *new == name).map(|(old, _)| *old))
}

fn to_core_if_new(event: &Value) -> Cow<'_, Value> {
    if event.get("regarding").is_some() { Cow::Owned(to_core(event)) } else { Cow::Borrowed(event) }
}

fn convert(from: &Value, api_version: &str, definition: &str, rename: impl Fn(&str) -> Option<&'static str>) -> Value {
    let fields = from.as_object().into_iter().flatten();
    let mut fields: Map<String, Value> =
        fields.map(|(key, value)| (rename(key).map_or_else(|| key.clone(), str::to_owned), value.clone())).collect();
    fields.insert("apiVersion".to_owned(), json!(api_version));
    let mut to = Value::Object(fields);
    shape::settle(definition, &mut to);
    to
}

fn columns() -> Vec<Column> {
    let said = |field: &str| super::description(CORE, field);
    vec![
        column("Last Seen", "string", &said("lastTimestamp")),
        column("Type", "string", &said("type")),
        column("Reason", "string", &said("reason")),
        column("Object", "string", &said("involvedObject")),
        wide("Subobject", "string", &super::description("io.k8s.api.core.v1.ObjectReference", "fieldPath")),
        wide("Source", "string", &said("source")),
        column("Message", "string", &said("message")),
        wide("First Seen", "string", &said("firstTimestamp")),
        wide("Count", "string", &said("count")),
        Column { priority: 1, ..name_column() },
    ]
}

impl BuiltIn for CoreEvent {
    fn default(&self, object: &mut Value) {
        shape::settle(CORE, object);
    }

    fn prepare(&self, _: &mut Value, _: Option<&Value>, _: bool) {}

    fn violations(&self, new: &Value, _: Option<&Value>, _: bool) -> Vec<Violation> {
        rules::legacy(new, "reportingComponent")
    }

    fn selectable(&self, object: &Value) -> Vec<(&'static str, String)> {
        let source = [text(object, "/source/component"), text(object, "/reportingComponent")];
        let source = source.into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned();
        let mut fields = selectable(object, &INVOLVED);
        fields.push(("reportingComponent", text(object, "/reportingComponent").to_owned()));
        fields.push(("source", source));
        fields
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(object, now)
    }
}

/// Rules are asked about the stored form; cells and fields about either.
impl BuiltIn for NewEvent {
    fn default(&self, object: &mut Value) {
        shape::settle(NEW, object);
    }

    fn prepare(&self, _: &mut Value, _: Option<&Value>, _: bool) {}

    fn violations(&self, new: &Value, old: Option<&Value>, _: bool) -> Vec<Violation> {
        let mut found = rules::legacy(new, "reportingController");
        match old {
            None => {
                found.extend(metadata::of_core_object(new, true, metadata::subdomain));
                found.extend(rules::strict(new));
            }
            Some(old) => {
                found.extend(metadata::of_core_step(new, old));
                found.extend(rules::strict_step(new, old));
            }
        }
        found
    }

    fn selectable(&self, object: &Value) -> Vec<(&'static str, String)> {
        let object = &to_core_if_new(object);
        let mut fields = selectable(object, &REGARDING);
        fields.push(("reportingController", text(object, "/reportingComponent").to_owned()));
        fields
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(&to_core_if_new(object), now)
    }
}

const PARTS: [&str; 7] = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];
const INVOLVED: [&str; 7] = [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
];
const REGARDING: [&str; 7] = [
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
];

fn selectable(object: &Value, labels: &[&'static str; 7]) -> Vec<(&'static str, String)> {
    let value = |pointer: String| text(object, &pointer).to_owned();
    let about = labels.iter().zip(PARTS).map(|(label, part)| (*label, value(format!("/involvedObject/{part}"))));
    about.chain([("reason", value("/reason".to_owned())), ("type", value("/type".to_owned()))]).collect()
}

fn cells(event: &Value, now: Timestamp) -> Vec<Value> {
    let at = |pointer: &str| event.pointer(pointer).filter(|time| !time.is_null());
    let first = since(at("/firstTimestamp").or_else(|| at("/eventTime")), now);
    let mut last = at("/lastTimestamp").map_or_else(|| first.clone(), |time| since(Some(time), now));
    let mut count = event.get("count").and_then(Value::as_i64).filter(|count| *count != 0).unwrap_or(1);
    if let Some(series) = event.get("series").filter(|series| series.is_object()) {
        last = since(series.get("lastObservedTime"), now);
        count = series.get("count").and_then(Value::as_i64).unwrap_or_default();
    }
    let (kind, name) = (text(event, "/involvedObject/kind").to_lowercase(), text(event, "/involvedObject/name"));
    let target = if name.is_empty() { kind } else { format!("{kind}/{name}") };
    vec![
        json!(last),
        json!(text(event, "/type")),
        json!(text(event, "/reason")),
        json!(target),
        json!(text(event, "/involvedObject/fieldPath")),
        json!(source(event)),
        json!(text(event, "/message").trim()),
        json!(first),
        json!(count),
        json!(text(event, "/metadata/name")),
    ]
}

fn source(event: &Value) -> String {
    let first = |pointers: [&str; 2]| pointers.into_iter().map(|at| text(event, at)).find(|text| !text.is_empty());
    let component = first(["/source/component", "/reportingComponent"]).unwrap_or_default();
    match first(["/source/host", "/reportingInstance"]) {
        Some(instance) => format!("{component}, {instance}"),
        None => component.to_owned(),
    }
}
