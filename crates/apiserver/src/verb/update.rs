//! Replaces objects, wholly or in part: what all changes to an existing object have in common.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::cluster::{Cluster, RBAC};
use crate::failure::Failure;
use crate::kind::{Kind, Nature};
use crate::merge::managed::settle_times;
use crate::merge::track::track;
use crate::query::WriteOptions;
use crate::store::Record;
use crate::verb::{create, present};
use crate::{admit, object};

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
    let change = |old: Option<&Value>| {
        if let Some(old) = old {
            right_one(call, &uid, old)?;
        }
        Ok(track(&kind.schema, old, object, &hand.writer()))
    };
    let rules =
        Rules { create: creates_on_update(kind) && call.target.subresource.is_empty(), uid_demanded: !uid.is_empty() };
    let outcome = write(cluster, call, &options, rules, change)?;
    let code = if outcome.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(present::one(call, code, &outcome.record))
}

/// What a write may do beside changing what is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Make the object if it is missing.
    pub create: bool,
    /// The client named the uid it means: it must be there.
    pub uid_demanded: bool,
}

/// Changes one object: reads it, lets `change` say what it becomes, judges and stores that.
pub(crate) fn write(
    cluster: &mut Cluster,
    call: &Call,
    options: &WriteOptions,
    rules: Rules,
    change: impl FnOnce(Option<&Value>) -> Result<Value, Failure>,
) -> Result<Outcome, Failure> {
    let kind = call.kind();
    let not_found = || Failure::not_found(kind.resource(), &call.target.name);
    let Some(old) = cluster.read(&call.served.resource, &call.key()) else {
        if !rules.create {
            return Err(not_found());
        }
        let object = change(None)?;
        let version = object::text(&object, "resourceVersion");
        if !version.is_empty() && version.parse::<u64>().is_err() {
            return Err(admit::bad_version(version));
        }
        if rules.uid_demanded {
            return Err(other_uid(call, object::uid(&object), ""));
        }
        admit::may_create(cluster, call)?;
        let record = create::insert(cluster, call, object, options, create::Origin::Place)?;
        return Ok(Outcome { record, created: true });
    };
    let old = call.served.present(old);
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
    let said = new["kind"].clone();
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
        if object::meta_mut(&mut new).get("deletionGracePeriodSeconds").is_none() {
            object::copy(&mut new, old, "deletionGracePeriodSeconds");
        }
    }
    let violations = admit::violations(call, &new, Some(old));
    if !violations.is_empty() {
        // It is refused as what it claims to be, though the claim may have been put right.
        new["kind"] = said;
        return Err(admit::invalid(call, &new, &violations));
    }
    let mut new = admit::whole(kind, new);
    settle_times(old, &mut new);
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
    new: Value,
    old: &Value,
) -> Result<Arc<Record>, Failure> {
    let resource = &call.served.resource;
    let shown = |object: &Value| {
        let revision = object::text(object, "resourceVersion").parse().unwrap_or(0);
        Arc::new(Record::new(object, revision))
    };
    if ends_now(call, &new) {
        if !options.dry_run {
            cluster.remove(resource, &call.key())?;
        }
        return Ok(shown(&call.served.keep(new, &stored_version(cluster, call))));
    }
    if new == *old || options.dry_run {
        return Ok(shown(&call.served.keep(new, &stored_version(cluster, call))));
    }
    let stored = create::keep(cluster, call, new);
    cluster.put(resource, stored)
}

fn stored_version(cluster: &Cluster, call: &Call) -> String {
    cluster.stored(&call.served.resource).map(|stored| stored.kind.api_version()).unwrap_or_default()
}

/// Whether the change took the last thing that an object on its way out was waiting for.
fn ends_now(call: &Call, new: &Value) -> bool {
    let waits = new.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let namespace = call.kind().plural == "namespaces" && call.kind().group.is_empty();
    object::is_going(new) && object::finalizers(new).is_empty() && !(namespace && waits)
}

fn named_as_asked(call: &Call, object: &Value) -> Result<(), Failure> {
    admit::named_as_asked(call, object)
}

/// A writer that names a uid means that object and no other.
fn right_one(call: &Call, uid: &str, old: &Value) -> Result<(), Failure> {
    if uid.is_empty() || uid == object::uid(old) {
        return Ok(());
    }
    Err(other_uid(call, uid, object::uid(old)))
}

/// The refusal of a write that means another object, in the words of the real server's storage.
fn other_uid(call: &Call, meant: &str, found: &str) -> Failure {
    let (kind, key) = (call.kind(), call.key());
    let own = matches!(kind.nature, Nature::Custom(_)) || kind.group == "apiextensions.k8s.io";
    let group = if own { format!("{}/", kind.group) } else { String::new() };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{group}{}/{key}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {meant}, UID in object meta: {found}",
        kind.plural
    );
    Failure::conflict(kind.resource(), &call.target.name, &why)
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
