//! Sets that were written under another schema: what became one field is owned as one.

use crate::merge::fields::{Set, Step};
use crate::merge::shape::{ListForm, MapForm, Shape};

/// Makes a set agree with the shape: whoever owned a part of what is now a whole owns the whole.
pub(crate) fn reconcile(shape: Shape<'_>, set: &mut Set) {
    match (shape.map(), shape.list()) {
        (Some(map), _) if map.is_unknown() => {}
        (Some(map), _) => {
            for node in set.nodes_mut() {
                let Step::Field(name) = &node.step else { continue };
                if let Some((shape, _)) = map.field(name) {
                    settle(shape, &mut node.member, &mut node.below);
                }
            }
        }
        (None, Some(list)) => {
            for node in set.nodes_mut() {
                settle(list.items, &mut node.member, &mut node.below);
            }
        }
        (None, None) => {}
    }
}

fn settle(shape: Shape<'_>, member: &mut bool, below: &mut Set) {
    if below.is_empty() {
        return;
    }
    let whole = match (shape.map(), shape.list()) {
        (Some(map), _) => is_whole_map(map),
        (None, Some(list)) => is_whole_list(list),
        (None, None) => false,
    };
    if whole {
        *member = true;
        *below = Set::new();
    } else {
        reconcile(shape, below);
    }
}

fn is_whole_map(map: MapForm<'_>) -> bool {
    map.whole && !map.is_unknown()
}

fn is_whole_list(list: ListForm<'_>) -> bool {
    list.by.is_whole()
}
