//! The bound on how many updaters an object remembers.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Holding, Managed, Operation, Owner};

/// As the real server has it.
const MOST_UPDATERS: usize = 10;

impl Managed {
    /// Merges the oldest updaters into one owner per version until there are few enough.
    pub(crate) fn cap(&mut self) {
        let is_updater = |holding: &&Holding| holding.owner.operation == Operation::Update;
        let mut updaters: Vec<Owner> = self.holdings.iter().filter(is_updater).map(|held| held.owner.clone()).collect();
        if updaters.len() <= MOST_UPDATERS {
            return;
        }
        updaters.sort_by_cached_key(|owner| {
            let time = self.get(owner).and_then(|holding| holding.time);
            (time.map_or(0, Timestamp::as_second), owner.identity())
        });
        let mut left = updaters.len();
        let mut first_of: BTreeMap<String, Owner> = BTreeMap::new();
        for owner in updaters {
            if left <= MOST_UPDATERS {
                return;
            }
            let Some(holding) = self.get(&owner).cloned() else { continue };
            match first_of.get(&holding.api_version) {
                None => {
                    first_of.insert(holding.api_version, owner);
                }
                Some(first) => {
                    self.pour(&first.clone(), holding);
                    left -= 1;
                }
            }
        }
    }

    /// Moves a holding into the bucket of its version; the first of the version becomes the bucket if there is none.
    fn pour(&mut self, first: &Owner, holding: Holding) {
        let bucket = Owner {
            name: "ancient-changes".to_owned(),
            operation: Operation::Update,
            api_version: holding.api_version.clone(),
            subresource: String::new(),
        };
        if self.get(&bucket).is_none()
            && let Some(start) = self.holdings.iter_mut().find(|known| known.owner == *first)
        {
            start.owner = bucket.clone();
        }
        let earlier = self.get(&bucket).map(|known| known.fields.clone()).unwrap_or_default();
        let Holding { owner, api_version, time, fields } = holding;
        self.holdings.retain(|known| known.owner != owner);
        self.put(Holding { owner: bucket, api_version, time, fields: fields.union(&earlier) });
    }
}
