//! What an object must pass on its way in, whichever verb brings it.

use api::Violation;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::StatusCode;
use serde_json::{Value, json};

use crate::access::{self, Attributes, RbacKind};
use crate::call::Call;
use crate::cluster::{Cluster, RBAC};
use crate::decode;
use crate::failure::{Failure, Of};
use crate::kind::{Kind, Nature};
use crate::kinds;
use crate::object;
use crate::query::FieldValidation;
use crate::served::Form;

/// Reads the object that a request brings: unknown fields are gone, defaults are there.
pub(crate) fn decode(call: &Call, bytes: &[u8], validation: FieldValidation) -> Result<Value, Failure> {
    let body = decode::body(bytes, &call.content_type).map_err(|failure| unrecognized(call, failure, bytes))?;
    // Go lays a field that is given twice over itself; where there is no Go type, the last one counts.
    let sent = if matches!(call.kind().nature, Nature::Custom(_)) { body.value } else { body.laid };
    let value = right_kind(call, sent, bytes, validation)?;
    let claimed = value.clone();
    let unfit_as = |failure: Failure| unfit(call.kind(), &claimed, &bare(call.kind(), &failure.message));
    let (object, unknown) = coerce(call.kind(), value).map_err(unfit_as)?;
    let mut complaints: Vec<String> = body.duplicates.iter().map(|path| format!("duplicate field {path:?}")).collect();
    complaints.extend(unknown.iter().map(|path| format!("unknown field {path:?}")));
    match validation {
        FieldValidation::Warn => call.warnings.add(complaints),
        FieldValidation::Strict if !complaints.is_empty() => {
            let why = format!("strict decoding error: {}", complaints.join(", "));
            return Err(unfit(call.kind(), &object, &why));
        }
        FieldValidation::Strict | FieldValidation::Ignore => {}
    }
    own_group(call.kind(), &object)?;
    Ok(object)
}

/// The refusal of an object that cannot be read, as what it claims to be.
fn unfit(kind: &Kind, object: &Value, why: &str) -> Failure {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let version = text("apiVersion").rsplit('/').next().unwrap_or_default();
    Failure::bad_request(format!("{} in version {version:?} cannot be handled as a {}: {why}", text("kind"), kind.kind))
}

/// A custom resource comes in a version of its own group. It is asked for only when the object has been read.
fn own_group(kind: &Kind, object: &Value) -> Result<(), Failure> {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let group = version.rsplit_once('/').map_or("", |(group, _)| group);
    if version == kind.api_version() || group == kind.group || !matches!(kind.nature, Nature::Custom(_)) {
        return Ok(());
    }
    let expected = kind.api_version();
    Err(Failure::bad_request(format!(
        "the API version in the data ({version}) does not match the expected API version ({expected})"
    )))
}

/// Drops what the kind does not know and adds its defaults; the unknown fields are returned. An object of the wrong types
/// cannot be understood.
pub(crate) fn coerce(kind: &Kind, value: Value) -> Result<(Value, Vec<String>), Failure> {
    let mut object = value;
    for field in kinds::bytes_of(kind) {
        numbers_as_bytes(field, &mut object);
    }
    let mut unknown = kinds::decode_check(kind, &object)?;
    match &kind.nature {
        Nature::Custom(custom) => {
            kinds::metadata::settle(&mut object);
            // What claims to be of another kind cannot be measured by this one's schema, but metadata is the same
            // everywhere.
            if is_of(kind, &object) {
                let (coerced, more) = custom.judge.coerce(&object);
                unknown.extend(more);
                object = coerced;
            }
        }
        Nature::BuiltIn(rules) => {
            // A list of no rules is something that one can own, though it is stored as if it were not there.
            let none = object.get("rules") == Some(&json!([]));
            let disowned = object.pointer("/metadata/managedFields") == Some(&json!([]));
            rules.default(&mut object);
            if disowned {
                object::meta_mut(&mut object).insert("managedFields".to_owned(), json!([]));
            }
            if none && object.get("rules").is_some_and(Value::is_null) {
                object["rules"] = json!([]);
            }
        }
    }
    Ok((object, unknown))
}

/// Binary content may be given as a list of numbers, which is what Go takes for bytes.
fn numbers_as_bytes(field: &str, object: &mut Value) {
    let Some(entries) = object.get_mut(field).and_then(Value::as_object_mut) else { return };
    for value in entries.values_mut() {
        let byte = |number: &Value| number.as_u64().and_then(|number| u8::try_from(number).ok());
        let bytes = value.as_array().and_then(|numbers| numbers.iter().map(byte).collect::<Option<Vec<u8>>>());
        if let Some(bytes) = bytes {
            *value = json!(BASE64_STANDARD.encode(bytes));
        }
    }
}

