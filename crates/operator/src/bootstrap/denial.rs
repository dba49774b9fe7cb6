//! Answers that are no.

use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use chassis::telemetry;
use reconcile::{Class, Fault};

/// Why somebody gets nothing. The words are for logs and metrics; the caller sees a number.
#[derive(Debug)]
pub(super) enum Denial {
    /// He is not believed.
    Refused(&'static str),
    /// There is nothing for him.
    Absent(&'static str),
    /// He asks too often.
    Limited(Duration),
    /// He does not speak our language.
    Malformed,
    /// He says too much.
    TooLong,
    /// He says it too slowly.
    TooSlow,
    /// It is not his fault; he may ask again.
    Unavailable(&'static str),
    /// The same, after this long: his platform does not register him now.
    Postponed(Duration),
}

/// When to ask again after trouble of ours.
const TROUBLE: Duration = Duration::from_secs(5);

impl Denial {
    /// The word in metrics.
    pub(super) const fn result(&self) -> &'static str {
        match self {
            Self::Refused(why) | Self::Absent(why) => why,
            Self::Limited(_) => "limited",
            Self::Malformed => "malformed",
            Self::TooLong => "too-long",
            Self::TooSlow => "too-slow",
            Self::Unavailable(_) => "unavailable",
            Self::Postponed(_) => "postponed",
        }
    }
}

impl From<Fault> for Denial {
    fn from(fault: Fault) -> Self {
        telemetry::report(&fault);
        match fault.class() {
            Class::Throttled(pause) => Self::Limited(pause),
            Class::Conflict | Class::Unavailable | Class::Refused => Self::Unavailable("the API server"),
        }
    }
}

impl IntoResponse for Denial {
    fn into_response(self) -> Response {
        let (code, word, again) = match self {
            // Whatever the reason: the same bytes.
            Self::Refused(_) => (StatusCode::FORBIDDEN, "refused", None),
            Self::Absent(_) => (StatusCode::NOT_FOUND, "not found", None),
            Self::Limited(pause) => (StatusCode::TOO_MANY_REQUESTS, "too many requests", Some(pause)),
            Self::Malformed => (StatusCode::BAD_REQUEST, "malformed", None),
            Self::TooLong => (StatusCode::PAYLOAD_TOO_LARGE, "too long", None),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "too slow", None),
            Self::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "not now", Some(TROUBLE)),
            Self::Postponed(pause) => (StatusCode::SERVICE_UNAVAILABLE, "not now", Some(pause)),
        };
        let mut answer = super::router::json(code, &serde_json::json!({ "error": word }));
        if let Some(pause) = again {
            let seconds = pause.as_millis().div_ceil(1_000).max(1);
            answer
                .headers_mut()
                .insert(header::RETRY_AFTER, header::HeaderValue::from(u64::try_from(seconds).unwrap_or(60)));
        }
        answer
    }
}
