//! Tables: objects as rows of cells, the way `kubectl get` asks for them; and metadata alone.

mod cell;
pub(crate) mod duration;
mod json_path;

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::kind::{Column, Kind, Nature};

/// What a row carries beside its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    /// Nothing.
    Nothing,
    /// The object's metadata.
    Metadata,
    /// The object.
    Object,
}

/// How a table is made.
pub(crate) struct Rendering<'a> {
    /// The version of `meta.k8s.io`.
    pub version: &'a str,
    /// What rows carry.
    pub include: Include,
    /// The metadata of the list, or of the object.
    pub metadata: Value,
    /// Whether columns are described; later tables of a watch leave that out.
    pub headed: bool,
    /// The time that ages are counted to.
    pub now: jiff::Timestamp,
}

impl Include {
    /// What `includeObject` asks for; what makes no sense was refused before, see [`Include::check`].
    pub(crate) fn read(text: &str) -> Self {
        match text {
            "None" => Self::Nothing,
            "Object" => Self::Object,
            _ => Self::Metadata,
        }
    }

    /// Refuses an `includeObject` that makes no sense.
    pub(crate) fn check(text: &str) -> Result<(), Failure> {
        if matches!(text, "" | "None" | "Metadata" | "Object") {
            return Ok(());
        }
        let message = format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', 'Object', \
             'None', or empty",
            Value::from(text)
        );
        Err(Failure::new(StatusCode::BAD_REQUEST, "BadRequest", message))
    }
}

/// A table of objects.
pub(crate) fn render(kind: &Kind, objects: &[Value], rendering: &Rendering<'_>) -> Value {
    let rows: Vec<Value> = objects.iter().map(|object| row(kind, object, rendering)).collect();
    let mut metadata = rendering.metadata.clone();
    if let Some(fields) = metadata.as_object_mut() {
        fields.retain(|key, value| key != "continue" || *value != json!(""));
    }
    let mut table = json!({
        "kind": "Table", "apiVersion": format!("meta.k8s.io/{}", rendering.version), "metadata": metadata,
        "columnDefinitions": Value::Null, "rows": rows,
    });
    if rendering.headed {
        table["columnDefinitions"] = kind.columns.iter().map(definition).collect();
    }
    // Kinds that the server has no idea how to show answer with Go's nil.
    if rows_are_nil(kind) && objects.is_empty() {
        table["rows"] = Value::Null;
    }
    table
}

fn rows_are_nil(kind: &Kind) -> bool {
    matches!(kind.nature, Nature::BuiltIn(_)) && kind.columns.iter().any(|column| column.name == "Created At")
}

/// An object's metadata as an object of its own.
pub(crate) fn partial(object: &Value, version: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}

fn row(kind: &Kind, object: &Value, rendering: &Rendering<'_>) -> Value {
    let carried = match rendering.include {
        Include::Nothing => Value::Null,
        Include::Metadata => partial(object, rendering.version),
        Include::Object => object.clone(),
    };
    let cells = match &kind.nature {
        Nature::BuiltIn(rules) => rules.cells(object, rendering.now),
        Nature::Custom(_) => {
            let name = object.pointer("/metadata/name").cloned().unwrap_or_else(|| json!(""));
            let own = kind.columns.iter().skip(1).map(|column| cell::of(column, object, rendering.now));
            std::iter::once(name).chain(own).collect()
        }
    };
    json!({ "cells": cells, "object": carried })
}

fn definition(column: &Column) -> Value {
    let mut fields = Map::new();
    fields.insert("name".to_owned(), json!(column.name));
    fields.insert("type".to_owned(), json!(column.of));
    fields.insert("format".to_owned(), json!(column.format));
    fields.insert("description".to_owned(), json!(column.description));
    fields.insert("priority".to_owned(), json!(column.priority));
    Value::Object(fields)
}

#[cfg(test)]
mod tests;
