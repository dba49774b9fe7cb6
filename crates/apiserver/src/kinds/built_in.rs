//! What every built-in kind says about itself in one go, and the columns they share.

use serde_json::Value;

use super::definition::expanded;
use crate::kind::{BuiltIn, Column, Kind, Nature};

/// The verbs of a kind that can do everything.
const ALL_VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The verbs of custom resources, in the order that discovery shows, which nobody sorts.
pub(crate) const CUSTOM_VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// A built-in kind without anything special; the caller adds what is.
pub(super) fn kind(group: &str, kind: &str, plural: &str, definition: &str, rules: &'static dyn BuiltIn) -> Kind {
    Kind {
        group: group.to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        plural: plural.to_owned(),
        singular: kind.to_lowercase(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        verbs: ALL_VERBS.to_vec(),
        status: false,
        scale: None,
        schema: expanded(definition),
        columns: Vec::new(),
        nature: Nature::BuiltIn(rules),
    }
}

/// A column that is always shown.
pub(super) fn column(name: &str, of: &str, description: &str) -> Column {
    Column {
        name: name.to_owned(),
        of: of.to_owned(),
        format: String::new(),
        description: description.to_owned(),
        priority: 0,
        json_path: String::new(),
    }
}

/// A column that is shown with `-o wide`.
pub(super) fn wide(name: &str, of: &str, description: &str) -> Column {
    Column { priority: 1, ..column(name, of, description) }
}

/// The first column of every table.
pub(crate) fn name_column() -> Column {
    Column { format: "name".to_owned(), ..column("Name", "string", &described("name")) }
}

/// The column that most tables end with.
pub(super) fn age_column() -> Column {
    column("Age", "string", &described("creationTimestamp"))
}

/// What the schema of metadata says about one of its fields.
pub(crate) fn described(field: &str) -> String {
    let definition = super::definition::definition(super::definition::OBJECT_META);
    let description = definition.and_then(|schema| schema.pointer(&format!("/properties/{field}/description")));
    description.and_then(Value::as_str).unwrap_or_default().to_owned()
}
