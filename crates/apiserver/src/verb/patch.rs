//! Changes objects by JSON patches, merge patches, strategic patches and server-side apply.

use api::{Cause, Violation};
use http::StatusCode;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::cluster::Cluster;
use crate::failure::{Failure, Of};
use crate::kind::{Kind, Nature};
use crate::merge::apply::apply;
use crate::merge::patch::{PatchKind, configuration, json_patch, merge_patch, merge_patch_unseen, strategic_merge};
use crate::merge::track::track;
use crate::query::{FieldValidation, WriteOptions};
use crate::verb::update::{Rules, write};
use crate::verb::{create, present};
use crate::{admit, decode, kinds, object};

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
    let changed = change(of, options.field_validation, &kind.schema, old, &call.body)?;
    let twice = decode::json(&call.body).map(|body| body.duplicates).unwrap_or_default();
    let mut complaints: Vec<String> = twice.iter().map(|path| format!("duplicate field {path:?}")).collect();
    let shown = changed.to_string();
    let read = if of == PatchKind::Strategic { filled(kind, changed) } else { decoded(kind, changed) };
    let (mut object, unknown) = read.map_err(|failure| invalid_patch(&shown, &admit::bare(kind, &failure.message)))?;
    complaints.extend(unknown.iter().map(|path| format!("unknown field {path:?}")));
    if options.field_validation == FieldValidation::Strict && !complaints.is_empty() {
        return Err(invalid_patch(&shown, &format!("strict decoding error: {}", complaints.join(", "))));
    }
    if options.field_validation == FieldValidation::Warn {
        call.warnings.add(complaints);
    }
    create::settle_namespace(call, &mut object)?;
    admit::named_as_asked(call, &object)?;
    if !admit::is_of(kind, &object) {
        // What claims to be of another kind has no owners; it is refused, or the claim is put right.
        object::set(&mut object, "managedFields", Value::Null);
        return Ok(object);
    }
    Ok(track(&kind.schema, Some(old), object, &call.hand(options).writer()))
}

/// `object` with a patch that is not an apply.
pub(crate) fn change(
    of: PatchKind,
    validation: FieldValidation,
    schema: &Value,
    object: &Value,
    patch: &[u8],
) -> Result<Value, Failure> {
    match (of, validation) {
        (PatchKind::Json, _) => json_patch(object, patch),
        (PatchKind::Merge, FieldValidation::Ignore) => {
            let changed = merge_patch_unseen(object, patch)?;
            if changed.is_array() { Err(invalid_patch(&changed.to_string(), KINDLESS)) } else { Ok(changed) }
        }
        (PatchKind::Merge, FieldValidation::Warn | FieldValidation::Strict) => merge_patch(object, patch),
        (PatchKind::Strategic, _) => strategic_merge(schema, object, patch),
        (PatchKind::Apply, _) => configuration(patch),
    }
}

/// What Go says of a list that should be an object of some kind.
const KINDLESS: &str = "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type \
                        struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
                        \"json:\\\"kind,omitempty\\\"\" }";

/// A patched object, decoded like one that was sent, and the fields that nobody knows.
fn decoded(kind: &Kind, changed: Value) -> Result<(Value, Vec<String>), Failure> {
    admit::still(kind, &changed)?;
    admit::coerce(kind, changed)
}

/// A strategically patched object, and the fields that nobody knows: it is not decoded, its fields go into those of the Go
/// type one by one. Nobody looks at what it claims to be.
fn filled(kind: &Kind, changed: Value) -> Result<(Value, Vec<String>), Failure> {
    let mut early = changed.clone();
    if let Some(fields) = early.as_object_mut() {
        fields.retain(|name, _| !late(kind).contains(&name.as_str()));
    }
    kinds::decode_check(kind, &early)?;
    let (mut object, mut unknown) = admit::coerce(kind, changed).map_err(|failure| {
        let why = admit::bare(kind, &failure.message);
        // Binary content alone is left to the decoder.
        let by_decoder = why.starts_with("illegal base64");
        Failure { message: if by_decoder { format!("error decoding from json: {why}") } else { why }, ..failure }
    })?;
    object["kind"] = json!(kind.kind);
    object["apiVersion"] = json!(kind.api_version());
    unknown.sort_unstable();
    Ok((object, unknown))
}

/// The fields that come last in a Go type though not by their names, where the first mistake decides what is said.
fn late(kind: &Kind) -> &'static [&'static str] {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "ConfigMap") => &["binaryData"],
        ("", "Secret") => &["data", "stringData", "type"],
        _ => &[],
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
