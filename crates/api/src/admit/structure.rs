//! Types, bounds, patterns, required fields: the structural schema, checked as JSON schema.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::LocationSegment;
use jsonschema::{Draft, ValidationError, Validator};
use serde_json::{Map, Value, json};

use super::field::{FieldPath, type_of};
use super::refusal::{Cause, Violation};

/// The compiled structure of one kind.
pub(super) struct Structure {
    validator: Validator,
}

impl Structure {
    pub(super) fn compile(schema: &Value) -> Self {
        let validator = jsonschema::options()
            .with_draft(Draft::Draft7)
            .build(&translate(schema))
            .expect("our definitions are valid JSON schemas; a test compiles them all");
        Self { validator }
    }

    /// What is wrong with the object's structure.
    pub(super) fn violations(&self, object: &Value) -> Vec<Violation> {
        let mut errors: Vec<ValidationError<'_>> = self.validator.iter_errors(object).collect();
        errors.sort_by_key(|error| severity(error.kind()));
        let mut found: Vec<Violation> = Vec::new();
        for error in &errors {
            let violation = violation(error);
            let said = severity(error.kind()) > 0 && found.iter().any(|earlier| earlier.path == violation.path);
            if !said {
                found.push(violation);
            }
        }
        found
    }
}

/// A server checks a text's length before its pattern and reports only the first that fails.
fn severity(kind: &ValidationErrorKind) -> u8 {
    #[expect(clippy::wildcard_enum_match_arm, reason = "everything else is reported on its own")]
    match kind {
        ValidationErrorKind::MinLength { .. } => 1,
        ValidationErrorKind::Pattern { .. } => 2,
        _ => 0,
    }
}

/// Says in JSON schema what the definition says in `OpenAPI` with Kubernetes extensions.
fn translate(schema: &Value) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let mut translated = Map::new();
    for (keyword, value) in fields {
        match keyword.as_str() {
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                let properties: Map<_, _> = properties.map(|(key, below)| (key.clone(), translate(below))).collect();
                translated.insert(keyword.clone(), Value::Object(properties));
            }
            "items" | "additionalProperties" => {
                translated.insert(keyword.clone(), translate(value));
            }
            "type" | "required" | "enum" | "pattern" | "minimum" | "maximum" | "minLength" | "maxLength"
            | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                translated.insert(keyword.clone(), value.clone());
            }
            // Descriptions, defaults, list types, rules: not about structure.
            _ => {}
        }
    }
    widen(fields, &mut translated);
    Value::Object(translated)
}

/// Nullable values, and values that are an integer or a string.
fn widen(fields: &Map<String, Value>, translated: &mut Map<String, Value>) {
    let flag = |keyword: &str| fields.get(keyword).and_then(Value::as_bool).unwrap_or(false);
    if flag("x-kubernetes-int-or-string") {
        translated.insert("type".into(), json!(["integer", "string"]));
    }
    if flag("nullable")
        && let Some(of) = translated.get_mut("type")
    {
        let mut types = of.as_array().cloned().unwrap_or_else(|| vec![of.clone()]);
        types.push(json!("null"));
        *of = Value::Array(types);
    }
}

fn violation(error: &ValidationError<'_>) -> Violation {
    let mut path = FieldPath::default();
    for segment in error.instance_path() {
        path = match segment {
            LocationSegment::Property(key) => path.key(&key),
            LocationSegment::Index(index) => path.index(index),
        };
    }
    let value = error.instance().as_ref();
    #[expect(clippy::wildcard_enum_match_arm, reason = "keywords that `translate` lets through are all above")]
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let path = path.key(property.as_str().unwrap_or_default());
            Violation::new(path, Cause::Required, "Required value".into())
        }
        ValidationErrorKind::Type { kind } => {
            let given = type_of(value);
            let message =
                format!("Invalid value: {given:?}: {path} in body must be of type {}: {given:?}", wanted(kind));
            Violation::new(path, Cause::TypeInvalid, message)
        }
        ValidationErrorKind::Enum { options } => {
            let words: Vec<String> = options.as_array().into_iter().flatten().map(ToString::to_string).collect();
            let message = format!("Unsupported value: {value}: supported values: {}", words.join(", "));
            Violation::new(path, Cause::NotSupported, message)
        }
        ValidationErrorKind::MaxLength { limit } => {
            Violation::new(path, Cause::TooLong, format!("Too long: may not be more than {limit} bytes"))
        }
        ValidationErrorKind::MaxItems { limit } => {
            let count = value.as_array().map_or(0, Vec::len);
            Violation::new(path, Cause::TooMany, format!("Too many: {count}: must have at most {limit} items"))
        }
        ValidationErrorKind::MaxProperties { limit } => {
            let count = value.as_object().map_or(0, Map::len);
            Violation::new(path, Cause::TooMany, format!("Too many: {count}: must have at most {limit} items"))
        }
        ValidationErrorKind::MinItems { limit } => {
            let count = value.as_array().map_or(0, Vec::len);
            let message = format!("Invalid value: {count}: {path} in body should have at least {limit} items");
            Violation::new(path, Cause::Invalid, message)
        }
        other => {
            let message = format!("Invalid value: {value}: {path} in body {}", expectation(other));
            Violation::new(path, Cause::Invalid, message)
        }
    }
}

fn expectation(kind: &ValidationErrorKind) -> String {
    #[expect(clippy::wildcard_enum_match_arm, reason = "keywords that `translate` lets through are all above")]
    match kind {
        ValidationErrorKind::Minimum { limit } => format!("should be greater than or equal to {}", plain(limit)),
        ValidationErrorKind::Maximum { limit } => format!("should be less than or equal to {}", plain(limit)),
        ValidationErrorKind::MinLength { limit } => format!("should be at least {limit} chars long"),
        ValidationErrorKind::MinProperties { limit } => format!("should have at least {limit} properties"),
        ValidationErrorKind::Pattern { pattern } => format!("should match '{pattern}'"),
        other => format!("breaks {}", other.keyword()),
    }
}

/// A bound as people write it: definitions carry numbers as floats.
fn plain(limit: &Value) -> String {
    limit.to_string().trim_end_matches(".0").to_owned()
}

fn wanted(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(several) => several.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or "),
    }
}
