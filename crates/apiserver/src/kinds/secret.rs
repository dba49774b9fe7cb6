//! Secrets.

use api::Violation;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::built_in::{age_column, column, kind, name_column};
use super::config_map::{FROZEN, SIZE_LIMIT, same_entries, weight};
use super::field::{entries, forbidden, immutable_text, invalid_text, required, text, too_long};
use super::{metadata, names, shape};
use crate::kind::{BuiltIn, Kind};
use crate::table::duration::since;

const DEFINITION: &str = "io.k8s.api.core.v1.Secret";
const ACCOUNT_ANNOTATION: &str = "kubernetes.io/service-account.name";

struct Secret;

pub(super) fn secret() -> Kind {
    let described = |field: &str| super::description(DEFINITION, field);
    Kind {
        columns: vec![
            name_column(),
            column("Type", "string", &described("type")),
            column("Data", "string", &described("data")),
            age_column(),
        ],
        ..kind("", "Secret", "secrets", DEFINITION, &Secret)
    }
}

impl BuiltIn for Secret {
    fn default(&self, object: &mut Value) {
        shape::settle(DEFINITION, object);
        if text(object, "/type").is_empty() {
            object["type"] = json!("Opaque");
        }
        let plain = object.as_object_mut().and_then(|fields| fields.remove("stringData"));
        for (key, value) in plain.iter().filter_map(Value::as_object).flatten() {
            object["data"][key] = json!(STANDARD.encode(value.as_str().unwrap_or_default()));
        }
    }

    fn prepare(&self, _: &mut Value, _: Option<&Value>, _: bool) {}

    fn violations(&self, new: &Value, old: Option<&Value>, _: bool) -> Vec<Violation> {
        let mut found = Vec::new();
        if let Some(old) = old {
            found.extend(metadata::of_core_step(new, old));
            found.extend(immutable_text("type", text(new, "/type"), text(old, "/type")));
            if old.get("immutable") == Some(&json!(true)) {
                if new.get("immutable") != Some(&json!(true)) {
                    found.push(forbidden("immutable", FROZEN));
                }
                if !same_entries(new, old, "data") {
                    found.push(forbidden("data", FROZEN));
                }
            }
        }
        found.extend(metadata::of_core_object(new, true, metadata::subdomain));
        found.extend(contents(new));
        found.extend(by_type(new));
        found
    }

    fn selectable(&self, object: &Value) -> Vec<(&'static str, String)> {
        vec![("type", text(object, "/type").to_owned())]
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let count = entries(object, "/data").count();
        let age = since(object.pointer("/metadata/creationTimestamp"), now);
        vec![json!(text(object, "/metadata/name")), json!(text(object, "/type")), json!(count), json!(age)]
    }
}

fn contents(object: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut total = 0;
    for (key, value) in entries(object, "/data") {
        let wrong = names::config_key(key).into_iter();
        found.extend(wrong.map(|wrong| invalid_text(&format!("data[{key}]"), key, wrong)));
        total += weight(value);
    }
    if total > SIZE_LIMIT {
        found.push(too_long("data", SIZE_LIMIT));
    }
    found
}

/// What the well-known types demand.
fn by_type(object: &Value) -> Vec<Violation> {
    let value = |key: &str| object.get("data").and_then(|entries| entries.get(key));
    let missing = |key: &str| value(key).is_none().then(|| required(&format!("data[{key}]"), ""));
    match text(object, "/type") {
        "kubernetes.io/service-account-token" => {
            let annotation = object.pointer("/metadata/annotations").and_then(|all| all.get(ACCOUNT_ANNOTATION));
            let named = annotation.and_then(Value::as_str).is_some_and(|name| !name.is_empty());
            let field = format!("metadata.annotations[{ACCOUNT_ANNOTATION}]");
            (!named).then(|| required(&field, "")).into_iter().collect()
        }
        "kubernetes.io/dockercfg" => docker(".dockercfg", value(".dockercfg")),
        "kubernetes.io/dockerconfigjson" => docker(".dockerconfigjson", value(".dockerconfigjson")),
        "kubernetes.io/basic-auth" if value("username").is_none() && value("password").is_none() => {
            missing("username").into_iter().chain(missing("password")).collect()
        }
        "kubernetes.io/ssh-auth" if value("ssh-privatekey").is_none_or(|key| key == "" || key.is_null()) => {
            vec![required("data[ssh-privatekey]", "")]
        }
        "kubernetes.io/tls" => missing("tls.crt").into_iter().chain(missing("tls.key")).collect(),
        _ => Vec::new(),
    }
}

fn docker(key: &str, value: Option<&Value>) -> Vec<Violation> {
    let field = format!("data[{key}]");
    let Some(encoded) = value else { return vec![required(&field, "")] };
    let bytes = STANDARD.decode(encoded.as_str().unwrap_or_default()).unwrap_or_default();
    let complaint = match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(_) | Value::Null) => return Vec::new(),
        Ok(other) => {
            let got = match other {
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) | Value::Null | Value::Object(_) => "array",
            };
            format!("json: cannot unmarshal {got} into Go value of type map[string]interface {{}}")
        }
        Err(error) if error.is_eof() => "unexpected end of JSON input".to_owned(),
        Err(_) => {
            let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace()).copied().unwrap_or_default();
            format!("invalid character '{}' looking for beginning of value", char::from(first))
        }
    };
    vec![invalid_text(&field, "<secret contents redacted>", complaint)]
}
