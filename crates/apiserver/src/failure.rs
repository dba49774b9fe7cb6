//! What a request is told when it is refused: `meta/v1` Status, in the server's own words.

use api::Violation;
use http::StatusCode;
use serde_json::{Map, Value, json};

/// A refusal, ready to be written as a Status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The HTTP status.
    pub code: StatusCode,
    /// The one-word reason; empty where the real server gives none.
    pub reason: &'static str,
    /// The sentence people read.
    pub message: String,
    /// `details`, where there is something to say; apart, so that a refusal is small where it is passed on.
    pub details: Option<Box<Details>>,
}

/// What a refusal is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Name of the object.
    pub name: String,
    /// Its group.
    pub group: String,
    /// Its kind or its resource; servers use both here.
    pub kind: String,
    /// Its uid.
    pub uid: String,
    /// One entry per thing wrong.
    pub causes: Vec<Cause>,
    /// When to come again.
    pub retry_after_seconds: Option<u32>,
}

/// One thing wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The kind of wrong, such as `FieldValueInvalid`.
    pub reason: String,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub field: String,
}

/// A resource as refusals name it: `configmaps`, or `lamps.example.hyperfleet.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Of<'a> {
    /// The group; empty for the core.
    pub group: &'a str,
    /// The plural name, or the kind.
    pub name: &'a str,
}

impl std::fmt::Display for Of<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.group.is_empty() { f.write_str(self.name) } else { write!(f, "{}.{}", self.name, self.group) }
    }
}

impl Failure {
    /// A refusal without details.
    pub fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    /// The request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// There is no such object.
    pub fn not_found(of: Of<'_>, name: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", format!("{of} {name:?} not found")).about(of, name)
    }

    /// There is no such path.
    pub fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).with_details(Details::default())
    }

    /// The name is taken.
    pub fn already_exists(of: Of<'_>, name: &str) -> Self {
        Self::new(StatusCode::CONFLICT, "AlreadyExists", format!("{of} {name:?} already exists")).about(of, name)
    }

    /// The object is not what the writer thought it was.
    pub fn conflict(of: Of<'_>, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {of} {name:?}: {why}");
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(of, name)
    }

    /// The object breaks its rules; `of` names the kind.
    pub fn invalid(of: Of<'_>, name: &str, violations: &[Violation]) -> Self {
        let mut lines: Vec<String> = Vec::new();
        for line in violations.iter().map(ToString::to_string) {
            // What two checks find is said once, though it counts as two causes.
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        let list = match lines.as_slice() {
            [] => String::new(),
            [only] => only.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let causes = violations.iter().map(|violation| Cause {
            reason: violation.cause.as_str().to_owned(),
            message: violation.message.clone(),
            field: violation.field.clone(),
        });
        let details = Details { causes: causes.collect(), ..Details::of(of, name) };
        let message = format!("{of} {name:?} is invalid: {list}");
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).with_details(details)
    }

    /// The user may not do that.
    pub fn forbidden(of: Of<'_>, name: &str, why: &str) -> Self {
        let message = if name.is_empty() {
            format!("{of} is forbidden: {why}")
        } else {
            format!("{of} {name:?} is forbidden: {why}")
        };
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(of, name)
    }

    /// Nobody has proved who he is.
    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// The kind does not have that verb.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).with_details(Details::default())
    }

    /// The version asked for is gone from the history.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The server is at fault.
    pub fn internal(message: impl std::fmt::Display) -> Self {
        let cause = Cause { reason: String::new(), message: message.to_string(), field: String::new() };
        let message = format!("Internal error occurred: {message}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
            .with_details(Details { causes: vec![cause], ..Details::default() })
    }

    /// The same refusal, about an object.
    #[must_use]
    pub fn about(self, of: Of<'_>, name: &str) -> Self {
        self.with_details(Details::of(of, name))
    }

    /// The same refusal with details.
    #[must_use]
    pub fn with_details(self, details: Details) -> Self {
        Self { details: Some(Box::new(details)), ..self }
    }

    /// The Status object.
    pub fn to_status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code.as_u16(),
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            status["details"] = details.to_json();
        }
        status
    }
}

impl Details {
    /// Details that name an object.
    pub fn of(of: Of<'_>, name: &str) -> Self {
        Self { name: name.to_owned(), group: of.group.to_owned(), kind: of.name.to_owned(), ..Self::default() }
    }

    fn to_json(&self) -> Value {
        let mut fields = Map::new();
        for (key, text) in [("name", &self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)] {
            if !text.is_empty() {
                fields.insert(key.to_owned(), json!(text));
            }
        }
        if !self.causes.is_empty() {
            fields.insert("causes".to_owned(), self.causes.iter().map(Cause::to_json).collect());
        }
        if let Some(seconds) = self.retry_after_seconds {
            fields.insert("retryAfterSeconds".to_owned(), json!(seconds));
        }
        Value::Object(fields)
    }
}

impl Cause {
    fn to_json(&self) -> Value {
        let mut fields = Map::new();
        for (key, text) in [("reason", &self.reason), ("message", &self.message), ("field", &self.field)] {
            if !text.is_empty() {
                fields.insert(key.to_owned(), json!(text));
            }
        }
        Value::Object(fields)
    }
}
