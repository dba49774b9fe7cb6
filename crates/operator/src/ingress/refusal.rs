//! Answers that are no.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use providers::platform::Rejected;

/// Why a delivery is not taken. The words are for metrics; the sender sees a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Nobody is known under that id.
    Unknown,
    /// It is not believed.
    Rejected(Rejected),
    /// It is signed and cannot be read.
    Unreadable,
    /// It broke off.
    Broken,
    /// It is too long.
    TooLong,
    /// It comes too slowly.
    TooSlow,
    /// It cannot be stored now.
    Unavailable,
}

/// When to deliver again after trouble of ours, for platforms that do.
const TROUBLE: Duration = Duration::from_secs(5);

impl Refusal {
    /// The word in metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Rejected(why) => why.as_str(),
            Self::Unreadable => "unreadable",
            Self::Broken => "broken",
            Self::TooLong => "too-long",
            Self::TooSlow => "too-slow",
            Self::Unavailable => "unavailable",
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (code, word) = match self {
            // Whatever the reason: the same bytes.
            Self::Unknown | Self::Rejected(_) => (StatusCode::UNAUTHORIZED, "refused"),
            Self::Unreadable | Self::Broken => (StatusCode::BAD_REQUEST, "malformed"),
            Self::TooLong => (StatusCode::PAYLOAD_TOO_LARGE, "too long"),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "too slow"),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "not now"),
        };
        let mut answer = (code, word).into_response();
        if self == Self::Unavailable {
            answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(TROUBLE.as_secs()));
        }
        answer
    }
}
