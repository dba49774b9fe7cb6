//! What an applier wanted before and does not want now goes, unless somebody else owns it.

use serde_json::Value;

use crate::merge::fields::Set;
use crate::merge::managed::{Managed, Owner};
use crate::merge::shape::Shape;
use crate::merge::typed::{present, remove, with_named};

/// `merged` without the fields of `wanted` that nobody in `managed` owns; the applier is in there with what it wants now.
pub(super) fn prune(shape: Shape<'_>, merged: Value, managed: &Managed, applier: &Owner, wanted: &Set) -> Value {
    if managed.get(applier).is_some_and(|now| wanted.is_within(&now.fields)) {
        return merged;
    }
    let named = |set: &Set| with_named(set, Some(shape));
    let fields = |object: &Value| named(&present(shape, object));
    let wanted = named(wanted);
    let all = fields(&merged);

    let pruned = remove(shape, &merged, &wanted);
    let mut owned = fields(&pruned);
    for holding in managed.holdings() {
        owned.add(named(&holding.fields));
    }
    let pruned = remove(shape, &merged, &all.difference(&owned));

    // Fields that went along with others and that the applier never wanted come back.
    let gone = all.difference(&fields(&pruned)).intersection(&wanted);
    if gone.is_empty() { merged } else { remove(shape, &merged, &gone) }
}
