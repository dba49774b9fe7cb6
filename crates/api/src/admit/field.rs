//! Paths to fields, as API servers write them: `spec.nodes[0].name`.

use std::fmt;

use serde_json::Value;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    Key(String),
    Index(usize),
}

/// A path from the object's root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldPath(pub(super) Vec<Segment>);

impl FieldPath {
    pub(super) fn key(&self, key: &str) -> Self {
        self.with(Segment::Key(key.to_owned()))
    }

    pub(super) fn index(&self, index: usize) -> Self {
        self.with(Segment::Index(index))
    }

    fn with(&self, segment: Segment) -> Self {
        let mut path = self.clone();
        path.0.push(segment);
        path
    }

    /// The value at the path.
    pub(super) fn find<'object>(&self, object: &'object Value) -> Option<&'object Value> {
        self.0.iter().try_fold(object, |value, segment| match segment {
            Segment::Key(key) => value.get(key),
            Segment::Index(index) => value.get(index),
        })
    }

    /// Reads a path back. Keys with a dot in them are beyond this form; no rule of ours sits below one.
    pub(super) fn parse(text: &str) -> Self {
        let mut path = Self::default();
        for part in text.split('.').filter(|part| !part.is_empty()) {
            let mut pieces = part.split('[');
            path.0.extend(pieces.next().filter(|key| !key.is_empty()).map(|key| Segment::Key(key.to_owned())));
            path.0.extend(pieces.filter_map(|piece| piece.trim_end_matches(']').parse().ok()).map(Segment::Index));
        }
        path
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if position == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The schema of a property, or of any value of a map.
pub(super) fn schema_of<'schema>(schema: &'schema Value, key: &str) -> Option<&'schema Value> {
    let property = schema.get("properties").and_then(|properties| properties.get(key));
    property.or_else(|| schema.get("additionalProperties").filter(|values| values.is_object()))
}

/// The name a server gives to a value's type.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
