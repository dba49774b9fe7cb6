//! Faults: what goes wrong, and how often.

use std::time::Duration;

use serde_json::{Value, json};
use sim::github::{Dropped, FaultKind, FaultRule};
use tokio::time::Instant;

use crate::caller::Caller;

const RUNNERS: &str = "/orgs/acme/actions/runners";

#[tokio::test(start_paused = true)]
async fn an_answer_is_replaced_as_often_as_it_was_said() {
    let caller = Caller::new();
    let rule = FaultRule { status: Some(502), skip: 1, times: Some(2), ..FaultRule::new(FaultKind::Answer) };
    caller.github.set_faults(vec![rule.on("GET", "/runners")]);
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(caller.get(RUNNERS).await.status);
    }
    assert_eq!(seen, [200, 502, 502, 200]);
    assert_eq!(caller.github.count("GET /orgs/{org}/actions/runners"), 4);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_leaves_what_was_made_and_a_reset_does_not() {
    let caller = Caller::new();
    let authorization = format!("Bearer {}", caller.token);
    let headers = [("authorization", authorization.as_str()), ("user-agent", "test")];
    let uri = format!("https://api.github.com{RUNNERS}/generate-jitconfig");
    let body = |name: &str| json!({ "name": name, "runner_group_id": 1, "labels": ["a"] });
    caller.github.set_faults(vec![FaultRule::new(FaultKind::Reset)]);
    assert_eq!(caller.send("POST", &uri, &headers, &body("one")).await.err(), Some(Dropped));
    assert!(caller.github.runners().is_empty());
    caller.github.set_faults(vec![FaultRule::new(FaultKind::Lost)]);
    assert_eq!(caller.send("POST", &uri, &headers, &body("two")).await.err(), Some(Dropped));
    assert_eq!(caller.github.runners()[0].name, "two");
    let again = caller.send("POST", &uri, &headers, &body("two")).await.unwrap();
    assert_eq!(again.status, 409, "the name is taken by what nobody can use");
}

#[tokio::test(start_paused = true)]
async fn limits_strike_on_demand() {
    let caller = Caller::new();
    let rule = FaultRule { status: Some(429), seconds: Some(7.0), ..FaultRule::new(FaultKind::SecondaryLimit) };
    caller.github.set_faults(vec![rule]);
    let refused = caller.get(RUNNERS).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "7"));
    caller.github.set_faults(vec![FaultRule::new(FaultKind::PrimaryLimit)]);
    let refused = caller.get(RUNNERS).await;
    assert_eq!((refused.status, refused.header("x-ratelimit-remaining")), (403, "0"));
}

#[tokio::test(start_paused = true)]
async fn calls_take_longer_and_lists_leave_things_out() {
    let caller = Caller::new();
    for number in 0..4 {
        caller.mint("/orgs/acme", &format!("vm-{number}"), &["a"]).await;
    }
    let slow = FaultRule { seconds: Some(20.0), ..FaultRule::new(FaultKind::Slow) };
    caller.github.set_faults(vec![slow, FaultRule::new(FaultKind::OmitRunners)]);
    let began = Instant::now();
    let listed = caller.get(RUNNERS).await;
    assert_eq!((began.elapsed(), &listed.body["total_count"]), (Duration::from_secs(20), &json!(2)));
    assert_eq!(caller.get(RUNNERS).await.body["total_count"], 4);
}

#[tokio::test(start_paused = true)]
async fn the_same_hands_are_under_sim() {
    let caller = Caller::new();
    let ask = async |verb: &str, path: &str, body: Value| {
        caller.send(verb, &format!("http://localhost/sim/{path}"), &[], &body).await.unwrap()
    };
    let queued = ask("POST", "runs", json!({ "jobs": [{ "name": "build", "seconds": 1 }] })).await;
    assert_eq!(queued.status, 200, "{}", queued.body);
    let state = ask("GET", "state", Value::Null).await.body;
    assert_eq!(state["jobs"][0]["status"], "queued");
    let run = queued.body["run"].clone();
    assert_eq!(ask("POST", &format!("runs/{run}/cancel"), Value::Null).await.body["cancelled"], true);
    assert_eq!(ask("PUT", "faults", json!([{ "kind": "answer", "status": 503 }])).await.body["faults"], 1);
    assert_eq!(caller.get(RUNNERS).await.status, 503);
    assert_eq!(ask("PUT", "weather", json!({ "lose": 1.0 })).await.status, 200);
    assert_eq!(ask("PUT", "weather", json!({ "rain": 1.0 })).await.status, 400);
    assert_eq!(ask("GET", "nothing", Value::Null).await.status, 404);
}
