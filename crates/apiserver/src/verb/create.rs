//! Makes objects.

use std::sync::Arc;

use api::{Cause as Wrong, Violation};
use http::StatusCode;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::cluster::{Cluster, namespaces, stamp};
use crate::failure::{Cause, Failure, Of};
use crate::kind::Nature;
use crate::merge::track::track;
use crate::query::WriteOptions;
use crate::store::{Key, Record};
use crate::stored::Stored;
use crate::verb::present;
use crate::{admit, object};

/// `POST` of an object.
pub(crate) fn create(cluster: &mut Cluster, call: &Call) -> Result<Answer, Failure> {
    let options = WriteOptions::read(&call.query, "CreateOptions", None)?;
    let mut object = admit::decode(call, &call.body, options.field_validation)?;
    for field in ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        object::set(&mut object, field, Value::Null);
    }
    settle_namespace(call, &mut object)?;
    let kind = call.kind();
    let object = track(&kind.schema, None, object, &call.hand(&options).writer());
    let record = insert(cluster, call, object, &options, Origin::Post)?;
    Ok(present::one(call, StatusCode::CREATED, &record))
}

/// The namespace of the request is the object's; one that says otherwise is refused.
pub(crate) fn settle_namespace(call: &Call, object: &mut Value) -> Result<(), Failure> {
    let (said, asked) = (object::namespace(object), call.target.namespace.as_str());
    if said == asked {
        return Ok(());
    }
    if !said.is_empty() && !asked.is_empty() {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Failure::bad_request(message));
    }
    let asked = if asked.is_empty() { Value::Null } else { json!(asked) };
    object::set(object, "namespace", asked);
    Ok(())
}

/// How a new object comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Posted to its collection.
    Post,
    /// Written to its place, where there was nothing.
    Place,
}

/// Gives a new object its identity, judges it and stores it; ownership is settled already.
pub(crate) fn insert(
    cluster: &mut Cluster,
    call: &Call,
    mut object: Value,
    options: &WriteOptions,
    origin: Origin,
) -> Result<Arc<Record>, Failure> {
    let kind = call.kind();
    namespace_is_open(cluster, call, &object)?;
    object::set(&mut object, "uid", json!(cluster.entropy.uid()));
    object::set(&mut object, "creationTimestamp", stamp(call.now));
    let generated = object::name(&object).is_empty() && !object::text(&object, "generateName").is_empty();
    if generated {
        name_it(cluster, call, &mut object);
    }
    prepare(call, &mut object);
    admit::may_grant(cluster, call, &object, None)?;
    let violations = admit::violations(call, &object, None);
    if !violations.is_empty() {
        return Err(admit::invalid(call, &object, &violations));
    }
    call.warnings.add(admit::warnings(kind, &object, None));
    if origin == Origin::Place {
        // Who may not make the object learns first what is wrong with it.
        admit::may_create(cluster, call)?;
    }
    let key = object::key(&object);
    if let Some(taken) = cluster.read(&call.served.resource, &key) {
        return Err(taken_name(call, &taken, &object, &key));
    }
    if options.dry_run {
        // What storing takes away, the version and the link, was never taken away.
        let read = stored(cluster, call, object).read;
        return Ok(Arc::new(Record::new(&read, 0)));
    }
    let version = object::text(&object, "resourceVersion").parse::<u64>();
    if origin == Origin::Post && version.is_ok_and(|version| version > 0) {
        return Err(admit::failed("resourceVersion should not be set on objects to be created"));
    }
    for field in ["resourceVersion", "selfLink"] {
        object::set(&mut object, field, Value::Null);
    }
    let stored = stored(cluster, call, object);
    cluster.put_stored(&call.served.resource, stored)
}

/// The object in the form in which its resource is kept.
pub(crate) fn stored(cluster: &Cluster, call: &Call, object: Value) -> Stored {
    let version = cluster.stored(&call.served.resource).map(|stored| stored.kind.api_version());
    Stored::new(&call.served, object, version.as_deref().unwrap_or_default())
}

fn taken_name(call: &Call, taken: &Value, object: &Value, key: &Key) -> Failure {
    let mut failure = Failure::already_exists(call.kind().resource(), &key.name);
    if !object::text(object, "generateName").is_empty() {
        // Whoever would take any name is told to try again, even if this one was given.
        failure.message.push_str(", the server was not able to generate a unique name for the object");
        if let Some(details) = &mut failure.details {
            details.retry_after_seconds = Some(1);
        }
    }
    if object::is_going(taken) {
        failure.message = format!("object is being deleted: {}", failure.message);
    }
    failure
}

fn name_it(cluster: &mut Cluster, call: &Call, object: &mut Value) {
    // A name that is taken is not the client's fault: another one is drawn.
    for _ in 0..8 {
        let name = cluster.entropy.name(object::text(object, "generateName"));
        object::set(object, "name", json!(name));
        if cluster.store.get(&call.served.resource, &object::key(object)).is_none() {
            return;
        }
    }
}

fn prepare(call: &Call, object: &mut Value) {
    let kind = call.kind();
    match &kind.nature {
        Nature::Custom(_) => {
            if kind.status
                && let Some(fields) = object.as_object_mut()
            {
                fields.remove("status");
            }
            object::set(object, "generation", json!(1));
        }
        Nature::BuiltIn(rules) => {
            rules.prepare(object, None, false);
            if rules.generation() {
                object::set(object, "generation", json!(1));
            }
        }
    }
}

/// Nothing is made in a namespace that is not there or that goes.
fn namespace_is_open(cluster: &Cluster, call: &Call, object: &Value) -> Result<(), Failure> {
    let namespace = call.target.namespace.as_str();
    if namespace.is_empty() {
        return Ok(());
    }
    let resource = namespaces();
    let of = Of { group: "", name: "namespaces" };
    let found = cluster.read(&resource, &Key::new("", namespace));
    let found = found.ok_or_else(|| Failure::not_found(of, namespace))?;
    if found.pointer("/status/phase") != Some(&json!("Terminating")) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let name = match object::name(object) {
        "" => object::text(object, "generateName"),
        name => name,
    };
    let mut failure = Failure::forbidden(call.kind().resource(), name, &why);
    if let Some(details) = &mut failure.details {
        details.causes.push(Cause {
            reason: "NamespaceTerminating".to_owned(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        });
    }
    Err(failure)
}

/// The refusal of a replacement that names no version.
pub(crate) fn version_missing(call: &Call) -> Failure {
    let violation =
        Violation::at("metadata.resourceVersion", Wrong::Invalid, "Invalid value: 0: must be specified for an update");
    Failure::invalid(call.kind().resource(), &call.target.name, &[violation])
}
