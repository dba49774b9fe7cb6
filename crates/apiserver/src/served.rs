//! The kinds that the server serves at this moment: the built-in ones, and those that definitions add.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::kind::Kind;
use crate::store::{Record, Resource};

/// A kind in one version, and how its objects are kept.
#[derive(Clone)]
pub(crate) struct Served {
    /// The kind.
    pub kind: Arc<Kind>,
    /// Where its objects are kept.
    pub resource: Resource,
    /// How the stored form becomes this version's.
    pub form: Form,
    /// An object that nobody has written to, for kinds that are never quite empty.
    pub blank: Option<Arc<Value>>,
}

/// How a stored object becomes one of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// It is kept in this version.
    Stored,
    /// Only `apiVersion` differs.
    Renamed,
    /// An event of `events.k8s.io`, kept as one of the core.
    Event,
}

impl Served {
    /// The object's text in this version.
    pub(crate) fn text<'a>(&self, record: &'a Record) -> Cow<'a, str> {
        match self.form {
            Form::Stored => Cow::Borrowed(&record.text),
            Form::Renamed | Form::Event => Cow::Owned(self.value(record).to_string()),
        }
    }

    /// The object in this version.
    pub(crate) fn value(&self, record: &Record) -> Value {
        self.present(record.parse())
    }

    /// A stored object in this version.
    pub(crate) fn present(&self, mut object: Value) -> Value {
        match self.form {
            Form::Stored => object,
            Form::Renamed => {
                object["apiVersion"] = json!(self.kind.api_version());
                object
            }
            Form::Event => crate::kinds::event::to_new(&object),
        }
    }

    /// An object of this version as it is stored.
    pub(crate) fn keep(&self, mut object: Value, stored_version: &str) -> Value {
        match self.form {
            Form::Stored => object,
            Form::Renamed => {
                object["apiVersion"] = json!(stored_version);
                object
            }
            Form::Event => crate::kinds::event::to_core(&object),
        }
    }
}

/// All kinds served, by group, version and plural.
#[derive(Clone, Default)]
pub(crate) struct Kinds {
    served: BTreeMap<(String, String, String), Served>,
}

impl Kinds {
    /// The built-in kinds.
    pub(crate) fn built_in() -> Self {
        let mut kinds = Self::default();
        for kind in crate::kinds::kinds() {
            let event = kind.plural == "events" && kind.group == "events.k8s.io";
            let resource = Resource::new(if event { "" } else { &kind.group }, &kind.plural);
            kinds.insert(kind, resource, if event { Form::Event } else { Form::Stored });
        }
        kinds
    }

    fn insert(&mut self, kind: Kind, resource: Resource, form: Form) {
        let place = (kind.group.clone(), kind.version.clone(), kind.plural.clone());
        let blank = crate::kinds::blank(&kind).map(Arc::new);
        self.served.insert(place, Served { kind: Arc::new(kind), resource, form, blank });
    }

    /// Puts the kinds of a definition in place of those it had before.
    pub(crate) fn define(&mut self, resource: &Resource, storage_version: &str, kinds: Vec<Kind>) {
        self.forget(resource);
        for kind in kinds {
            let form = if kind.version == storage_version { Form::Stored } else { Form::Renamed };
            self.insert(kind, resource.clone(), form);
        }
    }

    /// Takes away the kinds of a definition.
    pub(crate) fn forget(&mut self, resource: &Resource) {
        self.served.retain(|_, served| served.resource != *resource);
    }

    /// One kind.
    pub(crate) fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Served> {
        self.served.get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// The kind in which a resource is kept.
    pub(crate) fn stored(&self, resource: &Resource) -> Option<&Served> {
        self.all().find(|served| served.resource == *resource && served.form == Form::Stored)
    }

    /// Every kind, by group, version and plural.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Served> {
        self.served.values()
    }
}
