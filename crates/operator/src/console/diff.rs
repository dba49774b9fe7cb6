//! What has changed from one picture to the next: rows as they are now, and nothing where they are gone.

use std::collections::BTreeMap;

use serde::Serialize;

use super::rows::{ClusterRow, JobRow, MachineRow, Place, PoolRow, Queue, Rows, SourceRow};
use super::state::State;

type Changed<'a, R> = BTreeMap<&'a str, Option<&'a R>>;

/// What has changed.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Change<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a Place>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pools: Changed<'a, PoolRow>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    jobs: Changed<'a, JobRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a Queue>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    machines: Changed<'a, MachineRow>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    clusters: Changed<'a, ClusterRow>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    sources: Changed<'a, SourceRow>,
}

impl<'a> Change<'a> {
    /// What leads from one picture to the other.
    pub(super) fn between(before: &'a State, after: &'a State) -> Self {
        // A new part of the picture must not be forgotten here.
        let State { place, pools, jobs, queue, machines, clusters, sources } = after;
        Self {
            place: (before.place != *place).then_some(place),
            pools: changed(&before.pools, pools),
            jobs: changed(&before.jobs, jobs),
            queue: (before.queue != *queue).then_some(queue),
            machines: changed(&before.machines, machines),
            clusters: changed(&before.clusters, clusters),
            sources: changed(&before.sources, sources),
        }
    }
}

fn changed<'a, R: PartialEq>(before: &'a Rows<R>, after: &'a Rows<R>) -> Changed<'a, R> {
    let gone = before.keys().filter(|key| !after.contains_key(*key)).map(|key| (key.as_str(), None));
    let new = after.iter().filter(|(key, row)| before.get(*key) != Some(*row));
    gone.chain(new.map(|(key, row)| (key.as_str(), Some(row)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the page does with a change.
    fn apply(rows: &mut Rows<u8>, change: &Changed<'_, u8>) {
        for (key, row) in change {
            match row {
                Some(row) => rows.insert((*key).to_owned(), **row),
                None => rows.remove(*key),
            };
        }
    }

    proptest! {
        #[test]
        fn a_change_leads_from_one_picture_to_the_next_and_holds_no_row_that_stayed(
            before in prop::collection::btree_map("[a-e]", 0_u8..3, 0..5),
            after in prop::collection::btree_map("[a-e]", 0_u8..3, 0..5),
        ) {
            let change = changed(&before, &after);
            let mut rows = before.clone();
            apply(&mut rows, &change);
            prop_assert_eq!(&rows, &after);
            prop_assert!(change.iter().all(|(key, row)| before.get(*key) != *row));
        }
    }

    #[test]
    fn a_picture_that_stayed_the_same_is_no_change() {
        let state = State::default();
        assert_eq!(serde_json::to_string(&Change::between(&state, &state)).unwrap(), "{}");
    }
}
