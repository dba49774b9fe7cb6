//! Where a value is, as API servers write it, and what a schema says of what is below it.

use serde_json::Value;

/// A path from the object's root, as field errors write it: `spec.nodes[0].labels[zone]`. The root itself has no name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place(Option<String>);

impl Place {
    /// The place of a field, or of a path of them.
    pub(super) fn child(&self, name: &str) -> Self {
        Self(Some(match &self.0 {
            Some(path) => format!("{path}.{name}"),
            None => name.to_owned(),
        }))
    }

    /// The place of a map's entry.
    pub(super) fn key(&self, key: &str) -> Self {
        Self(Some(format!("{}[{key}]", self.0.as_deref().unwrap_or_default())))
    }

    /// The place of a list's item.
    pub(super) fn index(&self, index: usize) -> Self {
        self.key(&index.to_string())
    }

    /// The path in a violation.
    pub(super) fn field(&self) -> String {
        self.0.clone().unwrap_or_else(|| "<nil>".to_owned())
    }
}

/// The schema of a property, or of any value of a map.
pub(super) fn schema_of<'schema>(schema: &'schema Value, key: &str) -> Option<&'schema Value> {
    property(schema, key).or_else(|| values(schema))
}

/// The schema of a property.
pub(super) fn property<'schema>(schema: &'schema Value, key: &str) -> Option<&'schema Value> {
    schema.get("properties").and_then(|properties| properties.get(key))
}

/// The schema of a map's values.
pub(super) fn values(schema: &Value) -> Option<&Value> {
    schema.get("additionalProperties").filter(|values| values.is_object())
}

/// Whether the schema says yes to a keyword.
pub(super) fn flag(schema: &Value, keyword: &str) -> bool {
    schema.get(keyword).and_then(Value::as_bool).unwrap_or(false)
}

/// The text of a keyword.
pub(super) fn word<'schema>(schema: &'schema Value, keyword: &str) -> Option<&'schema str> {
    schema.get(keyword).and_then(Value::as_str)
}
