//! Removes objects: at once, or by marking them until their finalizers are done.

use std::sync::Arc;

use api::{Cause, Violation};
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::cluster::{Cluster, namespaces, stamp};
use crate::failure::{Failure, Of};
use crate::kind::Kind;
use crate::query::{dry_run_violations, unsupported};
use crate::store::{Key, Record, Resource};
use crate::verb::list::{self, Selection};
use crate::verb::present;
use crate::{decode, object};

/// The finalizer of an object that leaves those it owns behind.
pub(crate) const ORPHAN: &str = "orphan";
/// The finalizer of an object that waits until those it owns are gone.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// How an object is to be removed.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    uid: Option<String>,
    version: Option<String>,
    /// `Orphan`, `Background` or `Foreground`.
    propagation: Option<String>,
    orphan: Option<bool>,
    dry_run: bool,
}

impl DeleteOptions {
    /// A removal that treats those that the object owns as `propagation` says.
    pub(crate) fn propagating(propagation: &str) -> Self {
        Self { propagation: Some(propagation.to_owned()), ..Self::default() }
    }

    fn read(call: &Call) -> Result<Self, Failure> {
        let options = if call.body.is_empty() { from_query(call)? } else { from_body(call)? };
        let text = |pointer: &str| options.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let read = Self {
            uid: text("/preconditions/uid"),
            version: text("/preconditions/resourceVersion"),
            propagation: text("/propagationPolicy"),
            orphan: options.get("orphanDependents").and_then(Value::as_bool),
            dry_run: options.get("dryRun").and_then(Value::as_array).is_some_and(|list| !list.is_empty()),
        };
        let violations = read.violations(&options);
        if violations.is_empty() {
            return Ok(read);
        }
        Err(Failure::invalid(Of { group: "meta.k8s.io", name: "DeleteOptions" }, "", &violations))
    }

    fn violations(&self, options: &Value) -> Vec<Violation> {
        let mut violations = Vec::new();
        if self.orphan.is_some()
            && let Some(word) = self.propagation.as_deref()
        {
            let message =
                format!("Invalid value: {word:?}: orphanDependents and deletionPropagation cannot be both set");
            violations.push(Violation::at("propagationPolicy", Cause::Invalid, message));
        }
        if let Some(word) = self.propagation.as_deref()
            && !matches!(word, "Foreground" | "Background" | "Orphan")
        {
            violations.push(unsupported("propagationPolicy", word, &["Foreground", "Background", "Orphan", "nil"]));
        }
        let runs: Vec<String> = options
            .get("dryRun")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        violations.extend(dry_run_violations(&runs));
        violations
    }

    /// The finalizers that a removal so asked for puts on an object.
    fn finalizers(&self, object: &Value) -> Vec<String> {
        let held = object::finalizers(object);
        let wanted = match (self.orphan, self.propagation.as_deref()) {
            (Some(true), _) | (None, Some("Orphan")) => Some(ORPHAN),
            (None, Some("Foreground")) => Some(FOREGROUND),
            (Some(false), _) | (None, Some(_)) => None,
            (None, None) => held.iter().find_map(|name| [ORPHAN, FOREGROUND].into_iter().find(|known| known == name)),
        };
        let others = held.into_iter().filter(|name| *name != ORPHAN && *name != FOREGROUND);
        others.chain(wanted).map(str::to_owned).collect()
    }
}

/// Whether a value is of a type.
type Holds = fn(&Value) -> bool;

/// The options in a body, whose types are as strict as those of any object.
fn from_body(call: &Call) -> Result<Value, Failure> {
    let options = decode::body(&call.body, &call.content_type)?.value;
    if !options.is_object() {
        return Err(Failure::bad_request("couldn't get version/kind; json parse error: not an object"));
    }
    let text = |field: &str| options.get(field).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (text("kind"), text("apiVersion"));
    if !matches!(kind, "" | "DeleteOptions") {
        let message =
            format!("no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\"");
        return Err(Failure::bad_request(message));
    }
    let fields: [(&str, &str, Holds); 5] = [
        ("gracePeriodSeconds", "int64", Value::is_i64),
        ("propagationPolicy", "string", Value::is_string),
        ("orphanDependents", "bool", Value::is_boolean),
        ("dryRun", "[]string", Value::is_array),
        ("preconditions", "v1.Preconditions", Value::is_object),
    ];
    for (field, of, holds) in fields {
        let Some(value) = options.get(field).filter(|value| !value.is_null() && !holds(value)) else { continue };
        let given = match value {
            Value::String(_) => "string".to_owned(),
            Value::Number(number) if number.is_f64() => format!("number {number}"),
            Value::Number(_) => "number".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            Value::Array(_) => "array".to_owned(),
            Value::Object(_) | Value::Null => "object".to_owned(),
        };
        let message = format!("json: cannot unmarshal {given} into Go struct field DeleteOptions.{field} of type {of}");
        return Err(Failure::bad_request(message));
    }
    Ok(options)
}

fn from_query(call: &Call) -> Result<Value, Failure> {
    let mut options = json!({});
    if let Some(seconds) = call.query.number::<i64>("gracePeriodSeconds")? {
        options["gracePeriodSeconds"] = json!(seconds);
    }
    if !call.query.text("propagationPolicy").is_empty() {
        options["propagationPolicy"] = json!(call.query.text("propagationPolicy"));
    }
    if let Some(orphan) = call.query.flag("orphanDependents") {
        options["orphanDependents"] = json!(orphan);
    }
    if !call.query.all("dryRun").is_empty() {
        options["dryRun"] = json!(call.query.all("dryRun"));
    }
    Ok(options)
}

