//! Replaces objects, wholly or in part: what all changes to an existing object have in common.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::cluster::{Cluster, RBAC};
use crate::failure::Failure;
use crate::kind::{Kind, Nature};
use crate::merge::track::track;
use crate::query::WriteOptions;
use crate::served::Form;
use crate::store::Record;
use crate::verb::{create, present};
use crate::{admit, object, stored};

/// What became of a write.
pub(crate) struct Outcome {
    /// The object as it is answered.
    pub record: Arc<Record>,
    /// Whether the object is new.
    pub created: bool,
}

/// `PUT` of an object or its status.
pub(crate) fn update(cluster: &mut Cluster, call: &Call) -> Result<Answer, Failure> {
    let options = WriteOptions::read(&call.query, "UpdateOptions", None)?;
    let mut object = admit::decode(call, &call.body, options.field_validation)?;
    create::settle_namespace(call, &mut object)?;
    named_as_asked(call, &object)?;
    let kind = call.kind();
    let uid = object::uid(&object).to_owned();
    let hand = call.hand(&options);
    let change = |old: Option<&Value>| Ok(track(&kind.schema, old, object, &hand.writer()));
    let rules = Rules { create: creates_on_update(kind) && call.target.subresource.is_empty(), uid: &uid };
    let outcome = write(cluster, call, &options, rules, change)?;
    let code = if outcome.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(present::one(call, code, &outcome.record))
}

/// What a write may do beside changing what is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    /// Make the object if it is missing.
    pub create: bool,
    /// The uid that the client means, if it named one: no other object is changed or made.
    pub uid: &'a str,
}

/// Changes one object: reads it, lets `change` say what it becomes, judges and stores that.
pub(crate) fn write(
    cluster: &mut Cluster,
    call: &Call,
    options: &WriteOptions,
    rules: Rules<'_>,
    change: impl FnOnce(Option<&Value>) -> Result<Value, Failure>,
) -> Result<Outcome, Failure> {
    let kind = call.kind();
    let not_found = || Failure::not_found(kind.resource(), &call.target.name);
    let Some(old) = cluster.read(&call.served.resource, &call.key()) else {
        if !rules.create {
            return Err(not_found());
        }
        right_one(call, options, rules.uid, "")?;
        let object = change(None)?;
        let version = object::text(&object, "resourceVersion");
        if !version.is_empty() && version.parse::<u64>().is_err() {
            return Err(admit::bad_version(version));
        }
        let record = create::insert(cluster, call, object, options, create::Origin::Place)?;
        return Ok(Outcome { record, created: true });
    };
    let old = call.served.present(old);
    right_one(call, options, rules.uid, object::uid(&old))?;
    let new = change(Some(&old))?;
    admit::may_grant(cluster, call, &new, Some(&old))?;
    let new = revise(call, new, &old)?;
    call.warnings.add(admit::warnings(kind, &new, Some(&old)));
    let record = commit(cluster, call, options, new, &old)?;
    Ok(Outcome { record, created: false })
}

/// Judges the step from `old` to `new`, and puts right what the writer has no say in.
fn revise(call: &Call, mut new: Value, old: &Value) -> Result<Value, Failure> {
    let kind = call.kind();
    let said = (new["kind"].clone(), new["apiVersion"].clone());
    let honest = admit::is_of(kind, &new);
    let version = object::text(&new, "resourceVersion");
    if version.is_empty() || version == "0" {
        if !updates_unconditionally(kind) {
            return Err(create::version_missing(call));
        }
        object::copy(&mut new, old, "resourceVersion");
    } else if version != object::text(old, "resourceVersion") {
        if version.parse::<u64>().is_err() {
            return Err(admit::bad_version(version));
        }
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        return Err(Failure::conflict(kind.resource(), &call.target.name, why));
    }
    create::settle_namespace(call, &mut new)?;
    object::copy(&mut new, old, "generation");
    prepare(call, &mut new, old);
    if object::uid(&new).is_empty() {
        object::copy(&mut new, old, "uid");
    }
    object::copy(&mut new, old, "creationTimestamp");
    if object::is_going(old) {
        object::copy(&mut new, old, "deletionTimestamp");
    }
    if object::meta_mut(&mut new).get("deletionGracePeriodSeconds").is_none_or(Value::is_null) {
        object::copy(&mut new, old, "deletionGracePeriodSeconds");
    }
    let violations = admit::violations(call, &new, Some(old));
    if !violations.is_empty() {
        // It is refused as what it claims to be, though the claim may have been put right.
        (new["kind"], new["apiVersion"]) = said;
        return Err(admit::invalid(call, &new, &violations));
    }
    if !honest {
        // Nothing of it was measured while it claimed to be something else.
        new = admit::coerce(kind, new)?.0;
    }
    stored::settle_times(kind, old, &mut new);
    Ok(new)
}

