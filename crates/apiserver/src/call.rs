//! One request to one resource, with everything that is known about it.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::Value;

use crate::access::User;
use crate::form::Form;
use crate::kind::{Kind, Nature};
use crate::merge::fields::Set;
use crate::merge::managed;
use crate::merge::track::{self, Strategy, Writer};
use crate::query::{Query, WriteOptions};
use crate::route::Target;
use crate::served::Served;
use crate::store::Key;

/// A request that was allowed.
pub(crate) struct Call {
    /// The kind it is about.
    pub served: Served,
    /// The place.
    pub target: Target,
    /// Its options.
    pub query: Query,
    /// Who asks.
    pub(crate) user: User,
    /// What program asks.
    pub agent: String,
    /// The type of its body.
    pub content_type: String,
    /// Its body.
    pub body: Bytes,
    /// When.
    pub now: Timestamp,
    /// How it wants the answer.
    pub form: Form,
    /// What its client should be warned of, whatever comes of it.
    pub warnings: Warnings,
}

/// Warnings that gather while a call is served.
#[derive(Clone, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    /// Adds some.
    pub(crate) fn add(&self, warnings: impl IntoIterator<Item = String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(warnings);
    }

    /// All of them.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Call {
    /// The kind.
    pub(crate) fn kind(&self) -> &Kind {
        &self.served.kind
    }

    /// Where the object is that it names.
    pub(crate) fn key(&self) -> Key {
        Key::new(self.target.namespace.clone(), self.target.name.clone())
    }

    /// In whose name it writes.
    pub(crate) fn hand(&self, options: &WriteOptions) -> Hand {
        let kind = self.kind();
        let custom = matches!(kind.nature, Nature::Custom(_));
        let strategy = match self.target.subresource.as_str() {
            "" => Strategy::Main { status: kind.status },
            "status" if custom => Strategy::CustomStatus,
            "status" => Strategy::BuiltInStatus,
            _ => Strategy::Nothing,
        };
        let name = if options.field_owner.is_empty() {
            managed::writer_from_user_agent(&self.agent)
        } else {
            options.field_owner.clone()
        };
        Hand {
            name,
            subresource: self.target.subresource.clone(),
            api_version: kind.api_version(),
            kind: kind.kind.clone(),
            reset: track::resets(strategy),
            blank: self.served.blank.clone(),
            now: self.now,
        }
    }
}

/// A writer as field ownership knows it.
pub(crate) struct Hand {
    name: String,
    subresource: String,
    api_version: String,
    kind: String,
    reset: Set,
    blank: Option<Arc<Value>>,
    now: Timestamp,
}

impl Hand {
    /// What the merging functions want to know.
    pub(crate) fn writer(&self) -> Writer<'_> {
        Writer {
            name: &self.name,
            subresource: &self.subresource,
            api_version: &self.api_version,
            kind: &self.kind,
            kin: &[],
            reset: &self.reset,
            blank: self.blank.as_deref(),
            now: self.now,
        }
    }
}