/// `DELETE` of an object.
pub(crate) fn delete(cluster: &mut Cluster, call: &Call) -> Result<Answer, Failure> {
    let options = DeleteOptions::read(call)?;
    immortal(call.kind(), &call.target.name)?;
    let kind = call.kind();
    let not_found = || Failure::not_found(kind.resource(), &call.target.name);
    let object = cluster.read(&call.served.resource, &call.key()).ok_or_else(not_found)?;
    meant(kind, &options, &object)?;
    match end(cluster, &call.served.resource, &call.key(), &options, call.now)? {
        End::Marked(record) => Ok(present::one(call, StatusCode::OK, &record)),
        End::Gone(record) if shows_last(kind) => Ok(present::one(call, StatusCode::OK, &record)),
        End::Gone(_) => Ok(Answer::json(StatusCode::OK, &farewell(kind, &object))),
    }
}

/// `DELETE` of a collection, or of the part of it that a list with the same options has.
pub(crate) fn delete_collection(cluster: &mut Cluster, call: &Call) -> Result<Answer, Failure> {
    Selection::read(call)?;
    let options = DeleteOptions::read(call)?;
    let mut page = list::page(cluster, call)?;
    page.records.retain(|record| immortal(call.kind(), object::name(&record.parse())).is_ok());
    for record in &page.records {
        let object = record.parse();
        meant(call.kind(), &options, &object)?;
        end(cluster, &call.served.resource, &object::key(&object), &options, call.now)?;
    }
    Ok(present::many(call, &page))
}

/// What a removal came to.
pub(crate) enum End {
    /// The object waits for its finalizers.
    Marked(Arc<Record>),
    /// It is gone; this is how it was last seen.
    Gone(Arc<Record>),
}

/// Removes an object, or marks it if somebody has to do something first.
pub(crate) fn end(
    cluster: &mut Cluster,
    resource: &Resource,
    key: &Key,
    options: &DeleteOptions,
    now: Timestamp,
) -> Result<End, Failure> {
    let Some(object) = cluster.read(resource, key) else {
        return Err(Failure::not_found(Of { group: &resource.group, name: &resource.plural }, &key.name));
    };
    let finalizers = options.finalizers(&object);
    let marked = mark(resource, &object, &finalizers, now);
    let shown = |object: &Value| {
        let revision = object::text(object, "resourceVersion").parse().unwrap_or(0);
        Arc::new(Record::new(object, revision))
    };
    if finalizers.is_empty() && !namespace_waits(resource, &object) {
        if options.dry_run {
            return Ok(End::Gone(shown(&object)));
        }
        let last = cluster.remove(resource, key)?;
        return Ok(End::Gone(last.unwrap_or_else(|| shown(&object))));
    }
    if options.dry_run || marked == object {
        return Ok(End::Marked(shown(&marked)));
    }
    cluster.put(resource, marked).map(End::Marked)
}

/// The object on its way out.
fn mark(resource: &Resource, object: &Value, finalizers: &[String], now: Timestamp) -> Value {
    let mut marked = object.clone();
    object::set(&mut marked, "finalizers", json!(finalizers));
    if !object::is_going(object) {
        let generation = object::generation(object);
        if generation > 0 {
            object::set(&mut marked, "generation", json!(generation + 1));
        }
        object::set(&mut marked, "deletionTimestamp", stamp(now));
    }
    if *resource == namespaces() {
        marked["status"]["phase"] = json!("Terminating");
    } else {
        object::set(&mut marked, "deletionGracePeriodSeconds", json!(0));
    }
    marked
}

fn namespace_waits(resource: &Resource, object: &Value) -> bool {
    let waits = object.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    *resource == namespaces() && waits
}

/// The object must be the one that the client means.
fn meant(kind: &Kind, options: &DeleteOptions, object: &Value) -> Result<(), Failure> {
    // Events have one name, whichever form they are asked for in.
    let group = if kind.group == "events.k8s.io" { "" } else { &kind.group };
    let of = Of { group, name: &kind.kind };
    let name = object::name(object);
    if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != object::uid(object)) {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted \
             and then recreated",
            object::uid(object)
        );
        return Err(Failure::conflict(of, name, &why));
    }
    let version = object::text(object, "resourceVersion");
    if let Some(expected) = options.version.as_deref().filter(|expected| *expected != version) {
        let why = format!(
            "the ResourceVersion in the precondition ({expected}) does not match the ResourceVersion in record ({version}). \
             The object might have been modified"
        );
        return Err(Failure::conflict(of, name, &why));
    }
    Ok(())
}

fn immortal(kind: &Kind, name: &str) -> Result<(), Failure> {
    let forever = kind.group.is_empty()
        && kind.plural == "namespaces"
        && matches!(name, "default" | "kube-system" | "kube-public");
    if forever {
        return Err(Failure::forbidden(kind.resource(), name, "this namespace may not be deleted"));
    }
    Ok(())
}

/// Kinds whose removal answers with the object.
fn shows_last(kind: &Kind) -> bool {
    kind.group.is_empty() && matches!(kind.plural.as_str(), "namespaces" | "serviceaccounts")
}

fn farewell(kind: &Kind, object: &Value) -> Value {
    let mut details = json!({ "name": object::name(object), "kind": kind.plural, "uid": object::uid(object) });
    if !kind.group.is_empty() {
        details["group"] = json!(kind.group);
    }
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}
