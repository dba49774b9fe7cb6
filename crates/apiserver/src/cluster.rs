//! Everything a server knows at one moment, and the one way to change it.
//!
//! Whoever writes, a request or a controller of the server's own, ends in [`Cluster::put`] or [`Cluster::remove`]. Both
//! note what a change calls for: a definition adds kinds, roles change who may do what, an owner's end reaches those it owns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::access::{Account, Policy};
use crate::entropy::Entropy;
use crate::failure::Failure;
use crate::lifecycle::{Chore, Family};
use crate::object;
use crate::served::{Kinds, Served};
use crate::store::{Change, Key, Record, Resource, Store};
use crate::stored::Stored;

/// The state of a server.
pub(crate) struct Cluster {
    /// Every object.
    pub store: Store,
    /// Every kind.
    pub kinds: Kinds,
    /// Uids and generated names.
    pub entropy: Entropy,
    /// Who may do what, until a role or a binding changes.
    policy: Option<Policy>,
    /// Who owns whom.
    pub family: Family,
    /// What changes have called for and nobody has done yet.
    pub chores: BTreeSet<Chore>,
    /// What could not be done, and the revision then.
    pub put_off: (BTreeSet<Chore>, u64),
    /// Objects that were written otherwise than they are read, as they were written.
    written: BTreeMap<(Resource, Key), Value>,
}

/// The resource of definitions.
pub(crate) fn definitions() -> Resource {
    Resource::new("apiextensions.k8s.io", "customresourcedefinitions")
}

/// The resource of namespaces.
pub(crate) fn namespaces() -> Resource {
    Resource::new("", "namespaces")
}

/// The group of roles and bindings.
pub(crate) const RBAC: &str = "rbac.authorization.k8s.io";

impl Cluster {
    /// Takes up what the store holds.
    pub(crate) fn open(store: Store, seed: [u8; 32]) -> Self {
        let mut cluster = Self {
            store,
            kinds: Kinds::built_in(),
            entropy: Entropy::new(seed),
            policy: None,
            family: Family::default(),
            chores: BTreeSet::new(),
            put_off: (BTreeSet::new(), 0),
            written: BTreeMap::new(),
        };
        let resources: Vec<Resource> = cluster.store.resources().cloned().collect();
        for resource in resources {
            for (key, record) in cluster.store.list(&resource, None) {
                cluster.notice(&resource, &key, None, Some(&record.parse()));
            }
        }
        cluster
    }

    /// The same state in memory, to go on by itself with uids from `seed`.
    pub(crate) fn copy(&self, seed: [u8; 32]) -> Self {
        let Self { store, kinds, entropy: _, policy: _, family, chores, put_off, written } = self;
        Self {
            store: store.copy(),
            kinds: kinds.clone(),
            entropy: Entropy::new(seed),
            policy: None,
            family: family.clone(),
            chores: chores.clone(),
            put_off: put_off.clone(),
            written: written.clone(),
        }
    }

    /// One object in its stored form.
    pub(crate) fn read(&self, resource: &Resource, key: &Key) -> Option<Value> {
        self.store.get(resource, key).map(|record| record.parse())
    }

    /// Stores `object`, in its stored form, under a new resource version.
    pub(crate) fn put(&mut self, resource: &Resource, mut object: Value) -> Result<Arc<Record>, Failure> {
        let key = object::key(&object);
        let revision = self.store.next_revision();
        object::set(&mut object, "resourceVersion", json!(revision.to_string()));
        let after = Arc::new(Record::new(&object, revision));
        let before = self.store.get(resource, &key).cloned();
        let old = before.as_ref().map(|record| record.parse());
        let change = match before {
            Some(before) => Change::Modified { before, after: Arc::clone(&after) },
            None => Change::Added { after: Arc::clone(&after) },
        };
        self.store.commit(resource, &key, change).map_err(Failure::internal)?;
        self.notice(resource, &key, old.as_ref(), Some(&object));
        self.written.remove(&(resource.clone(), key));
        Ok(after)
    }

    /// Stores an object as [`put`](Self::put) does, and remembers how it was written if it will be read otherwise.
    pub(crate) fn put_stored(&mut self, resource: &Resource, stored: Stored) -> Result<Arc<Record>, Failure> {
        let Stored { read, written } = stored;
        let key = object::key(&read);
        let record = self.put(resource, read)?;
        if let Some(mut written) = written {
            object::set(&mut written, "resourceVersion", json!(record.revision.to_string()));
            self.written.insert((resource.clone(), key), written);
        }
        Ok(record)
    }

    /// The object as it was written, if it is read otherwise.
    pub(crate) fn written(&self, resource: &Resource, key: &Key) -> Option<&Value> {
        if self.written.is_empty() {
            return None;
        }
        self.written.get(&(resource.clone(), key.clone()))
    }

