//! An object as it is kept.

use std::fmt;

use serde_json::Value;

/// A kind's storage, whatever versions it is served in: `configmaps`, or `lamps.example.hyperfleet.io`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// The group; empty for the core.
    pub group: String,
    /// The plural name.
    pub plural: String,
}

impl Resource {
    /// A resource by its group and plural.
    pub fn new(group: impl Into<String>, plural: impl Into<String>) -> Self {
        Self { group: group.into(), plural: plural.into() }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::failure::Of { group: &self.group, name: &self.plural }.fmt(f)
    }
}

/// Where an object is among those of its resource; the namespace is empty for objects outside namespaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Key {
    /// A key by namespace (empty outside namespaces) and name.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() { f.write_str(&self.name) } else { write!(f, "{}/{}", self.namespace, self.name) }
    }
}

/// One version of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The revision that made it.
    pub revision: u64,
    /// The whole object as JSON, its resource version included.
    pub text: Box<str>,
}

impl Record {
    /// The text of `object`, which carries `revision` as its resource version.
    pub fn new(object: &Value, revision: u64) -> Self {
        Self { revision, text: object.to_string().into_boxed_str() }
    }

    /// The object.
    pub fn parse(&self) -> Value {
        serde_json::from_str(&self.text).expect("a record was made from a value")
    }
}
