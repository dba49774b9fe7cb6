//! Rules across fields and across time, in CEL, from the definitions' `x-kubernetes-validations`.

use std::collections::BTreeMap;

use kube::core::cel::{
    CompiledSchema, ErrorKind, ValidationError, ValidationErrors, compile_schema, validate_compiled,
};
use serde_json::Value;

use super::field::{FieldPath, type_of};
use super::refusal::{Cause, Violation};
use super::{numbers, ratchet};

/// The compiled rules of one kind.
pub(super) struct Rules {
    compiled: CompiledSchema,
    /// Where rules report, relative to where they sit, by their text.
    reported_at: BTreeMap<String, Vec<String>>,
}

impl Rules {
    pub(super) fn compile(schema: &Value) -> Self {
        let mut reported_at = BTreeMap::new();
        collect(schema, &mut reported_at);
        Self { compiled: compile_schema(schema), reported_at }
    }

    /// The rules that `new` breaks, or the step from `old` to `new`.
    pub(super) fn violations(&self, schema: &Value, new: &Value, old: Option<&Value>) -> Vec<Violation> {
        let misread = numbers::misread(schema, new, old.is_some());
        let new = &numbers::whole(schema, new.clone());
        let broken = validate_compiled(&self.compiled, new, old).err().map(ValidationErrors::into_vec);
        let mut violations: Vec<Violation> = misread
            .iter()
            .map(|misread| stumble(&misread.seat, new, "invalid data, expected int, got float64", &misread.rule))
            .collect();
        for error in broken.unwrap_or_default() {
            let seat = self.seat(&error);
            if misread.iter().any(|misread| misread.seat == seat && misread.rule == error.rule) {
                continue;
            }
            if error.kind != ErrorKind::ValidationFailure {
                violations.push(stumble(&seat, new, &error.message, &error.rule));
            } else if error.rule.contains("oldSelf") || !ratchet::unchanged(schema, new, old, &seat) {
                violations.push(violation(&error, seat.find(new)));
            }
        }
        violations
    }

    /// The path of the value a rule judged, which is not the path it reports at.
    fn seat(&self, error: &ValidationError) -> FieldPath {
        let places = self.reported_at.get(&error.rule).into_iter().flatten();
        let seat =
            places.filter_map(|place| error.field_path.strip_suffix(place.as_str())).min_by_key(|seat| seat.len());
        FieldPath::parse(seat.unwrap_or(&error.field_path))
    }
}

fn collect(schema: &Value, reported_at: &mut BTreeMap<String, Vec<String>>) {
    let text = |rule: &Value, key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    for rule in schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten() {
        reported_at.entry(text(rule, "rule")).or_default().push(text(rule, "fieldPath"));
    }
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|fields| fields.values());
    for below in properties.chain(schema.get("items")).chain(schema.get("additionalProperties")) {
        collect(below, reported_at);
    }
}

fn violation(error: &ValidationError, judged: Option<&Value>) -> Violation {
    let (cause, word) = match error.reason.as_deref() {
        Some("FieldValueRequired") => (Cause::Required, "Required value"),
        Some("FieldValueForbidden") => (Cause::Forbidden, "Forbidden"),
        Some("FieldValueDuplicate") => (Cause::Duplicate, "Duplicate value"),
        Some(_) | None => (Cause::Invalid, "Invalid value"),
    };
    // A server shows the value where it is short.
    let shown = judged.filter(|value| !value.is_object() && !value.is_array());
    let shown = shown.map(|value| format!("{value}: ")).unwrap_or_default();
    Violation::new(FieldPath::parse(&error.field_path), cause, format!("{word}: {shown}{}", error.message))
}

/// A rule that could not be evaluated: a server reports it where the rule sits, and lets nothing through.
fn stumble(seat: &FieldPath, object: &Value, fault: &str, rule: &str) -> Violation {
    let of = seat.find(object).map_or("object", type_of);
    Violation::new(seat.clone(), Cause::Invalid, format!("Invalid value: {of:?}: {fault} evaluating rule: {rule}"))
}
