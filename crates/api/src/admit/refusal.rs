//! Why an object is refused, in the API server's own words.

use std::fmt;

use serde_json::Value;

use super::field::Place;
use crate::registry::GROUP;
use crate::words::words;

/// An object is refused; every violation names its field.
#[derive(Clone, Debug, thiserror::Error)]
pub struct Refusal {
    kind: String,
    name: String,
    violations: Vec<Violation>,
}

impl Refusal {
    pub(super) fn new(object: &Value, violations: Vec<Violation>) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self { kind: text("/kind"), name: text("/metadata/name"), violations }
    }

    /// What is wrong, field by field; never empty.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{GROUP} {:?} is invalid: ", self.kind, self.name)?;
        match self.violations.as_slice() {
            [only] => only.fmt(f),
            several => {
                let all: Vec<String> = several.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", all.join(", "))
            }
        }
    }
}

/// One thing wrong with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where: a path such as `spec.nodes[0].name`.
    pub field: String,
    /// What kind of wrong, in the word that stands in a server's `details.causes`.
    pub cause: Cause,
    /// What is wrong and, where a rule of ours says it, what to do.
    pub message: String,
}

words! {
    /// What kind of wrong.
    Cause {
        /// The value breaks a rule.
        Invalid = "FieldValueInvalid",
        /// The field must be there.
        Required = "FieldValueRequired",
        /// The value must not stand here.
        Forbidden = "FieldValueForbidden",
        /// The value stands there twice.
        Duplicate = "FieldValueDuplicate",
        /// The value is none of the known words.
        NotSupported = "FieldValueNotSupported",
        /// The value is of another type.
        TypeInvalid = "FieldValueTypeInvalid",
        /// The text is too long.
        TooLong = "FieldValueTooLong",
        /// The list or map has too many entries.
        TooMany = "FieldValueTooMany",
        /// The schema does not know the field.
        Unknown = "UnknownField",
    }
}

impl Cause {
    /// Whether a server gives up before it evaluates rules, because they could not be trusted on such an object.
    pub const fn hides_rules(self) -> bool {
        match self {
            Self::Required | Self::NotSupported | Self::TypeInvalid | Self::TooLong | Self::TooMany => true,
            Self::Invalid | Self::Forbidden | Self::Duplicate | Self::Unknown => false,
        }
    }
}

impl Violation {
    pub(super) fn new(place: &Place, cause: Cause, message: String) -> Self {
        Self { field: place.field(), cause, message }
    }

    /// A violation at `field`, with the whole of what the server says after the field.
    pub fn at(field: &str, cause: Cause, message: impl Into<String>) -> Self {
        Self { field: field.to_owned(), cause, message: message.into() }
    }

    pub(super) fn invalid(field: &str, message: &str) -> Self {
        Self::at(field, Cause::Invalid, format!("Invalid value: {message}"))
    }

    pub(super) fn unknown_field(field: String) -> Self {
        let message = format!("unknown field {field:?}");
        Self { field, cause: Cause::Unknown, message }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}
