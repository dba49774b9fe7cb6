//! What a value was before an update. What did not change is not held against the writer: definitions may become
//! stricter over time, and an old object must still be able to get a status, a label or its finalizer removed.

use serde_json::Value;

use super::field::{schema_of, word};

/// A value beside the one that it continues.
#[derive(Clone, Copy)]
pub(super) struct Past<'a> {
    schema: &'a Value,
    new: &'a Value,
    old: &'a Value,
}

impl<'a> Past<'a> {
    pub(super) fn new(schema: &'a Value, new: &'a Value, old: &'a Value) -> Self {
        Self { schema, new, old }
    }

    /// The past of a field, if it had one.
    pub(super) fn key(self, key: &str) -> Option<Self> {
        Some(Self { schema: schema_of(self.schema, key)?, new: self.new.get(key)?, old: self.old.get(key)? })
    }

    /// The past of an item; only lists that are maps know which it is.
    pub(super) fn index(self, index: usize) -> Option<Self> {
        let new = self.new.get(index)?;
        Some(Self { schema: self.schema.get("items")?, new, old: counterpart(self.schema, new, self.old)? })
    }

    /// Whether nothing changed. Items of a map list may have moved.
    pub(super) fn unchanged(self) -> bool {
        match (self.new, self.old) {
            (Value::Array(new), Value::Array(old)) => {
                let is_map = word(self.schema, "x-kubernetes-list-type") == Some("map");
                let same = |index| self.index(index).is_some_and(Self::unchanged);
                new.len() == old.len() && if is_map { (0..new.len()).all(same) } else { new == old }
            }
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len() && new.keys().all(|key| self.key(key).is_some_and(Self::unchanged))
            }
            (new, old) => new == old,
        }
    }
}

/// The item of the old list that a new one continues, in a list that is a map.
pub(super) fn counterpart<'old>(schema: &Value, item: &Value, old: &'old Value) -> Option<&'old Value> {
    if word(schema, "x-kubernetes-list-type") != Some("map") {
        return None;
    }
    let key = key_of(schema, item)?;
    old.as_array()?.iter().find(|old| key_of(schema, old).as_ref() == Some(&key))
}

/// The values by which an item of a map list is known, if it has them all and they are simple.
fn key_of<'item>(schema: &Value, item: &'item Value) -> Option<Vec<&'item Value>> {
    let keys = schema.get("x-kubernetes-list-map-keys")?.as_array()?;
    let simple = |value: &&Value| !value.is_null() && !value.is_array() && !value.is_object();
    keys.iter().map(|key| item.get(key.as_str()?).filter(simple)).collect()
}