    /// Removes an object for good and returns it as those who watch it go see it.
    pub(crate) fn remove(&mut self, resource: &Resource, key: &Key) -> Result<Option<Arc<Record>>, Failure> {
        let Some(before) = self.store.get(resource, key).cloned() else { return Ok(None) };
        let object = before.parse();
        let revision = self.store.next_revision();
        let mut shown = object.clone();
        object::set(&mut shown, "resourceVersion", json!(revision.to_string()));
        let last = Arc::new(Record::new(&shown, revision));
        self.store
            .commit(resource, key, Change::Deleted { before, last: Arc::clone(&last) })
            .map_err(Failure::internal)?;
        self.notice(resource, key, Some(&object), None);
        self.written.remove(&(resource.clone(), key.clone()));
        Ok(Some(last))
    }

    /// Follows a change with everything that depends on it.
    fn notice(&mut self, resource: &Resource, key: &Key, old: Option<&Value>, new: Option<&Value>) {
        let chores = self.family.notice(resource, key, old, new);
        self.chores.extend(chores);
        if *resource == definitions() {
            self.redefine(old, new);
            self.chores.insert(Chore::Definition(key.name.clone()));
        } else if *resource == namespaces() {
            self.chores.insert(Chore::Namespace(key.name.clone()));
        } else if resource.group == RBAC {
            self.policy = None;
            if resource.plural == "clusterroles" {
                self.chores.insert(Chore::Roles);
            }
        }
        if new.is_none() && !key.namespace.is_empty() {
            // The last object may have been what a namespace, or a definition, waits for.
            self.chores.insert(Chore::Namespace(key.namespace.clone()));
        }
        if new.is_none() {
            self.chores.insert(Chore::Definition(resource.to_string()));
        }
    }

    /// Serves what a definition says now.
    fn redefine(&mut self, old: Option<&Value>, new: Option<&Value>) {
        let place = |crd: &Value| {
            let text = |path: &str| object::at(crd, path).and_then(Value::as_str).unwrap_or_default().to_owned();
            Resource::new(text("spec.group"), text("spec.names.plural"))
        };
        let Some(crd) = new else {
            if let Some(old) = old {
                self.kinds.forget(&place(old));
            }
            return;
        };
        if !crate::lifecycle::is_established(crd) {
            return;
        }
        let versions = object::at(crd, "spec.versions").and_then(Value::as_array);
        let storage = versions.into_iter().flatten().find(|version| version["storage"] == json!(true));
        let storage = storage.and_then(|version| version["name"].as_str()).unwrap_or_default();
        // A definition that was admitted compiles; one that does not serves nothing.
        if let Ok(kinds) = crate::kinds::custom::kinds_of(crd) {
            self.kinds.define(&place(crd), storage, kinds);
        }
    }

    /// Who may do what.
    pub(crate) fn policy(&mut self) -> &Policy {
        let store = &self.store;
        self.policy.get_or_insert_with(|| {
            let kinds = ["roles", "rolebindings", "clusterroles", "clusterrolebindings"];
            let listed = kinds.iter().flat_map(|plural| store.list(&Resource::new(RBAC, *plural), None));
            let objects: Vec<Value> = listed.map(|(_, record)| record.parse()).collect();
            Policy::compile(&objects)
        })
    }

    /// Who may do what, if nothing has changed since it was last asked for.
    pub(crate) const fn compiled(&self) -> Option<&Policy> {
        self.policy.as_ref()
    }

    /// A service account, as far as its tokens depend on it.
    pub(crate) fn account(&self, namespace: &str, name: &str) -> Option<Account> {
        let account = self.read(&Resource::new("", "serviceaccounts"), &Key::new(namespace, name))?;
        let deleted = object::text(&account, "deletionTimestamp").parse().ok();
        Some(Account { uid: object::uid(&account).to_owned(), deleted })
    }

    /// Whether there is anything to do, and anything new about what could not be done before: a storage that has taken nothing
    /// since would refuse it again, and each time at the cost of whoever asks for something.
    pub(crate) fn has_chores(&self) -> bool {
        !self.chores.is_empty() || self.may_retry()
    }

    /// Whether what could not be done may go well now.
    pub(crate) fn may_retry(&self) -> bool {
        let (chores, then) = &self.put_off;
        !chores.is_empty() && self.store.revision() > *then
    }

    /// The kind an object of `resource` is kept in.
    pub(crate) fn stored(&self, resource: &Resource) -> Option<Served> {
        self.kinds.stored(resource).cloned()
    }
}

/// A moment as metadata shows it: whole seconds.
pub(crate) fn stamp(now: Timestamp) -> Value {
    let second = Timestamp::from_second(now.as_second()).unwrap_or(now);
    json!(second.to_string())
}
