//! Who owns whom, kept up to date with every change.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Chore;
use crate::object;
use crate::store::{Key, Resource};
use crate::verb::delete::{FOREGROUND, ORPHAN};

/// Owners and those they own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Family {
    /// Where the object with a uid is.
    places: BTreeMap<String, (Resource, Key)>,
    /// Who names a uid as an owner.
    dependents: BTreeMap<String, BTreeSet<(Resource, Key)>>,
    /// Owners that were seen to go, as long as somebody still names them.
    departed: BTreeSet<String>,
}

impl Family {
    /// Where the object with this uid is, if there is one.
    pub(crate) fn place(&self, uid: &str) -> Option<&(Resource, Key)> {
        self.places.get(uid)
    }

    /// Who names this uid as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<(Resource, Key)> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Whether an owner was here and has gone.
    pub(crate) fn has_departed(&self, uid: &str) -> bool {
        self.departed.contains(uid)
    }

    /// Follows a change; returns what it calls for.
    pub(crate) fn notice(
        &mut self,
        resource: &Resource,
        key: &Key,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Vec<Chore> {
        let place = (resource.clone(), key.clone());
        let mut chores = Vec::new();
        let uid = new.or(old).map(object::uid).unwrap_or_default().to_owned();
        for owner in old.map(owner_uids).unwrap_or_default() {
            self.disown(&owner, &place);
            chores.extend(self.owner_chore(&owner));
        }
        let Some(new) = new else {
            self.places.remove(&uid);
            if self.dependents.contains_key(&uid) {
                self.departed.insert(uid.clone());
            }
            chores.extend(self.dependents(&uid).into_iter().map(|(resource, key)| Chore::Dependent(resource, key)));
            return chores;
        };
        self.places.insert(uid, place.clone());
        let owners = owner_uids(new);
        for owner in &owners {
            self.dependents.entry(owner.clone()).or_default().insert(place.clone());
        }
        if !owners.is_empty() && old.is_none_or(|old| owner_uids(old) != owners) {
            chores.push(Chore::Dependent(place.0.clone(), place.1.clone()));
        }
        let finalizers = object::finalizers(new);
        if object::is_going(new) && (finalizers.contains(&ORPHAN) || finalizers.contains(&FOREGROUND)) {
            chores.push(Chore::Owner(place.0, place.1));
        }
        chores
    }

    fn disown(&mut self, owner: &str, place: &(Resource, Key)) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(place);
            if dependents.is_empty() {
                self.dependents.remove(owner);
                self.departed.remove(owner);
            }
        }
    }

    /// An owner that waits for those it owns looks again when one of them changes.
    fn owner_chore(&self, uid: &str) -> Option<Chore> {
        self.place(uid).map(|(resource, key)| Chore::Owner(resource.clone(), key.clone()))
    }
}

fn owner_uids(object: &Value) -> Vec<String> {
    let uid = |reference: &Value| reference.get("uid").and_then(Value::as_str).map(str::to_owned);
    object::owners(object).iter().filter_map(uid).collect()
}
