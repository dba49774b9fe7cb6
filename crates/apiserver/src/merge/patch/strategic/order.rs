//! The order of merged lists: the patch's items as the patch has them, the others as they stood, each before the item
//! that they stood before.

use serde_json::Value;

use super::{
    DIRECTIVE, Fields, SET_ORDER, Trouble, fields_of, key_of, list, lookup, target, without_directives, wrong_type,
};
use crate::merge::value;

/// Merges the lists that the patch gives an order for, and takes them out of the patch.
pub(super) fn merge_ordered(original: &mut Fields, patch: &mut Fields, schema: &Value) -> Result<(), Trouble> {
    let names: Vec<String> = patch.keys().filter(|name| name.starts_with(SET_ORDER)).cloned().collect();
    for name in names {
        let order = patch.remove(&name).unwrap_or_default();
        let Value::Array(order) = order else { return Err(wrong_type("[]interface {}", &order)) };
        let malformed = Trouble::Malformed("invalid patch format of setElementOrder list");
        let field = target(&name, SET_ORDER).ok_or(malformed)?;
        let old = items(original.get(field))?;
        let new = items(patch.get(field))?;
        let meta = lookup(schema, field)?;
        check_order(new.as_deref().unwrap_or_default(), &order, meta.key)?;
        let merged = match (&old, &new) {
            (None, None) => continue,
            (Some(old), None) => old.clone(),
            (None, Some(new)) => new.iter().cloned().filter_map(without_directives).collect(),
            (Some(old), Some(new)) => list::merge_by(old.clone(), new.clone(), &meta, false)?,
        };
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let maps = list::has_maps(&old, &new)?;
        let arranged = arrange(merged, &order, &old, meta.key, maps)?;
        original.insert(field.to_owned(), Value::Array(arranged));
        patch.remove(field);
    }
    Ok(())
}

fn items(list: Option<&Value>) -> Result<Option<Vec<Value>>, Trouble> {
    match list {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.clone())),
        Some(other) => Err(wrong_type("[]interface {}", other)),
    }
}

fn deletes(item: &Value) -> bool {
    item.get(DIRECTIVE).and_then(Value::as_str) == Some("delete")
}

/// The patch's items must stand in the order that the patch tells.
fn check_order(patch: &[Value], order: &[Value], key: &str) -> Result<(), Trouble> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut wanted = order.iter();
    for item in patch {
        let has_directive =
            if key.is_empty() { item.get(DIRECTIVE).is_some() } else { fields_of(item)?.contains_key(DIRECTIVE) };
        if has_directive {
            continue;
        }
        let mut found = false;
        for other in wanted.by_ref() {
            found = if key.is_empty() { item == other } else { key_of(item, key)? == key_of(other, key)? };
            if found {
                break;
            }
        }
        if !found {
            let (patch, order) = (value::plain(&Value::from(patch)), value::plain(&Value::from(order)));
            let message = format!("The order in patch list:\n{patch}\n doesn't match {SET_ORDER} list:\n{order}\n");
            return Err(Trouble::Unforeseen(message));
        }
    }
    Ok(())
}

/// Puts merged items in order: those in `order` as there, the others as in `before`.
pub(super) fn arrange(
    merged: Vec<Value>,
    order: &[Value],
    before: &[Value],
    key: &str,
    maps: bool,
) -> Result<Vec<Value>, Trouble> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for item in merged {
        let in_order = if key.is_empty() {
            order.contains(&item)
        } else {
            let wanted = key_of(&item, key)?;
            order.iter().any(|other| other.get(key) == Some(wanted))
        };
        if in_order { ours.push(item) } else { theirs.push(item) }
    }
    let ours = sorted(ours, order, key, maps)?;
    let theirs = sorted(theirs, before, key, maps)?;
    Ok(interleaved(theirs, ours, before, key, maps))
}

fn index(list: &[Value], item: &Value, key: &str, maps: bool) -> Option<usize> {
    let of = |item: &Value| if maps { item.get(key).cloned().unwrap_or_default() } else { item.clone() };
    let wanted = of(item);
    list.iter().position(|other| of(other) == wanted)
}

fn sorted(items: Vec<Value>, order: &[Value], key: &str, maps: bool) -> Result<Vec<Value>, Trouble> {
    if maps {
        for item in items.iter().chain(order) {
            key_of(item, key)?;
        }
    }
    let (gone, mut kept): (Vec<Value>, Vec<Value>) = items.into_iter().partition(|item| maps && deletes(item));
    // An insertion sort, as the real server's for short lists: items that the order does not know move to the front.
    for at in 1..kept.len() {
        let mut here = at;
        while here > 0 {
            let places = (index(order, &kept[here], key, maps), index(order, &kept[here - 1], key, maps));
            let before = if let (Some(left), Some(right)) = places { left < right } else { true };
            if !before {
                break;
            }
            kept.swap(here, here - 1);
            here -= 1;
        }
    }
    kept.extend(gone);
    Ok(kept)
}

fn interleaved(theirs: Vec<Value>, ours: Vec<Value>, before: &[Value], key: &str, maps: bool) -> Vec<Value> {
    let (mut theirs, mut ours) = (theirs.into_iter().peekable(), ours.into_iter().peekable());
    let mut all = Vec::new();
    loop {
        let first = match (theirs.peek(), ours.peek()) {
            (None, None) => return all,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(left), Some(right)) => {
                let places = (index(before, left, key, maps), index(before, right, key, maps));
                matches!(places, (Some(left), Some(right)) if left < right)
            }
        };
        all.extend(if first { theirs.next() } else { ours.next() });
    }
}