/// Adds the defaults to what came of an apply. It is not decoded again: a null that may not be stays, to be refused, or
/// to be lost when the object is stored and read back.
pub(crate) fn complete(kind: &Kind, value: Value) -> Result<Value, Failure> {
    let Nature::Custom(custom) = &kind.nature else { return Ok(coerce(kind, value)?.0) };
    kinds::decode_check(kind, &value)?;
    Ok(custom.judge.default(value))
}

/// Whether an object says that it is of that kind and version.
pub(crate) fn is_of(kind: &Kind, object: &Value) -> bool {
    object["kind"] == *kind.kind && object["apiVersion"] == kind.api_version()
}

/// A mistake that the real server did not foresee.
pub(crate) fn failed(message: impl Into<String>) -> Failure {
    Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
}

/// What is wrong with an object's types, without what it was meant to be.
pub(crate) fn bare(kind: &Kind, message: &str) -> String {
    let head = format!("{0} in version {1:?} cannot be handled as a {0}: ", kind.kind, kind.version);
    message.strip_prefix(&head).unwrap_or(message).to_owned()
}

fn unrecognized(call: &Call, failure: Failure, bytes: &[u8]) -> Failure {
    if failure.code != StatusCode::BAD_REQUEST {
        return failure;
    }
    let (kind, why, shown) = (&call.kind().kind, failure.message, excerpt(bytes));
    Failure::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why} ({shown})"))
}

/// The body must be of the kind that the path names; a built-in kind need not say it.
fn right_kind(call: &Call, value: Value, bytes: &[u8], validation: FieldValidation) -> Result<Value, Failure> {
    let kind = call.kind();
    let mut value = if value.is_null() { json!({}) } else { value };
    if !value.is_object() {
        let failure = Failure::bad_request("couldn't get version/kind; json parse error: not an object");
        return Err(unrecognized(call, failure, bytes));
    }
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (mut said, mut version) = (text("kind"), text("apiVersion"));
    if version.matches('/').count() > 1 {
        let why = format!("unexpected GroupVersion string: {version}");
        return Err(unrecognized(call, Failure::bad_request(why), bytes));
    }
    let custom = matches!(kind.nature, Nature::Custom(_));
    if custom {
        named(call, &value, bytes, validation)?;
    } else {
        // What is left out is taken from the path.
        said = if said.is_empty() { kind.kind.clone() } else { said };
        version = if version.is_empty() { kind.api_version() } else { version };
        registered(kind, &said, &version)?;
    }
    value["kind"] = json!(said);
    value["apiVersion"] = json!(version);
    Ok(value)
}

/// A custom resource says what it is.
fn named(call: &Call, value: &Value, bytes: &[u8], validation: FieldValidation) -> Result<(), Failure> {
    let kind = call.kind();
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let (said, version) = (text("kind"), text("apiVersion"));
    for (field, text) in [("Kind", said), ("apiVersion", version)] {
        if !text.is_empty() {
            continue;
        }
        let why = format!("Object '{field}' is missing in '{}'", String::from_utf8_lossy(bytes));
        return Err(if said.is_empty() && validation != FieldValidation::Ignore {
            unrecognized(call, Failure::bad_request(why), bytes)
        } else {
            let short = version.rsplit('/').next().unwrap_or_default();
            let of = if said.is_empty() { kind.kind.as_str() } else { said };
            Failure::bad_request(format!("{of} in version {short:?} cannot be handled as a {}: {why}", kind.kind))
        });
    }
    Ok(())
}

/// A kind that is not the one of the path is one that the path does not know.
fn registered(kind: &Kind, said: &str, version: &str) -> Result<(), Failure> {
    if said == kind.kind && version == kind.api_version() {
        return Ok(());
    }
    let short = version.rsplit('/').next().unwrap_or_default();
    let message = format!(
        "{said} in version {short:?} cannot be handled as a {}: no kind {said:?} is registered for version {version:?} in \
         scheme \"pkg/runtime/scheme.go:111\"",
        kind.kind
    );
    Err(Failure::bad_request(message))
}

/// An object that was patched must still be of its kind; custom resources are judged by their rules instead.
pub(crate) fn still(kind: &Kind, object: &Value) -> Result<(), Failure> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    if matches!(kind.nature, Nature::Custom(_)) {
        return Ok(());
    }
    let (said, version) = (text("kind"), text("apiVersion"));
    let said = if said.is_empty() { &kind.kind } else { said };
    let own = kind.api_version();
    registered(kind, said, if version.is_empty() { &own } else { version }).map_err(|failure| {
        // What it claims to be is not what it is refused as.
        let message = failure.message.split_once(": ").map(|(_, why)| why.to_owned());
        Failure { message: message.unwrap_or_default(), ..failure }
    })
}

