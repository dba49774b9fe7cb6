//! Server-side apply: a writer says what it wants of an object, in parts, and owns what it says.
//!
//! ```text
//!   live ───┐
//!           ├─ join ─▶ merged ─ prune what it wanted before and does not want now ─▶ result
//!   config ─┘                                                                          │
//!                                           fields that others own and that changed ◀──┘ conflict, or taken by force
//! ```

mod conflict;
mod last_applied;
mod prune;

use http::StatusCode;
use serde_json::Value;

use conflict::Conflict;

use super::managed::{Holding, Managed, Operation};
use super::shape::Shape;
use super::track::{self, Writer};
use super::typed::{self, Duplicates};
use super::value;
use crate::failure::Failure;

/// How an attempt ended badly.
enum Trouble {
    Conflicts(Vec<Conflict>),
    Other(Failure),
}

/// What an attempt gives.
struct Applied {
    /// The object, if it changes.
    object: Option<Value>,
    managed: Managed,
}

/// `live` with `config` applied by `writer`, or a new object where there is none, with its ownership.
///
/// Where nothing changes the result is `live`, times and all. With `force` the writer takes what others own.
pub fn apply(
    schema: &Value,
    live: Option<&Value>,
    config: &Value,
    writer: &Writer<'_>,
    force: bool,
) -> Result<Value, Failure> {
    check_kind(config, writer)?;
    let shape = Shape::new(schema);
    let blank = writer.blank();
    let live = live.unwrap_or(&blank);
    let managed = Managed::of(live).map_err(|why| failed(format!("failed to decode managed fields: {why}")))?;
    let managed = if managed.is_empty() { first(shape, &blank, live, writer)? } else { managed };

    let attempt = |force| attempt(shape, live, config, managed.clone(), writer, force);
    let applied = match attempt(force) {
        Err(Trouble::Conflicts(conflicts)) if writer.name == last_applied::OWNER => {
            match last_applied::unresolved(shape, live, conflicts, writer) {
                rest if rest.is_empty() => attempt(true),
                rest => Err(Trouble::Conflicts(rest)),
            }
        }
        other => other,
    };
    let Applied { object, managed } = applied.map_err(Failure::from)?;
    let mut result = object.unwrap_or_else(|| live.clone());
    if writer.name == last_applied::OWNER {
        last_applied::refresh(&mut result, config);
    }
    managed.write(&mut result);
    Ok(result)
}

/// An error that the real server did not foresee.
fn failed(message: String) -> Failure {
    Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
}

fn check_kind(config: &Value, writer: &Writer<'_>) -> Result<(), Failure> {
    let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    if version == writer.api_version && kind == writer.kind {
        return Ok(());
    }
    let shown = match version.matches('/').count() {
        0 => format!("/{version}, Kind={kind}"),
        1 => format!("{version}, Kind={kind}"),
        _ => "/, Kind=".to_owned(),
    };
    Err(Failure::bad_request(format!("invalid object type: {shown}")))
}

/// An object that nobody owned belongs to a stand-in before the first apply.
fn first(shape: Shape<'_>, blank: &Value, live: &Value, writer: &Writer<'_>) -> Result<Managed, Failure> {
    let stand_in = Writer { name: "before-first-apply", ..*writer };
    track::update(shape, blank, live, Managed::default(), &stand_in)
        .map_err(|why| failed(format!("failed to create manager for existing fields: {why}")))
}

fn attempt(
    shape: Shape<'_>,
    live: &Value,
    config: &Value,
    managed: Managed,
    writer: &Writer<'_>,
    force: bool,
) -> Result<Applied, Trouble> {
    check(shape, live, config)?;
    let current = track::current(shape, managed, writer);
    let mut managed = current.map_err(|why| Trouble::Other(failed(why.to_string())))?;
    let owner = writer.owner(Operation::Apply);
    let before = managed.get(&owner).cloned();
    let merged = typed::join(shape, live, config);
    let fields = typed::present(shape, config).recursive_difference(writer.reset);
    let time = before.as_ref().and_then(|holding| holding.time);
    managed.put(Holding { owner: owner.clone(), api_version: writer.api_version.to_owned(), time, fields });
    let wanted = before.map(|holding| holding.fields).unwrap_or_default();
    let object = prune::prune(shape, merged, &managed, &owner, &wanted);

    let (taken, removed) = typed::compare(shape, live, &object).without(writer.reset).set_and_removed();
    if !force {
        let others = managed.holdings().iter().filter(|holding| holding.owner != owner);
        let conflicts = conflict::find(others, &taken);
        if !conflicts.is_empty() {
            return Err(Trouble::Conflicts(conflicts));
        }
    }
    let changed = !value::equal(live, &object);
    managed.each(|holding| {
        if holding.owner != owner {
            holding.fields.subtract(&taken);
            holding.fields.subtract(&removed);
            return;
        }
        track::strip_system(&mut holding.fields);
        if changed {
            holding.time = Some(writer.now);
        }
    });
    Ok(Applied { object: changed.then_some(object), managed })
}

fn check(shape: Shape<'_>, live: &Value, config: &Value) -> Result<(), Trouble> {
    // A list, even an empty one, is a claim; null and what is no list are not.
    if config.get("metadata").and_then(|metadata| metadata.get("managedFields")).is_some_and(Value::is_array) {
        return Err(Trouble::Other(Failure::bad_request("metadata.managedFields must be nil")));
    }
    let unsound = |what: &str, object: &Value, why: typed::Problems| {
        Trouble::Other(failed(format!("failed to create typed {what} object ({}): {why}", named(object))))
    };
    typed::check(shape, config, Duplicates::Refused).map_err(|why| unsound("patch", config, why))?;
    typed::check(shape, live, Duplicates::Allowed).map_err(|why| unsound("live", live, why))
}

/// The object's name as such errors tell it.
fn named(object: &Value) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let metadata = |name: &str| text(object.get("metadata").and_then(|metadata| metadata.get(name)));
    let version = text(object.get("apiVersion"));
    let version = if version.contains('/') { version } else { format!("/{version}") };
    let kind = text(object.get("kind"));
    format!("{}/{}; {version}, Kind={kind}", metadata("namespace"), metadata("name"))
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Conflicts(conflicts) => conflict::refusal(&conflicts),
            Trouble::Other(failure) => failure,
        }
    }
}

#[cfg(test)]
mod tests;
