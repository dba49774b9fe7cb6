//! The scale subresource: the number of replicas alone, for whoever knows nothing else about the kind.

use http::StatusCode;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::kind::Scale;
use crate::merge::patch::PatchKind;
use crate::merge::track_scale;
use crate::query::WriteOptions;
use crate::verb::patch;
use crate::verb::update::{Rules, write};
use crate::{admit, decode, object};

/// `GET` of a scale.
pub(crate) fn get(cluster: &Cluster, call: &Call, scale: &Scale) -> Result<Answer, Failure> {
    let object = cluster.read(&call.served.resource, &call.key());
    let object = object.ok_or_else(|| Failure::not_found(call.kind().resource(), &call.target.name))?;
    let object = call.served.present(object);
    if object::at(&object, &scale.spec_replicas).is_none() {
        return Err(Failure::internal(format!("the spec replicas field {:?} does not exist", scale.spec_replicas)));
    }
    Ok(Answer::json(StatusCode::OK, &scale_of(&object, scale)))
}

/// `PUT` of a scale.
pub(crate) fn update(cluster: &mut Cluster, call: &Call, scale: &Scale) -> Result<Answer, Failure> {
    let options = WriteOptions::read(&call.query, "UpdateOptions", None)?;
    let wish = decode::body(&call.body, &call.content_type)?.value;
    replicas(&wish)?;
    change(cluster, call, &options, scale, |_| Ok(wish))
}

/// `PATCH` of a scale.
pub(crate) fn modify(cluster: &mut Cluster, call: &Call, scale: &Scale) -> Result<Answer, Failure> {
    let of = PatchKind::of(&call.content_type, true)?;
    let there = cluster.store.get(&call.served.resource, &call.key()).is_some();
    if of == PatchKind::Apply && there {
        return Err(admit::failed(
            "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to \
             proper version: request to convert CR to an invalid group/version: autoscaling/v1",
        ));
    }
    let options = WriteOptions::read(&call.query, "PatchOptions", Some(of))?;
    let none = json!({});
    change(cluster, call, &options, scale, |current| {
        let wish = patch::change(of, options.field_validation, &none, current, &call.body)?;
        replicas(&wish).map_err(|_| {
            let why = "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32";
            patch::invalid_patch(&wish.to_string(), why)
        })?;
        Ok(wish)
    })
}

fn change(
    cluster: &mut Cluster,
    call: &Call,
    options: &WriteOptions,
    scale: &Scale,
    wish: impl FnOnce(&Value) -> Result<Value, Failure>,
) -> Result<Answer, Failure> {
    let kind = call.kind();
    let hand = call.hand(options);
    let outcome = write(cluster, call, options, Rules { create: false, uid: "" }, |old| {
        let Some(old) = old else { return Err(Failure::not_found(kind.resource(), &call.target.name)) };
        let wish = wish(&scale_of(old, scale))?;
        admit::named_as_asked(call, &wish)?;
        let replicas = replicas(&wish)?;
        let mut new = old.clone();
        let version = object::text(&wish, "resourceVersion");
        if !version.is_empty() {
            object::set(&mut new, "resourceVersion", json!(version));
        }
        object::put(&mut new, &scale.spec_replicas, json!(replicas));
        let path: Vec<&str> = scale.spec_replicas.split('.').filter(|part| !part.is_empty()).collect();
        Ok(track_scale(old, new, &path, &hand.writer()))
    })?;
    Ok(Answer::json(StatusCode::OK, &scale_of(&call.served.value(&outcome.record), scale)))
}

/// The number that is wished for; what is wrong with it the kind's own rules say.
fn replicas(wish: &Value) -> Result<i64, Failure> {
    match wish.pointer("/spec/replicas") {
        None | Some(Value::Null) => Ok(0),
        Some(number) => number.as_i64().ok_or_else(|| {
            Failure::bad_request("no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"")
        }),
    }
}

fn scale_of(object: &Value, scale: &Scale) -> Value {
    let number = |path: &str| object::at(object, path).and_then(Value::as_i64).unwrap_or(0);
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object.get("metadata").and_then(|metadata| metadata.get(field)) {
            metadata[field] = value.clone();
        }
    }
    let mut spec = json!({});
    if number(&scale.spec_replicas) != 0 {
        spec["replicas"] = json!(number(&scale.spec_replicas));
    }
    let mut status = json!({ "replicas": number(&scale.status_replicas) });
    let selector = scale.selector.as_deref().and_then(|path| object::at(object, path)).and_then(Value::as_str);
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        status["selector"] = json!(selector);
    }
    json!({ "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status })
}