/// The beginning of a body, as refusals quote it: JSON as it is, anything else in hexadecimal digits.
fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 30;
    let (start, more) = if bytes.len() > SHOWN { (&bytes[..SHOWN], " ...") } else { (bytes, "") };
    let shown = match start {
        [] => "<empty>".to_owned(),
        [b'{', ..] => String::from_utf8_lossy(start).into_owned(),
        _ => start.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")),
    };
    shown + more
}

/// What is wrong with the object, or with the step from `old`; events are judged as they are stored.
pub(crate) fn violations(call: &Call, new: &Value, old: Option<&Value>) -> Vec<Violation> {
    let status = call.target.subresource == "status";
    if call.served.form == Form::Event {
        let stored = |object: &Value| call.served.keep(object.clone(), "v1");
        return kinds::violations(call.kind(), &stored(new), old.map(stored).as_ref(), status);
    }
    kinds::violations(call.kind(), new, old, status)
}

/// The refusal of an object that breaks its rules; events have one name, whichever form they come in.
pub(crate) fn invalid(call: &Call, object: &Value, violations: &[Violation]) -> Failure {
    let of = call.kind().kind();
    let claimed = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let claimed = claimed.rsplit_once('/').map_or("", |(group, _)| group);
    let custom = matches!(call.kind().nature, Nature::Custom(_));
    let group = if custom { claimed } else { of.group };
    let group = if call.served.form == Form::Event { "" } else { group };
    let said = object.get("kind").and_then(Value::as_str).filter(|said| !said.is_empty()).unwrap_or(of.name);
    Failure::invalid(Of { group, name: said }, object::name(object), violations)
}

/// What a client should think about, though the object is admitted.
pub(crate) fn warnings(kind: &Kind, new: &Value, old: Option<&Value>) -> Vec<String> {
    if !matches!(kind.nature, Nature::Custom(_)) {
        return Vec::new();
    }
    let before = old.map(object::finalizers).unwrap_or_default();
    let mut added: Vec<&str> = object::finalizers(new);
    added.retain(|finalizer| !before.contains(finalizer));
    added.sort_unstable();
    let plain = added.iter().filter(|finalizer| {
        !finalizer.contains('/') && !matches!(**finalizer, "kubernetes" | "orphan" | "foregroundDeletion")
    });
    plain
        .map(|finalizer| {
            let path = if finalizer.contains('.') { " including a path (/)" } else { "" };
            format!(
                "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name{path} to avoid accidental \
                 conflicts with other finalizer writers"
            )
        })
        .collect()
}

/// The object must have the name that the path says.
pub(crate) fn named_as_asked(call: &Call, object: &Value) -> Result<(), Failure> {
    let (said, asked) = (object::name(object), call.target.name.as_str());
    if said == asked {
        return Ok(());
    }
    if said.is_empty() {
        let message =
            format!("the name of the object ({asked} based on URL) was undeterminable: name must be provided");
        return Err(Failure::bad_request(message));
    }
    Err(Failure::bad_request(format!("the name of the object ({said}) does not match the name on the URL ({asked})")))
}

/// The refusal of a version that is no version.
pub(crate) fn bad_version(version: &str) -> Failure {
    failed(format!("strconv.ParseUint: parsing {version:?}: invalid syntax"))
}

/// A write that makes an object needs the right to create it.
pub(crate) fn may_create(cluster: &mut Cluster, call: &Call) -> Result<(), Failure> {
    let wish = wish(call, "create");
    let decision = cluster.policy().authorize(&wish);
    if decision.allowed { Ok(()) } else { Err(wish.forbidden(&decision.reason)) }
}

/// What a call wants, as roles see it.
pub(crate) fn wish(call: &Call, verb: &str) -> Attributes {
    let target = &call.target;
    let resource = access::Resource {
        group: target.group.clone(),
        version: target.version.clone(),
        resource: target.plural.clone(),
        subresource: target.subresource.clone(),
        namespace: target.namespace.clone(),
        name: target.name.clone(),
    };
    Attributes::resource(&call.user, verb, resource)
}

/// Nobody gives rights that he does not have.
pub(crate) fn may_grant(cluster: &mut Cluster, call: &Call, new: &Value, old: Option<&Value>) -> Result<(), Failure> {
    let Some(kind) = RbacKind::of(&call.target.plural).filter(|_| call.kind().group == RBAC) else { return Ok(()) };
    let (namespace, name) = (call.target.namespace.as_str(), call.target.name.as_str());
    let write = access::Write { kind, user: &call.user, namespace, name, new, old };
    write.check(cluster.policy())
}
