//! Strategic merge patch: a merge patch that knows the kind. Lists with the strategy `merge` are merged by a key, or by
//! value; directives in the patch delete, replace, retain and order.

mod list;
mod order;

use http::StatusCode;
use serde_json::{Map, Value};

use super::does_not_apply;
use crate::failure::Failure;
use crate::merge::value;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

/// Why a patch does not work.
#[derive(Debug)]
enum Trouble {
    /// The patch is malformed.
    Malformed(&'static str),
    /// The patch does not fit, and nobody is told why.
    Misfit,
    /// What the real server did not foresee.
    Unforeseen(String),
}

type Fields = Map<String, Value>;

/// `object` with `patch` merged in as the built-in kind's `schema` says.
pub fn strategic_merge(schema: &Value, object: &Value, patch: &[u8]) -> Result<Value, Failure> {
    let patch = match super::read_json(patch).map_err(Failure::bad_request)? {
        Value::Object(patch) => patch,
        Value::Null => Fields::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            let what = super::kind_of(&other);
            let message = format!("json: cannot unmarshal {what} into Go value of type map[string]interface {{}}");
            return Err(Failure::bad_request(message));
        }
    };
    let fields = object.as_object().cloned().unwrap_or_default();
    let merged = merge(fields, patch, schema).map_err(|trouble| match trouble {
        Trouble::Malformed(message) => Failure::bad_request(message),
        Trouble::Misfit => does_not_apply(),
        Trouble::Unforeseen(message) => Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "", message),
    })?;
    Ok(Value::Object(merged))
}

/// What a kind says about one of its fields.
struct Meta<'a> {
    schema: &'a Value,
    merges: bool,
    replaces: bool,
    key: &'a str,
}

fn lookup<'a>(schema: &'a Value, name: &str) -> Result<Meta<'a>, Trouble> {
    let named = schema.get("properties").and_then(|properties| properties.get(name));
    let schema = named.or_else(|| schema.get("additionalProperties").filter(|schema| schema.is_object()));
    let schema = schema.ok_or_else(|| Trouble::Unforeseen(format!("unable to find api field \"{name}\"")))?;
    let text = |name: &str| schema.get(name).and_then(Value::as_str).unwrap_or_default();
    let strategy = |wanted: &str| text("x-kubernetes-patch-strategy").split(',').any(|strategy| strategy == wanted);
    let key = text("x-kubernetes-patch-merge-key");
    Ok(Meta { schema, merges: strategy("merge"), replaces: strategy("replace"), key })
}

fn merge(original: Fields, patch: Fields, schema: &Value) -> Result<Fields, Trouble> {
    let (mut original, mut patch) = (original, patch);
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Fields::new()),
            _ => Err(unknown_directive(directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    order::merge_ordered(&mut original, &mut patch, schema)?;
    for (name, new) in patch {
        merge_field(&mut original, &name, new, schema)?;
    }
    Ok(original)
}

fn merge_field(original: &mut Fields, name: &str, new: Value, schema: &Value) -> Result<(), Trouble> {
    let deletes = name.starts_with(DELETE_FROM);
    let name = if deletes {
        target(name, DELETE_FROM).ok_or(Trouble::Malformed("invalid patch format of primitive list"))?
    } else {
        name
    };
    if new.is_null() {
        original.remove(name);
        return Ok(());
    }
    let Some(old) = original.get_mut(name) else {
        if !deletes {
            take(original, name, new, true);
        }
        return Ok(());
    };
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let meta = lookup(schema, name)?;
            *old = if meta.replaces { new } else { merge(std::mem::take(old), new, meta.schema)? };
        }
        (Value::Array(old), Value::Array(new)) => {
            let meta = lookup(schema, name)?;
            *old = list::merge_by(std::mem::take(old), new, &meta, deletes)?;
        }
        (old, new) => {
            let alike = value::type_name(old) == value::type_name(&new);
            if alike || !deletes {
                take(original, name, new, !alike);
            }
        }
    }
    Ok(())
}

/// Takes a value from the patch as it is, without what is only there for merging.
fn take(original: &mut Fields, name: &str, new: Value, discard_nulls: bool) {
    let mut new = new;
    if discard_nulls {
        discard(&mut new);
    }
    match without_directives(new) {
        Some(new) => original.insert(name.to_owned(), new),
        None => original.remove(name),
    };
}

fn discard(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(discard);
        }
        Value::Array(items) => items.iter_mut().for_each(discard),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let kept = fields.into_iter().filter_map(|(name, field)| Some((name, without_directives(field)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => Some(other),
    }
}

/// Removes the fields that the patch does not want to retain.
fn retain_keys(original: &mut Fields, patch: &mut Fields) -> Result<(), Trouble> {
    let Some(wanted) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let malformed = Trouble::Malformed("invalid patch format of retainKeys");
    let Value::Array(wanted) = wanted else { return Err(malformed) };
    let is_wanted = |name: &str| wanted.iter().any(|wanted| wanted.as_str() == Some(name));
    let is_directive = |name: &str| name.starts_with(DELETE_FROM) || name.starts_with(SET_ORDER);
    if patch.iter().any(|(name, field)| !field.is_null() && !is_directive(name) && !is_wanted(name)) {
        return Err(malformed);
    }
    original.retain(|name, _| is_wanted(name));
    Ok(())
}

/// The field that a directive in a field's name is about.
fn target<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    name.split_once('/').filter(|(start, _)| *start == prefix).map(|(_, target)| target)
}

fn unknown_directive(directive: &Value, patch: &Fields) -> Trouble {
    let (directive, patch) = (value::plain(directive), value::plain(&Value::Object(patch.clone())));
    Trouble::Unforeseen(format!("unknown patch type: {directive} in map: {patch}"))
}

fn wrong_type(expected: &str, got: &Value) -> Trouble {
    Trouble::Unforeseen(format!("expected a {expected}, but received a {}", value::type_name(got)))
}

fn no_key(item: &Fields, key: &str) -> Trouble {
    let item = value::plain(&Value::Object(item.clone()));
    Trouble::Unforeseen(format!("map: {item} does not contain declared merge key: {key}"))
}

/// The fields of an item that must be a map.
fn fields_of(item: &Value) -> Result<&Fields, Trouble> {
    item.as_object().ok_or_else(|| wrong_type("map[string]interface {}", item))
}

/// The value of an item's merge key.
fn key_of<'a>(item: &'a Value, key: &str) -> Result<&'a Value, Trouble> {
    let fields = fields_of(item)?;
    fields.get(key).ok_or_else(|| no_key(fields, key))
}
