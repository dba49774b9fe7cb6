//! Changes objects by JSON patches, merge patches, strategic patches and server-side apply.

use api::{Cause, Violation};
use http::StatusCode;
use serde_json::Value;

use crate::answer::Answer;
use crate::call::Call;
use crate::cluster::Cluster;
use crate::failure::{Failure, Of};
use crate::kind::{Kind, Nature};
use crate::merge::apply::apply;
use crate::merge::patch::{PatchKind, configuration, json_patch, merge_patch, strategic_merge};
use crate::merge::track::track;
use crate::query::{FieldValidation, WriteOptions};
use crate::verb::update::{Rules, write};
use crate::verb::{create, present};
use crate::{admit, decode, object};

/// `PATCH` of an object or its status.
pub(crate) fn patch(cluster: &mut Cluster, call: &Call) -> Result<Answer, Failure> {
    let custom = matches!(call.kind().nature, Nature::Custom(_));
    let of = PatchKind::of(&call.content_type, custom)?;
    let options = WriteOptions::read(&call.query, "PatchOptions", Some(of))?;
    let apply = of == PatchKind::Apply;
    let change = |old: Option<&Value>| {
        if apply { applied(call, &options, old) } else { patched(call, &options, of, old) }
    };
    let rules = Rules { create: apply && call.target.subresource.is_empty(), uid: "" };
    let outcome = write(cluster, call, &options, rules, change)?;
    let code = if outcome.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(present::one(call, code, &outcome.record))
}

fn applied(call: &Call, options: &WriteOptions, old: Option<&Value>) -> Result<Value, Failure> {
    let kind = call.kind();
    let config = configuration(&call.body)?;
    let hand = call.hand(options);
    let merged = apply(&kind.schema, old, &config, &hand.writer(), options.force.unwrap_or(false))?;
    let complete = admit::complete(kind, merged);
    let mut object = complete.map_err(|failure| inconvertible(kind, &config, &failure.message))?;
    if old.is_none() && !object::uid(&object).is_empty() {
        let uid = object::uid(&object);
        let why = format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
        return Err(Failure::conflict(kind.resource(), &call.target.name, &why));
    }
    create::settle_namespace(call, &mut object)?;
    admit::named_as_asked(call, &object)?;
    let twice = decode::json(&call.body).map(|body| body.duplicates).unwrap_or_default();
    let complaints: Vec<String> = twice.iter().map(|path| format!("duplicate field {path:?}")).collect();
    match options.field_validation {
        FieldValidation::Strict if !complaints.is_empty() => {
            Err(Failure::bad_request(format!("error strict decoding YAML: {}", complaints.join(", "))))
        }
        FieldValidation::Warn => {
            call.warnings.add(complaints);
            Ok(object)
        }
        FieldValidation::Strict | FieldValidation::Ignore => Ok(object),
    }
}

fn patched(call: &Call, options: &WriteOptions, of: PatchKind, old: Option<&Value>) -> Result<Value, Failure> {
    let kind = call.kind();
    let Some(old) = old else { return Err(Failure::not_found(kind.resource(), &call.target.name)) };
    let careless = options.field_validation == FieldValidation::Ignore;
    if of == PatchKind::Merge && careless && decode::json(&call.body).is_ok_and(|body| !body.value.is_object()) {
        return Err(Failure::bad_request("Invalid JSON Patch"));
    }
    let changed = change(of, &kind.schema, old, &call.body)?;
    let twice = decode::json(&call.body).map(|body| body.duplicates).unwrap_or_default();
    let mut complaints: Vec<String> = twice.iter().map(|path| format!("duplicate field {path:?}")).collect();
    let shown = changed.to_string();
    admit::still(kind, &changed).map_err(|failure| invalid_patch(&shown, &admit::bare(kind, &failure.message)))?;
    let (mut object, unknown) =
        admit::coerce(kind, changed).map_err(|failure| invalid_patch(&shown, &admit::bare(kind, &failure.message)))?;
    complaints.extend(unknown.iter().map(|path| format!("unknown field {path:?}")));
    if options.field_validation == FieldValidation::Strict && !complaints.is_empty() {
        return Err(invalid_patch(&shown, &format!("strict decoding error: {}", complaints.join(", "))));
    }
    if options.field_validation == FieldValidation::Warn {
        call.warnings.add(complaints);
    }
    create::settle_namespace(call, &mut object)?;
    admit::named_as_asked(call, &object)?;
    if object["kind"] != *kind.kind || object["apiVersion"] != kind.api_version() {
        // What claims to be of another kind has no owners; it is refused, or the claim is put right.
        object::set(&mut object, "managedFields", Value::Null);
        return Ok(object);
    }
    Ok(track(&kind.schema, Some(old), object, &call.hand(options).writer()))
}

/// `object` with a patch that is not an apply.
pub(crate) fn change(of: PatchKind, schema: &Value, object: &Value, patch: &[u8]) -> Result<Value, Failure> {
    match of {
        PatchKind::Json => json_patch(object, patch),
        PatchKind::Merge => merge_patch(object, patch),
        PatchKind::Strategic => strategic_merge(schema, object, patch),
        PatchKind::Apply => configuration(patch),
    }
}

/// The refusal of an applied object that its kind cannot hold.
fn inconvertible(kind: &Kind, config: &Value, why: &str) -> Failure {
    let of = format!("{}/{}, Kind={}", kind.group, kind.version, kind.kind);
    admit::failed(format!(
        "failed to convert new object ({}/{}; {of}) to proper version: unable to convert unstructured object to {of}: {}",
        object::namespace(config),
        object::name(config),
        admit::bare(kind, why)
    ))
}

/// The refusal of a patch that leaves something that its kind cannot hold.
pub(crate) fn invalid_patch(shown: &str, why: &str) -> Failure {
    let violation = Violation::at("patch", Cause::Invalid, format!("Invalid value: {shown:?}: {why}"));
    Failure::invalid(Of { group: "", name: "" }, "", &[violation])
}
