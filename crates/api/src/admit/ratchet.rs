//! On an update, what did not change is not held against the writer: definitions may become stricter over time, and an
//! old object must still be able to get a status, a label or its finalizer removed.

use serde_json::Value;

use super::field::{FieldPath, Segment, schema_of};
use super::lists::key_of;

/// Whether the value at `path`, or one that contains it, is the same in the old object.
pub(super) fn unchanged(schema: &Value, new: &Value, old: Option<&Value>, path: &FieldPath) -> bool {
    let (mut schema, mut new, mut old) = (Some(schema), Some(new), old);
    let mut segments = path.0.iter();
    loop {
        let (Some(now), Some(before)) = (new, old) else { return false };
        if now == before {
            return true;
        }
        let Some(segment) = segments.next() else { return false };
        (schema, new, old) = match segment {
            Segment::Key(key) => (schema.and_then(|schema| schema_of(schema, key)), now.get(key), before.get(key)),
            Segment::Index(index) => {
                let item = now.get(index);
                (schema.and_then(|schema| schema.get("items")), item, counterpart(schema, item, before))
            }
        };
    }
}

/// The item of the old list that a new one continues; only lists that are maps know.
fn counterpart<'old>(schema: Option<&Value>, item: Option<&Value>, before: &'old Value) -> Option<&'old Value> {
    let (schema, item) = (schema?, item?);
    if schema.get("x-kubernetes-list-type")?.as_str()? != "map" {
        return None;
    }
    before.as_array()?.iter().find(|old| key_of(schema, old) == key_of(schema, item))
}
