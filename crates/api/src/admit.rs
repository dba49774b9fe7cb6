//! Admission in process: the verdict a Kubernetes API server with our definitions gives.
//!
//! ```text
//!   new ─▶ prune ─▶ default ─▶ structure ─▶ lists ─▶ rules ─▶ the object as it is stored
//!   old ──────────▶ (the same)  └─────────── ratchet ──────┘   or a Refusal
//! ```
//!
//! The steps and their order are the server's own. Structure is checked by JSON schema, rules by CEL, both from the very
//! definitions that [`crds`](crate::crds) returns. On an update, what did not change is not held against the writer.
//! `metadata` belongs to the server: only what our rules say about it is looked at here.

mod coerce;
mod field;
mod lists;
mod numbers;
mod ratchet;
mod refusal;
mod rules;
mod structure;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

pub use refusal::{Cause, Refusal, Violation};

use crate::registry::{API_VERSION, GROUP};

/// What to do with fields that the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownFields {
    /// Drop them silently, as a server does with `fieldValidation=Ignore`.
    Prune,
    /// Refuse the object, as `kubectl` asks a server to do (`fieldValidation=Strict`).
    Refuse,
}

/// One kind, ready to judge objects.
struct Judge {
    schema: Value,
    structure: structure::Structure,
    rules: rules::Rules,
}

static JUDGES: LazyLock<BTreeMap<String, Judge>> = LazyLock::new(|| crate::crds().iter().map(judge).collect());

fn judge(
    crd: &k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
) -> (String, Judge) {
    let schema = crd.spec.versions[0].schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
    let schema =
        serde_json::to_value(schema.expect("every derived definition has a schema")).expect("a schema is plain JSON");
    let structure = structure::Structure::compile(&schema);
    let rules = rules::Rules::compile(&schema);
    (crd.spec.names.kind.clone(), Judge { schema, structure, rules })
}

/// Judges a create (`old` is `None`) or an update, and returns the object pruned and defaulted; unknown fields go.
pub fn admit(new: &Value, old: Option<&Value>) -> Result<Value, Refusal> {
    admit_with(UnknownFields::Prune, new, old)
}

/// Judges as [`admit`] does, with a choice about unknown fields.
pub fn admit_with(unknown: UnknownFields, new: &Value, old: Option<&Value>) -> Result<Value, Refusal> {
    let judge = find(new)?;
    let (new, unknown_fields) = coerce::coerce(&judge.schema, new);
    if unknown == UnknownFields::Refuse && !unknown_fields.is_empty() {
        return Err(Refusal::new(&new, unknown_fields.into_iter().map(Violation::unknown_field).collect()));
    }
    let old = old.map(|old| numbers::whole(&judge.schema, coerce::coerce(&judge.schema, old).0));
    let violations = judge.violations(&new, old.as_ref());
    if violations.is_empty() { Ok(numbers::whole(&judge.schema, new)) } else { Err(Refusal::new(&new, violations)) }
}

impl Judge {
    fn violations(&self, new: &Value, old: Option<&Value>) -> Vec<Violation> {
        let mut violations = self.structure.violations(new);
        violations.retain(|violation| !ratchet::unchanged(&self.schema, new, old, &violation.path));
        // A list that was already wrong may stay so: the server asks about lists only if the old ones were right.
        if old.is_none_or(|old| lists::violations(&self.schema, old).is_empty()) {
            violations.extend(lists::violations(&self.schema, new));
        }
        if violations.iter().any(|violation| violation.cause.hides_rules()) {
            return violations;
        }
        violations.extend(self.rules.violations(&self.schema, new, old));
        violations
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
