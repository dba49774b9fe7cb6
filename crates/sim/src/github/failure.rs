//! How a call fails, in the words of each part of the service.

use serde_json::{Value, json};

/// A call that failed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Failure {
    /// The REST API says why.
    Rest { status: u16, message: String, errors: Option<Value> },
    /// The scale-set service names an exception.
    Service { status: u16, exception: &'static str, message: String },
    /// Somebody asked too much; the headers say when to come back.
    Limited { status: u16, message: &'static str, retry_after: Option<u64> },
}

/// What a call gives.
pub(crate) type Outcome<T = super::wire::Reply> = Result<T, Failure>;

const DOCUMENTATION: &str = "https://docs.github.com/rest";

impl Failure {
    pub(crate) fn rest(status: u16, message: impl Into<String>) -> Self {
        Self::Rest { status, message: message.into(), errors: None }
    }

    /// What does not exist, or must not be known to exist.
    pub(crate) fn not_found() -> Self {
        Self::rest(404, "Not Found")
    }

    /// A field that makes no sense.
    pub(crate) fn invalid(field: &str, message: impl Into<String>) -> Self {
        let errors = json!([format!("{field} {}", message.into())]);
        Self::Rest { status: 422, message: "Validation Failed".to_owned(), errors: Some(errors) }
    }

    pub(crate) fn service(status: u16, exception: &'static str, message: impl Into<String>) -> Self {
        Self::Service { status, exception, message: message.into() }
    }

    pub(crate) const fn status(&self) -> u16 {
        match self {
            Self::Rest { status, .. } | Self::Service { status, .. } | Self::Limited { status, .. } => *status,
        }
    }

    /// The body that goes with it.
    pub(crate) fn body(&self) -> Value {
        match self {
            Self::Rest { status, message, errors } => {
                let mut body =
                    json!({ "message": message, "documentation_url": DOCUMENTATION, "status": status.to_string() });
                if let Some(errors) = errors {
                    body["errors"] = errors.clone();
                }
                body
            }
            Self::Service { exception, message, .. } => json!({
                "$id": "1", "innerException": null, "message": message,
                "typeName": format!("GitHub.DistributedTask.WebApi.{exception}, GitHub.DistributedTask.WebApi"),
                "typeKey": exception, "errorCode": 0, "eventId": 3000,
            }),
            Self::Limited { status, message, .. } => {
                let page = "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api";
                json!({ "message": message, "documentation_url": page, "status": status.to_string() })
            }
        }
    }
}
