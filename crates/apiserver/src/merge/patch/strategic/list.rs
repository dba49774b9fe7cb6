//! Lists that are merged: maps by a key, scalars by value.

use serde_json::Value;

use super::{DIRECTIVE, Meta, Trouble, fields_of, key_of, merge, no_key, order, unknown_directive};
use crate::merge::value;

/// The patch's list merged into the original, if the field is of that kind, else the patch's.
pub(super) fn merge_by(
    original: Vec<Value>,
    patch: Vec<Value>,
    meta: &Meta<'_>,
    deletes: bool,
) -> Result<Vec<Value>, Trouble> {
    if !meta.merges && !deletes {
        return Ok(patch);
    }
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    if !has_maps(&original, &patch)? {
        if deletes {
            return Ok(original.into_iter().filter(|item| !patch.contains(item)).collect());
        }
        let merged = deduplicated(original.iter().chain(&patch).cloned().collect());
        return order::arrange(merged, &patch, &original, "", false);
    }
    if meta.key.is_empty() {
        return Err(Trouble::Unforeseen("cannot merge lists without merge key for struct".to_owned()));
    }
    let (original, patch) = obey(original, patch, meta.key)?;
    let merged = merge_maps(original.clone(), &patch, meta)?;
    order::arrange(merged, &patch, &original, meta.key, true)
}

/// Whether the items of both lists are maps; all must be of one kind, and not lists.
pub(super) fn has_maps(original: &[Value], patch: &[Value]) -> Result<bool, Trouble> {
    let mut all = original.iter().chain(patch);
    let Some(first) = all.next() else {
        return Err(Trouble::Unforeseen("no elements in any of the given slices".to_owned()));
    };
    if first.is_array() {
        return Err(Trouble::Misfit);
    }
    if all.any(|item| value::type_name(item) != value::type_name(first)) {
        let lists = format!("[{} {}]", value::plain(&Value::from(original)), value::plain(&Value::from(patch)));
        return Err(Trouble::Unforeseen(format!("list element types are not identical: {lists}")));
    }
    Ok(first.is_object())
}

/// Removes repetitions; the last item takes the place of one, as in the real server.
fn deduplicated(items: Vec<Value>) -> Vec<Value> {
    let mut items = items;
    let mut at = 0;
    while at < items.len() {
        let mut other = at + 1;
        while other < items.len() {
            if items[at] == items[other] {
                items.swap_remove(other);
            } else {
                other += 1;
            }
        }
        at += 1;
    }
    items
}

/// Does what the items with directives say: both lists without them.
fn obey(original: Vec<Value>, patch: Vec<Value>, key: &str) -> Result<(Vec<Value>, Vec<Value>), Trouble> {
    let mut original = original;
    let mut rest = Vec::new();
    let mut replaces = false;
    for item in patch {
        let fields = fields_of(&item)?;
        let Some(directive) = fields.get(DIRECTIVE) else {
            rest.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let gone = fields.get(key).ok_or_else(|| no_key(fields, key))?;
                original.retain(|item| item.get(key) != Some(gone));
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                let message = "merging lists cannot yet be specified in the patch";
                return Err(Trouble::Unforeseen(message.to_owned()));
            }
            _ => return Err(unknown_directive(directive, fields)),
        }
    }
    Ok(if replaces { (rest, Vec::new()) } else { (original, rest) })
}

fn merge_maps(original: Vec<Value>, patch: &[Value], meta: &Meta<'_>) -> Result<Vec<Value>, Trouble> {
    let mut merged = original;
    let nothing = Value::Null;
    let items = meta.schema.get("items").unwrap_or(&nothing);
    for item in patch {
        let wanted = key_of(item, meta.key)?;
        match merged.iter_mut().find(|known| known.get(meta.key) == Some(wanted)) {
            Some(known) => {
                let old = known.as_object().cloned().unwrap_or_default();
                *known = Value::Object(merge(old, fields_of(item)?.clone(), items)?);
            }
            None => merged.push(item.clone()),
        }
    }
    Ok(merged)
}
