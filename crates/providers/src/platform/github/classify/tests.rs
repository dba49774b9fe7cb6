//! Every answer has one meaning, and none shows a secret.

use super::*;
use crate::platform::github::budget::Priority;
use ::http::StatusCode;
use bytes::Bytes;
use rstest::rstest;

fn answer(status: u16, headers: &[(&'static str, &'static str)], body: &'static str) -> Answer {
    let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
    Answer {
        status: StatusCode::from_u16(status).unwrap(),
        reason: "Reason".into(),
        headers: headers.collect(),
        body: Bytes::from_static(body.as_bytes()),
    }
}

fn meaning(answer: &Answer, change: Option<&'static str>) -> Error {
    let ask = Ask { change, ..Ask::get("/x", "/x?y".into(), Need::Runners, Priority::Mint) };
    let budget = Budget::new(None);
    budget.observe(Bucket::Core, &answer.headers, jiff::Timestamp::from_second(1_000).unwrap());
    trouble(&ask, answer, &budget, &Scope::Organization("acme".into()), true)
}

fn kind(error: &Error) -> &'static str {
    match error {
        Error::Auth { .. } => "auth",
        Error::Permission { .. } => "permission",
        Error::NotFound { .. } => "not found",
        Error::Conflict { .. } => "conflict",
        Error::Invalid { .. } => "invalid",
        Error::RateLimited { .. } => "limited",
        Error::Untrusted { .. } => "untrusted",
        Error::Transient { .. } => "transient",
        Error::UnknownOutcome { .. } => "unknown",
        Error::Protocol { .. } => "protocol",
        Error::Unsupported { .. } => "unsupported",
    }
}

#[rstest]
#[case(401, "auth")]
#[case(403, "permission")]
#[case(404, "not found")]
#[case(409, "conflict")]
#[case(422, "invalid")]
#[case(429, "limited")]
#[case(500, "transient")]
#[case(502, "transient")]
#[case(206 + 100, "protocol")]
fn every_status_has_a_meaning(#[case] status: u16, #[case] expected: &str) {
    assert_eq!(kind(&meaning(&answer(status, &[], "{}"), None)), expected);
}

#[test]
fn a_gateway_that_gave_up_on_a_change_leaves_its_outcome_open() {
    for status in [502, 503, 504] {
        assert_eq!(kind(&meaning(&answer(status, &[], ""), Some("registering a runner"))), "unknown");
    }
    assert_eq!(kind(&meaning(&answer(500, &[], ""), Some("registering a runner"))), "transient");
}

#[tokio::test(start_paused = true)]
async fn c6_10_a_limit_is_told_with_its_wait_and_never_mistaken_for_a_permission() {
    let seconds = |answer: &Answer| {
        let error = meaning(answer, None);
        let Error::RateLimited { bucket, wait } = error else { panic!("{error}") };
        (bucket, wait.as_secs())
    };
    assert_eq!(seconds(&answer(403, &[("retry-after", "42")], "{}")), (Bucket::Burst, 42));
    assert_eq!(seconds(&answer(429, &[("retry-after", "0")], "{}")), (Bucket::Burst, 1));
    let spent = [("x-ratelimit-limit", "5000"), ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1600")];
    assert_eq!(seconds(&answer(403, &spent, "{}")), (Bucket::Core, 601));
    let says = r#"{"message":"You have exceeded a secondary rate limit."}"#;
    assert_eq!(seconds(&answer(403, &[], says)), (Bucket::Burst, 60));
    let left = [("x-ratelimit-limit", "5000"), ("x-ratelimit-remaining", "7"), ("x-ratelimit-reset", "1600")];
    let refused = meaning(&answer(403, &left, r#"{"message":"Resource not accessible by integration"}"#), None);
    assert_eq!(
        refused.to_string(),
        "the credential may not register and remove runners: grant the App organization_self_hosted_runners: write; \
         Resource not accessible by integration"
    );
}

#[test]
fn words_of_an_answer_are_read_for_people_and_hide_what_looks_like_a_token() {
    let said = answer(422, &[], r#"{"message":"Validation Failed","errors":["name is bad",{"message":"ghs_abc is"}]}"#);
    assert_eq!(words(&said), "Validation Failed: name is bad; … is");
    assert_eq!(words(&answer(500, &[], "<html>")), "500 Reason");
    assert_eq!(plain("token \"ghp_secret\" and (eyJhbGciOi.x.y)"), "token … and …");
}

#[test]
fn a_run_that_goes_on_is_a_matter_of_time_and_of_no_permission() {
    let says = r#"{"message":"The workflow run containing this job is already running"}"#;
    let ask = |need| Ask { change: Some("x"), ..Ask::get("/x", "/x".into(), need, Priority::Demand) };
    let scope = Scope::Organization("acme".into());
    let meaning = |need, says| trouble(&ask(need), &answer(403, &[], says), &Budget::new(None), &scope, true);
    assert_eq!(kind(&meaning(Need::Reruns, says)), "transient");
    assert_eq!(kind(&meaning(Need::Runners, says)), "permission", "nobody else says so");
    let may_not = meaning(Need::Reruns, r#"{"message":"Resource not accessible by integration"}"#);
    assert!(may_not.to_string().contains("grant the App actions: write"), "{may_not}");
}