fn prepare(call: &Call, new: &mut Value, old: &Value) {
    let kind = call.kind();
    let status = call.target.subresource == "status";
    match &kind.nature {
        Nature::Custom(_) if status => {
            let written = new.get("status").cloned();
            let owned = new.pointer("/metadata/managedFields").cloned().unwrap_or_default();
            *new = old.clone();
            object::set(new, "managedFields", owned);
            set_status(new, written);
        }
        Nature::Custom(_) => {
            if kind.status {
                set_status(new, old.get("status").cloned());
            }
            if content(new) != content(old) {
                object::set(new, "generation", json!(object::generation(old) + 1));
            }
        }
        Nature::BuiltIn(rules) => {
            rules.prepare(new, Some(old), status);
            if rules.generation() && !status && new.get("spec") != old.get("spec") {
                object::set(new, "generation", json!(object::generation(old) + 1));
            }
        }
    }
}

fn set_status(object: &mut Value, status: Option<Value>) {
    let Some(fields) = object.as_object_mut() else { return };
    match status {
        Some(status) => fields.insert("status".to_owned(), status),
        None => fields.remove("status"),
    };
}

/// Everything but metadata.
fn content(object: &Value) -> Vec<(&String, &Value)> {
    object.as_object().into_iter().flatten().filter(|(key, _)| *key != "metadata").collect()
}

fn commit(
    cluster: &mut Cluster,
    call: &Call,
    options: &WriteOptions,
    mut new: Value,
    old: &Value,
) -> Result<Arc<Record>, Failure> {
    let resource = &call.served.resource;
    let shown = |object: &Value| {
        let revision = object::text(object, "resourceVersion").parse().unwrap_or(0);
        Arc::new(Record::new(object, revision))
    };
    if ends_now(call, &new, old) {
        if !options.dry_run {
            cluster.remove(resource, &call.key())?;
        }
        // It is never stored, so that it is answered as it came.
        return Ok(shown(&call.served.keep(new, &stored_version(cluster, call))));
    }
    if options.dry_run {
        return Ok(shown(&create::stored(cluster, call, new).read));
    }
    object::set(&mut new, "selfLink", Value::Null);
    let new = create::stored(cluster, call, new);
    let same = match cluster.written(resource, &call.key()) {
        Some(before) => before == new.written(),
        None if call.served.form == Form::Stored => old == new.written(),
        None => cluster.read(resource, &call.key()).as_ref() == Some(new.written()),
    };
    if same {
        return Ok(shown(&new.read));
    }
    cluster.put_stored(resource, new)
}

fn stored_version(cluster: &Cluster, call: &Call) -> String {
    cluster.stored(&call.served.resource).map(|stored| stored.kind.api_version()).unwrap_or_default()
}

/// Whether the change took the last thing that an object on its way out was waiting for.
fn ends_now(call: &Call, new: &Value, old: &Value) -> bool {
    let waits = new.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let namespace = call.kind().plural == "namespaces" && call.kind().group.is_empty();
    let graceful = old.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0) != 0;
    object::is_going(old) && !graceful && object::finalizers(new).is_empty() && !(namespace && waits)
}

fn named_as_asked(call: &Call, object: &Value) -> Result<(), Failure> {
    admit::named_as_asked(call, object)
}

/// A writer that names a uid means that object and no other; the refusal is in the words of the real server's storage,
/// which knows its own prefix only when it is really asked to write.
fn right_one(call: &Call, options: &WriteOptions, meant: &str, found: &str) -> Result<(), Failure> {
    if meant.is_empty() || meant == found {
        return Ok(());
    }
    let prefix = if options.dry_run { "" } else { "/registry" };
    let (kind, key) = (call.kind(), call.key());
    let own = matches!(kind.nature, Nature::Custom(_)) || kind.group == "apiextensions.k8s.io";
    let group = if own { format!("{}/", kind.group) } else { String::new() };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {prefix}/{group}{}/{key}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {meant}, UID in object meta: {found}",
        kind.plural
    );
    Err(Failure::conflict(kind.resource(), &call.target.name, &why))
}

/// Kinds whose replacement makes them if they are missing.
pub(crate) fn creates_on_update(kind: &Kind) -> bool {
    kind.group == RBAC || kind.plural == "leases" && kind.group == "coordination.k8s.io" || kind.plural == "events"
}

fn updates_unconditionally(kind: &Kind) -> bool {
    let careful = matches!(kind.nature, Nature::Custom(_))
        || kind.group == "coordination.k8s.io"
        || kind.group == "apiextensions.k8s.io";
    !careful
}
