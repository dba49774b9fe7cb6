//! Ownership after a write that is not an apply: whoever gives a field a value owns it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::fields::Set;
use super::managed::{Managed, Operation, Owner};
use super::shape::Shape;
use super::typed::{self, Duplicates, Problems};

/// Who writes, what, and when.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// The name it gave itself; an empty one becomes `unknown`.
    pub name: &'a str,
    /// The subresource it writes; empty for the object itself.
    pub subresource: &'a str,
    /// The version it writes in, such as `example.com/v1`.
    pub api_version: &'a str,
    /// The kind it writes.
    pub kind: &'a str,
    /// Other versions in which the kind is served with the same fields; ownership in any further version is forgotten,
    /// with a custom resource all ownership is.
    pub kin: &'a [&'a str],
    /// What the kind takes back from a writer here, see [`resets`]: nobody owns that through this subresource.
    pub reset: &'a Set,
    /// An object of the kind before anyone wrote to it. None for custom resources; built-in kinds have the fields that
    /// their Go type never leaves out, such as `{"spec": {}, "status": {}}` of a Namespace.
    pub blank: Option<&'a Value>,
    /// Now.
    pub now: Timestamp,
}

/// Whose write a kind takes fields back from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// A custom resource, or a built-in kind with `status` apart.
    Main {
        /// Whether `status` is written apart.
        status: bool,
    },
    /// The status of a custom resource.
    CustomStatus,
    /// The status of a built-in kind: `CustomResourceDefinition` or Namespace.
    BuiltInStatus,
    /// Anything that takes nothing back, such as `scale`.
    Nothing,
}

/// The fields that a write through a strategy cannot change.
pub fn resets(strategy: Strategy) -> Set {
    match strategy {
        Strategy::Main { status: true } => Set::of_names(&[&["status"]]),
        Strategy::CustomStatus => Set::of_names(&[&["metadata"], &["spec"]]),
        Strategy::BuiltInStatus => Set::of_names(&[&["spec"]]),
        Strategy::Main { status: false } | Strategy::Nothing => Set::new(),
    }
}

/// `new` with the ownership it has once `writer` has written it over `old`, or created it.
///
/// An object that is unsound by its schema gets no ownership at all: it will be refused later.
///
/// An empty list of `managedFields` in `new` clears all ownership. Decoding a custom resource drops empty lists from its
/// metadata, this one too.
pub fn track(schema: &Value, old: Option<&Value>, new: Value, writer: &Writer<'_>) -> Value {
    let mut new = new;
    let managed = starting_point(old, &new, writer);
    Managed::default().write(&mut new);
    if managed.is_empty() && old.is_some() {
        return new;
    }
    let blank;
    let old = if let Some(old) = old {
        old
    } else {
        blank = writer.blank();
        &blank
    };
    if let Ok(mut managed) = update(Shape::new(schema), old, &new, managed, writer) {
        managed.cap();
        managed.write(&mut new);
    }
    new
}

/// The ownership to start from: what the writer sends, if that can be read, else what is stored.
fn starting_point(old: Option<&Value>, new: &Value, writer: &Writer<'_>) -> Managed {
    let stored = || old.and_then(|old| Managed::of(old).ok()).unwrap_or_default();
    if !writer.subresource.is_empty() {
        return stored();
    }
    let sent = new.get("metadata").and_then(|metadata| metadata.get("managedFields")).and_then(Value::as_array);
    let Some(sent) = sent else { return stored() };
    let clears = match sent.as_slice() {
        [] => true,
        [only] => *only == json!({}),
        [_, _, ..] => false,
    };
    if clears {
        return Managed::default();
    }
    Managed::of(new).ok().filter(|managed| !managed.is_empty()).unwrap_or_else(stored)
}

/// Ownership after `writer` made `new` out of `old`.
pub(super) fn update(
    shape: Shape<'_>,
    old: &Value,
    new: &Value,
    managed: Managed,
    writer: &Writer<'_>,
) -> Result<Managed, Problems> {
    typed::check(shape, new, Duplicates::Allowed)?;
    typed::check(shape, old, Duplicates::Allowed)?;
    let mut managed = current(shape, managed, writer)?;
    let (mut taken, removed) = typed::compare(shape, old, new).without(writer.reset).set_and_removed();
    if !(taken.is_empty() && removed.is_empty()) {
        managed.each(|holding| {
            holding.fields.subtract(&taken);
            holding.fields.subtract(&removed);
        });
    }
    strip_system(&mut taken);
    if !taken.is_empty() {
        managed.give(writer.owner(Operation::Update), writer.api_version, taken, writer.now);
    }
    Ok(managed)
}

/// Ownership in the versions that there are, by the schema that there is.
///
/// What is owned in a version that is gone is forgotten; custom resources do not get over it.
pub(super) fn current(shape: Shape<'_>, managed: Managed, writer: &Writer<'_>) -> Result<Managed, Problems> {
    let mut managed = managed;
    let is_gone = |version: &str| version != writer.api_version && !writer.kin.contains(&version);
    if let Some(gone) = managed.holdings().iter().find(|holding| is_gone(&holding.api_version))
        && writer.blank.is_none()
    {
        let version = &gone.api_version;
        return Err(Problems::one(format!("request to convert CR to an invalid group/version: {version}")));
    }
    managed.retain(|holding| !is_gone(&holding.api_version));
    managed.each(|holding| typed::reconcile(shape, &mut holding.fields));
    Ok(managed)
}

/// Takes out what nobody owns: the system's own metadata.
pub(super) fn strip_system(fields: &mut Set) {
    static SYSTEM: std::sync::LazyLock<Set> = std::sync::LazyLock::new(|| {
        Set::of_names(&[
            &["apiVersion"],
            &["kind"],
            &["metadata"],
            &["metadata", "name"],
            &["metadata", "namespace"],
            &["metadata", "creationTimestamp"],
            &["metadata", "selfLink"],
            &["metadata", "uid"],
            &["metadata", "clusterName"],
            &["metadata", "generation"],
            &["metadata", "managedFields"],
            &["metadata", "resourceVersion"],
        ])
    });
    fields.subtract(&SYSTEM);
}

impl Writer<'_> {
    /// The owner that this writer is when it does `operation`.
    pub(super) fn owner(&self, operation: Operation) -> Owner {
        Owner {
            name: if self.name.is_empty() { "unknown" } else { self.name }.to_owned(),
            operation,
            api_version: match operation {
                Operation::Apply => String::new(),
                Operation::Update => self.api_version.to_owned(),
            },
            subresource: self.subresource.to_owned(),
        }
    }

    /// The object before anyone wrote to it.
    pub(super) fn blank(&self) -> Value {
        let mut blank = self.blank.cloned().unwrap_or_else(|| json!({}));
        blank["apiVersion"] = json!(self.api_version);
        blank["kind"] = json!(self.kind);
        blank
    }
}

#[cfg(test)]
mod tests;
