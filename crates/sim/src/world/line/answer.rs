//! Answers: whole ones, streams, and the ones that are made up.

use bytes::Bytes;
use http::{Response, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::json;
use tower::BoxError;

use crate::world::fault::Fault;

/// The body of an answer.
pub type Answer = UnsyncBoxBody<Bytes, BoxError>;

/// An answer that is there as a whole.
pub(crate) fn whole(bytes: Bytes) -> Answer {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// The answer that a Kubernetes API would give if this had happened to it; nothing if it would give none.
pub(crate) fn refusal(fault: Fault, pause: usize) -> Option<Response<Answer>> {
    let (code, reason, message) = match fault {
        Fault::Conflict => (409, "Conflict", "Operation cannot be fulfilled: the object has been modified"),
        Fault::Throttled => (429, "TooManyRequests", "the server has received too many requests"),
        Fault::ServerError => (500, "InternalError", "Internal error occurred: etcdserver: leader changed"),
        Fault::Unavailable => (503, "ServiceUnavailable", "the server is currently unable to handle the request"),
        Fault::GatewayTimeout => (504, "Timeout", "the server was unable to return a response in the time allotted"),
        Fault::WatchExpired => (410, "Expired", "too old resource version"),
        Fault::RequestLost
        | Fault::AnswerLost
        | Fault::Duplicated
        | Fault::Reset
        | Fault::ResetLate
        | Fault::HalfOpen
        | Fault::Partitioned
        | Fault::Orphaned
        | Fault::Stale
        | Fault::WatchCut
        | Fault::WatchClosed
        | Fault::Reordered
        | Fault::Pause
        | Fault::Crash
        | Fault::ClockJump
        | Fault::Compaction => return None,
    };
    let seconds = pause + 1;
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
        "details": if code == 429 { json!({ "retryAfterSeconds": seconds }) } else { json!({}) },
    });
    let mut answer = Response::builder().status(code).header(header::CONTENT_TYPE, "application/json");
    if code == 429 {
        answer = answer.header(header::RETRY_AFTER, seconds);
    }
    let body = whole(Bytes::from(status.to_string()));
    Some(answer.body(body).expect("a status code and two headers of plain text make an answer"))
}
