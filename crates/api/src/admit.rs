//! Admission in process: the verdict a Kubernetes API server with our definitions gives.
//!
//! ```text
//!   new ─▶ prune ─▶ default ─▶ structure ─▶ lists ─▶ rules ─▶ the object as it is stored
//!   old ──────────▶ (the same)  └─────────── the past ─────┘   or a Refusal
//! ```
//!
//! The steps and their order are the server's own, and so are the words. Rules are CEL; both they and the structure come
//! from the very definitions that [`crds`](crate::crds) returns. On an update, what did not change is not held against the writer.
//! `metadata` belongs to the server: only what our rules say about it is looked at here.
//!
//! A [`Judge`] is the same for any structural schema, whoever wrote it: an API server makes one per definition.

mod coerce;
mod field;
mod go;
mod lists;
mod numbers;
mod past;
mod refusal;
mod rules;
mod structure;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

pub use refusal::{Cause, Refusal, Violation};

use self::field::Place;
use crate::registry::{API_VERSION, GROUP};

/// What to do with fields that the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownFields {
    /// Drop them silently, as a server does with `fieldValidation=Ignore`.
    Prune,
    /// Refuse the object, as `kubectl` asks a server to do (`fieldValidation=Strict`).
    Refuse,
}

/// How much of an object a writer may touch, and is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// The status alone; messages name its fields without the word `status`.
    Status,
}

/// One kind, ready to judge objects.
pub struct Judge {
    schema: Value,
    structure: structure::Structure,
    rules: rules::Rules,
}

/// A schema that cannot be used to judge anything, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the schema cannot be used: {0}")]
pub struct BadSchema(String);

static JUDGES: LazyLock<BTreeMap<String, Judge>> = LazyLock::new(|| crate::crds().iter().map(judge).collect());

fn judge(
    crd: &k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
) -> (String, Judge) {
    let schema = crd.spec.versions[0].schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
    let schema =
        serde_json::to_value(schema.expect("every derived definition has a schema")).expect("a schema is plain JSON");
    let judge = Judge::new(schema).expect("our definitions are valid JSON schemas; a test compiles them all");
    (crd.spec.names.kind.clone(), judge)
}

/// Judges a create (`old` is `None`) or an update, and returns the object pruned and defaulted; unknown fields go.
pub fn admit(new: &Value, old: Option<&Value>) -> Result<Value, Refusal> {
    admit_with(UnknownFields::Prune, new, old)
}

/// Judges as [`admit`] does, with a choice about unknown fields.
pub fn admit_with(unknown: UnknownFields, new: &Value, old: Option<&Value>) -> Result<Value, Refusal> {
    let judge = find(new)?;
    let (new, unknown_fields) = judge.coerce(new);
    if unknown == UnknownFields::Refuse && !unknown_fields.is_empty() {
        return Err(Refusal::new(&new, unknown_fields.into_iter().map(Violation::unknown_field).collect()));
    }
    let old = old.map(|old| judge.whole(judge.coerce(old).0));
    let violations = judge.violations(&new, old.as_ref());
    if violations.is_empty() { Ok(judge.whole(new)) } else { Err(Refusal::new(&new, violations)) }
}

impl Judge {
    /// Gets ready to judge objects by a structural schema.
    pub fn new(schema: Value) -> Result<Self, BadSchema> {
        let structure = structure::Structure::compile(&schema).map_err(BadSchema)?;
        let rules = rules::Rules::compile(&schema);
        Ok(Self { schema, structure, rules })
    }

    /// The object pruned and defaulted, and the paths of the fields that were unknown: what decoding does.
    pub fn coerce(&self, object: &Value) -> (Value, Vec<String>) {
        let (pruned, unknown) = coerce::pruned(&self.schema, object);
        (self.default(pruned), unknown)
    }

    /// The object with its defaults, and nothing else changed: a null that may not be stays. What was applied is not
    /// decoded, only defaulted.
    pub fn default(&self, object: Value) -> Value {
        coerce::defaulted(&self.schema, object)
    }

    /// The object as it is stored: what is a whole number is written as one.
    pub fn whole(&self, object: Value) -> Value {
        numbers::whole(&self.schema, object)
    }

    /// Whether the schema has rules beyond structure.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// What is wrong with a coerced object, or with the step from `old` to it.
    pub fn violations(&self, new: &Value, old: Option<&Value>) -> Vec<Violation> {
        let mut found = self.structure_violations(Part::Whole, new, old);
        found.extend(self.list_violations(new, old));
        if !found.iter().any(|violation| violation.cause.hides_rules()) {
            found.extend(self.rule_violations(new, old));
        }
        found
    }

    /// What is wrong with the structure of a coerced object, or of a part of it.
    pub fn structure_violations(&self, part: Part, new: &Value, old: Option<&Value>) -> Vec<Violation> {
        match part {
            Part::Whole => self.structure.violations(&self.schema, &Place::default(), new, old),
            Part::Status => {
                const STATUS: &str = "status";
                let seat = field::property(&self.schema, STATUS).zip(new.get(STATUS));
                // A status that was not there counts as null: one that is null now is no change.
                let old = old.map(|old| old.get(STATUS).unwrap_or(&Value::Null));
                let judge =
                    |(schema, new)| self.structure.violations(schema, &Place::default().child(STATUS), new, old);
                seat.map(judge).unwrap_or_default()
            }
        }
    }

    /// What stands twice in a list of a coerced object that is a set or a map.
    pub fn list_violations(&self, new: &Value, old: Option<&Value>) -> Vec<Violation> {
        // A list that was already wrong may stay so: the server asks about lists only if the old ones were right.
        if old.is_some_and(|old| !lists::violations(&self.schema, old).is_empty()) {
            return Vec::new();
        }
        lists::violations(&self.schema, new)
    }

    /// The rules that a coerced object of the right structure breaks, or the step from `old` to it.
    pub fn rule_violations(&self, new: &Value, old: Option<&Value>) -> Vec<Violation> {
        self.rules.violations(&self.schema, new, old)
    }
}

fn find(object: &Value) -> Result<&'static Judge, Refusal> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("apiVersion") != API_VERSION {
        return Err(Refusal::new(object, vec![Violation::invalid("apiVersion", &format!("must be {API_VERSION}"))]));
    }
    JUDGES.get(text("kind")).ok_or_else(|| {
        let message = format!("no such kind in {GROUP}; there are {}", kinds());
        Refusal::new(object, vec![Violation::invalid("kind", &message)])
    })
}

fn kinds() -> String {
    JUDGES.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
