//! From a failed Kubernetes call to what the driver should do about it.

use std::time::Duration;

use kube::core::Status;
use reconcile::{Class, Fault};

use super::Late;

/// Sorts `error`, met while doing `operation`, into the driver's classes.
///
/// An object that is gone or changed is a stale view. Missing permissions are `Unavailable`, not `Refused`: a role can
/// be granted without any object of ours changing, so waiting for a change would wait for ever.
pub fn fault(operation: &str, error: kube::Error) -> Fault {
    let (class, summary) = judge(&error);
    Fault::new(class, operation, summary).caused_by(error)
}

fn judge(error: &kube::Error) -> (Class, String) {
    if let kube::Error::Api(status) = error {
        return (class_of(status), status.message.clone());
    }
    if let kube::Error::SerdeError(_) = error {
        return (Class::Refused, "the API server's answer does not have the expected form".to_owned());
    }
    let late = if let kube::Error::Service(source) = error { source.downcast_ref::<Late>() } else { None };
    let summary = late
        .map_or_else(|| "the API server cannot be reached".to_owned(), |late| format!("the API server gave {late}"));
    (Class::Unavailable, summary)
}

fn class_of(status: &Status) -> Class {
    match status.code {
        404 | 409 | 410 => Class::Conflict,
        429 => Class::Throttled(pause(status)),
        400 | 405 | 406 | 413 | 415 | 422 => Class::Refused,
        // 401 and 403, every 5xx, and whatever a proxy in between makes up.
        _ => Class::Unavailable,
    }
}

/// The pause the server asks for, or one second if it names none.
fn pause(status: &Status) -> Duration {
    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    Duration::from_secs(u64::from(seconds.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn refusal(code: u16) -> kube::Error {
        let details = serde_json::json!({ "retryAfterSeconds": 7 });
        let status = serde_json::json!({ "status": "Failure", "message": "no", "code": code, "details": details });
        kube::Error::Api(serde_json::from_value(status).unwrap())
    }

    #[rstest]
    #[case(409, Class::Conflict)]
    #[case(404, Class::Conflict)]
    #[case(429, Class::Throttled(Duration::from_secs(7)))]
    #[case(422, Class::Refused)]
    #[case(403, Class::Unavailable)]
    #[case(500, Class::Unavailable)]
    #[case(503, Class::Unavailable)]
    fn answers_are_sorted_by_what_to_do_next(#[case] code: u16, #[case] class: Class) {
        assert_eq!(fault("patch status", refusal(code)).class(), class);
    }

    #[test]
    fn a_late_answer_says_how_long_it_was_waited_for() {
        let fault = fault("list", kube::Error::Service(Late(Duration::from_secs(15)).into()));
        assert_eq!(fault.to_string(), "list: the API server gave no complete answer within 15s");
        assert_eq!(fault.class(), Class::Unavailable);
    }
}
