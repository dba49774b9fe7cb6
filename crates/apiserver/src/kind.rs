//! What the server knows about a kind: its names, its verbs, its shape and its own rules.

use std::sync::Arc;

use api::{Judge, Violation};
use jiff::Timestamp;
use serde_json::Value;

use crate::failure::{Failure, Of};

/// A kind in one version, as the server serves it.
#[derive(Clone)]
pub struct Kind {
    /// The group; empty for the core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind, such as `ConfigMap`.
    pub kind: String,
    /// The kind of its lists.
    pub list_kind: String,
    /// The plural name in paths.
    pub plural: String,
    /// The singular name.
    pub singular: String,
    /// Short names for people.
    pub short_names: Vec<String>,
    /// Groups of kinds that people ask for at once.
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// The verbs it has, sorted, as discovery shows them.
    pub verbs: Vec<&'static str>,
    /// Whether `status` is written apart.
    pub status: bool,
    /// Where the number of replicas stands, if it can be scaled.
    pub scale: Option<Scale>,
    /// The structural schema of the whole object in the dialect of `CustomResourceDefinition`s: `properties`, `items`,
    /// `additionalProperties`, `x-kubernetes-list-type`, `-list-map-keys`, `-map-type`, `-preserve-unknown-fields`,
    /// `-int-or-string`; for built-in kinds also `x-kubernetes-patch-strategy` and `x-kubernetes-patch-merge-key`.
    /// `metadata` is complete here, for custom resources too.
    pub schema: Arc<Value>,
    /// What a person sees in `kubectl get`.
    pub columns: Vec<Column>,
    /// Whose rules apply.
    pub nature: Nature,
}

/// Whose rules apply to a kind.
#[derive(Clone)]
pub enum Nature {
    /// Its definition's.
    Custom(Arc<Custom>),
    /// Its own, in code.
    BuiltIn(&'static dyn BuiltIn),
}

/// A custom resource, from its definition.
pub struct Custom {
    /// Prunes, defaults and judges.
    pub judge: Judge,
    /// The fields that selectors may name, beside `metadata.name` and `metadata.namespace`: paths such as `spec.colour`.
    pub selectable: Vec<String>,
}

/// JSON paths of a kind that can be scaled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Where the wish is.
    pub spec_replicas: String,
    /// Where the count is.
    pub status_replicas: String,
    /// Where the selector is, if there is one.
    pub selector: Option<String>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// Type, as `OpenAPI` names it.
    pub of: String,
    /// Format, such as `name`; may be empty.
    pub format: String,
    /// What it says.
    pub description: String,
    /// 0 is always shown, others with `-o wide`.
    pub priority: i32,
    /// Where the value is; built-in kinds leave it empty and bring their own rows.
    pub json_path: String,
}

/// The rules of a built-in kind, written in code as the real server has them.
pub trait BuiltIn: Send + Sync {
    /// Fills in defaults and normalises, as decoding does: for every object that comes in, before anything looks at it.
    fn default(&self, object: &mut Value);

    /// Sets or clears what a writer has no say in, before an object is created (`old` is none) or updated.
    /// `status` tells that it is written through the status subresource. Generic metadata is not its business.
    fn prepare(&self, new: &mut Value, old: Option<&Value>, status: bool);

    /// What is wrong with the object, or with the step from `old` to it; generic metadata is not its business, except
    /// what the kind demands of names.
    fn violations(&self, new: &Value, old: Option<&Value>, status: bool) -> Vec<Violation>;

    /// Whether a change from `old` to `new` counts a generation; kinds without generations never count.
    fn generation(&self) -> bool {
        false
    }

    /// The fields that selectors may name and their values, beside `metadata.name` and `metadata.namespace`.
    fn selectable(&self, object: &Value) -> Vec<(&'static str, String)>;

    /// The cells of the object's row, in the order of the kind's columns.
    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value>;
}

impl Kind {
    /// `group/version`, or the version alone for the core.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The resource, as refusals name it.
    pub fn resource(&self) -> Of<'_> {
        Of { group: &self.group, name: &self.plural }
    }

    /// The kind, as refusals about its content name it.
    pub fn kind(&self) -> Of<'_> {
        Of { group: &self.group, name: &self.kind }
    }

    /// The refusal of an object that breaks its rules.
    pub fn invalid(&self, name: &str, violations: &[Violation]) -> Failure {
        Failure::invalid(self.kind(), name, violations)
    }
}
