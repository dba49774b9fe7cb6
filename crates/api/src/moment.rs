//! Points in time in objects.

use std::fmt;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

/// A point in time, to the second, in UTC, as Kubernetes writes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(Time);

impl Moment {
    /// What we write, and nothing a reader would have to convert.
    const PATTERN: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?Z$";

    /// The schema of a moment.
    ///
    /// It has no `format: date-time`: a real API server (1.36) lets a list through where a text with a format is asked
    /// for. The rule does what the format would: there is no 30th of February.
    pub(crate) fn schema(description: Option<&str>) -> schemars::Schema {
        let mut schema = schemars::json_schema!({
            "type": "string",
            "maxLength": 30,
            "pattern": Self::PATTERN,
            "x-kubernetes-validations": [{
                "rule": "timestamp(self) >= timestamp('1970-01-01T00:00:00Z')",
                "message": "must be a date and time in UTC since 1970, such as 2026-01-31T12:00:00Z"
            }]
        });
        if let Some(description) = description {
            schema.insert("description".into(), description.into());
        }
        schema
    }

    /// The moment as a timestamp.
    pub const fn timestamp(&self) -> Timestamp {
        self.0.0
    }
}

impl From<Timestamp> for Moment {
    fn from(timestamp: Timestamp) -> Self {
        Self(Time(timestamp))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.fmt(f)
    }
}

impl schemars::JsonSchema for Moment {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Self::schema(None)
    }
}
