//! What the machine is told before it has said anything: found, read and checked.

mod find;
mod iso;

use protocol::{Seed, VERSION};
use serde_json::{Map, Value};

use crate::uuid::is_uuid;

pub use find::{FindError, find, read};
pub use iso::{IsoError, file};

/// The fields that are text.
const TEXTS: [&str; 5] = ["url", "authority", "id", "token", "machine"];
/// The field that may be missing.
const PIN: &str = "agent";

/// A seed that cannot be used; says which field is wrong and never what it holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeedError {
    /// It is no JSON object.
    #[error("the seed is no JSON object (line {line}, column {column}): let the operator make another")]
    Form {
        /// Where reading stopped.
        line: usize,
        /// Where in that line.
        column: usize,
    },
    /// It is no line of the firmware's.
    #[error("the seed in the firmware is damaged: let the operator make another machine")]
    Line,
    /// It is for another version of the agent.
    #[error("field version of the seed must be {VERSION}: use an image with the agent of the operator's version")]
    Version,
    /// It has a field that this version does not know.
    #[error("the seed has a field {0:?} that is not known here: use an image with the agent of the operator's version")]
    Unknown(String),
    /// A field is not what it must be.
    #[error("field {field} of the seed must be {expected}: {remedy}")]
    Field {
        /// Its name.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What to do about it.
        remedy: &'static str,
    },
}

/// Reads and checks a seed.
pub fn parse(text: &[u8]) -> Result<Seed, SeedError> {
    let fields: Map<String, Value> =
        serde_json::from_slice(text).map_err(|error| SeedError::Form { line: error.line(), column: error.column() })?;
    if fields.get("version").and_then(Value::as_u64) != Some(u64::from(VERSION)) {
        return Err(SeedError::Version);
    }
    let is_known = |name: &str| name == "version" || name == PIN || TEXTS.contains(&name);
    if let Some(unknown) = fields.keys().find(|name| !is_known(name)) {
        return Err(SeedError::Unknown(unknown.chars().take(40).collect()));
    }
    for field in TEXTS {
        if fields.get(field).and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(wrong(field, "a text"));
        }
    }
    if fields.get(PIN).is_some_and(|pin| !pin.as_str().is_some_and(is_sha256)) {
        return Err(wrong(PIN, "a SHA-256 in 64 small hexadecimal digits"));
    }
    // Not by the error of the reader, which may show what a field holds: by now there is nothing left to complain about.
    let seed: Seed =
        serde_json::from_value(Value::Object(fields)).map_err(|_| SeedError::Form { line: 0, column: 0 })?;
    check(seed)
}

/// Reads and checks a seed that stands in the firmware.
pub fn engraved(line: &str) -> Result<Seed, SeedError> {
    check(protocol::decipher(line).ok_or(SeedError::Line)?)
}

fn check(seed: Seed) -> Result<Seed, SeedError> {
    if place(&seed.url).is_none() {
        let remedy = "correct bootstrap.advertise in the operator's settings";
        return Err(SeedError::Field { field: "url", expected: "https://host or https://host:port", remedy });
    }
    for (field, text) in [("id", &seed.id), ("machine", &seed.machine)] {
        if !is_uuid(text) {
            return Err(wrong(field, "a UUID"));
        }
    }
    Ok(seed)
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn wrong(field: &'static str, expected: &'static str) -> SeedError {
    SeedError::Field { field, expected, remedy: "let the operator make another seed" }
}

/// Host and port of `https://host[:port]`; nothing if the text is anything else.
pub(crate) fn place(url: &str) -> Option<(String, u16)> {
    let parts = url.parse::<http::Uri>().ok()?.into_parts();
    let authority = parts.authority?;
    let bare = parts.path_and_query.is_none_or(|path| path == "/");
    if parts.scheme != Some(http::uri::Scheme::HTTPS) || !bare || authority.as_str().contains('@') {
        return None;
    }
    let port = match authority.as_str().strip_prefix(authority.host())? {
        "" => 443,
        rest => rest.strip_prefix(':')?.parse().ok().filter(|port| *port != 0)?,
    };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
    (!host.is_empty()).then_some((host, port))
}

#[cfg(test)]
mod tests;
