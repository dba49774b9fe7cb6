//! Patches: which kind a request brings, and the object that results.
//!
//! The functions here return the raw result: pruning, defaulting and every check of the object are for the caller.

mod json;
mod merging;
mod strategic;

use api::{Cause, Violation};
use http::StatusCode;
use serde_json::Value;

pub use json::json_patch;
pub use merging::{merge_patch, merge_patch_unseen};
pub use strategic::strategic_merge;

use super::managed::is_printable;
use crate::failure::{Details, Failure};

/// A kind of patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// A list of operations, RFC 6902.
    Json,
    /// An object with the changes, RFC 7386.
    Merge,
    /// An object with the changes, lists merged as the kind says.
    Strategic,
    /// A configuration for server-side apply.
    Apply,
}

impl PatchKind {
    /// The media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }

    /// The kinds of patches that custom resources take, or built-in kinds.
    const fn taken(custom: bool) -> &'static [Self] {
        if custom {
            &[Self::Json, Self::Merge, Self::Apply]
        } else {
            &[Self::Json, Self::Merge, Self::Strategic, Self::Apply]
        }
    }

    /// The kind of patch that a request brings, by its `Content-Type`.
    pub fn of(content_type: &str, custom: bool) -> Result<Self, Failure> {
        let bare = content_type.split_once(';').map_or(content_type, |(bare, _)| bare);
        let taken = Self::taken(custom);
        taken.iter().copied().find(|kind| kind.media_type() == bare).ok_or_else(|| {
            if !custom {
                // Built-in kinds are refused before anybody has looked at what they take.
                let message = "415: Unsupported Media Type";
                return Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
                    .with_details(Details::default());
            }
            let types: Vec<&str> = taken.iter().map(|kind| kind.media_type()).collect();
            let types = types.join(", ");
            let message =
                format!("the body of the request was in an unknown format - accepted media types include: {types}");
            Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
        })
    }

    /// What is wrong with the options that go with a patch: the part of `PatchOptions` that depends on its kind.
    pub fn wrong_options(self, writer: &str, force: Option<bool>) -> Vec<Violation> {
        let mut wrong = Vec::new();
        match self {
            Self::Apply if writer.is_empty() => {
                wrong.push(Violation::at(
                    "fieldManager",
                    Cause::Required,
                    "Required value: is required for apply patch",
                ));
            }
            Self::Json | Self::Merge | Self::Strategic if force.is_some() => {
                wrong.push(Violation::at(
                    "force",
                    Cause::Forbidden,
                    "Forbidden: may not be specified for non-apply patch",
                ));
            }
            Self::Apply | Self::Json | Self::Merge | Self::Strategic => {}
        }
        wrong.extend(wrong_writer(writer));
        wrong
    }
}

/// What is wrong with the name that a writer gives itself, in the options of any write.
pub fn wrong_writer(writer: &str) -> Vec<Violation> {
    let mut wrong = Vec::new();
    if writer.len() > 128 {
        wrong.push(Violation::at("fieldManager", Cause::TooLong, "Too long: may not be more than 128 bytes"));
    }
    for (at, letter) in writer.char_indices().filter(|(_, letter)| !is_printable(*letter)) {
        let shown = super::value::quoted(writer);
        let number = u32::from(letter);
        let message = format!("Invalid value: {shown}: invalid character U+{number:04X} (at position {at})");
        wrong.push(Violation::at("fieldManager", Cause::Invalid, message));
    }
    wrong
}

/// The configuration that an apply brings, in YAML or JSON.
pub fn configuration(body: &[u8]) -> Result<Value, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::bad_request(format!("error decoding YAML: {why}"));
    let text = std::str::from_utf8(body).map_err(|why| wrong(&why))?;
    let read: Value = match serde_json::from_str(text) {
        Ok(read) => read,
        Err(_) => serde_saphyr::from_str_with_options(text, lenient())
            .map_err(|why| wrong(&format!("error converting YAML to JSON: yaml: {why}")))?,
    };
    match read {
        Value::Object(_) => Ok(read),
        Value::Null => Ok(Value::Object(serde_json::Map::new())),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            let what = kind_of(&read);
            let why = format!("json: cannot unmarshal {what} into Go value of type map[string]interface {{}}");
            Err(wrong(&format!("error unmarshaling JSON: while decoding JSON: {why}")))
        }
    }
}

fn lenient() -> serde_saphyr::Options {
    serde_saphyr::options! { duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins }
}

/// Reads JSON, and complains as Go does.
fn read_json(text: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(text).map_err(|why| {
        if why.is_eof() {
            return "unexpected end of JSON input".to_owned();
        }
        let line = text.split(|letter| *letter == b'\n').nth(why.line().saturating_sub(1)).unwrap_or_default();
        let letter = line.get(why.column().saturating_sub(1)).copied().unwrap_or_default();
        format!("invalid character '{}' looking for beginning of value", char::from(letter).escape_default())
    })
}

/// What Go's JSON calls a value that it did not expect.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A patch that does not fit the object; the real server keeps the reason to itself.
fn does_not_apply() -> Failure {
    let message = "the server rejected our request due to an error in our request";
    Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).with_details(Details::default())
}

#[cfg(test)]
mod tests;
