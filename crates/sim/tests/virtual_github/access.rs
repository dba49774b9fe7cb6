//! Apps, tokens, permissions and rates.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use sim::github::{APP_ID, CLIENT_ID, FaultKind, FaultRule, INSTALLATION_ID, Limits, Options, REPOSITORY, Rates};
use tokio::time::sleep;

use crate::caller::{Answer, Caller, options};

const NOW: i64 = 1_800_000_000;

async fn as_app(caller: &Caller, claims: &Value, verb: &str, path: &str, body: Value) -> Answer {
    let token = caller.github.app_key().sign(claims);
    let authorization = format!("Bearer {token}");
    let headers = [("authorization", authorization.as_str()), ("user-agent", "test")];
    caller.send(verb, &format!("https://ghes.example/api/v3{path}"), &headers, &body).await.unwrap()
}

fn claims() -> Value {
    json!({ "iat": NOW - 60, "exp": NOW + 480, "iss": CLIENT_ID })
}

async fn installation_token(caller: &Caller, body: Value) -> Answer {
    let path = format!("/app/installations/{INSTALLATION_ID}/access_tokens");
    as_app(caller, &claims(), "POST", &path, body).await
}

#[rstest]
#[case::client_id(json!({ "iat": NOW - 60, "exp": NOW + 480, "iss": CLIENT_ID }), 200)]
#[case::app_id(json!({ "iat": NOW - 60, "exp": NOW + 480, "iss": APP_ID.to_string() }), 200)]
#[case::too_long(json!({ "iat": NOW, "exp": NOW + 601, "iss": CLIENT_ID }), 401)]
#[case::too_long_from_its_start(json!({ "iat": NOW - 300, "exp": NOW + 400, "iss": CLIENT_ID }), 401)]
#[case::over(json!({ "iat": NOW - 600, "exp": NOW - 1, "iss": CLIENT_ID }), 401)]
#[case::from_the_future(json!({ "iat": NOW + 60, "exp": NOW + 480, "iss": CLIENT_ID }), 401)]
#[case::without_issuer(json!({ "iat": NOW - 60, "exp": NOW + 480 }), 401)]
#[case::another_app(json!({ "iat": NOW - 60, "exp": NOW + 480, "iss": "Iv1.other" }), 404)]
#[tokio::test(start_paused = true)]
async fn an_apps_own_token_is_checked(#[case] claims: Value, #[case] status: u16) {
    let caller = Caller::new();
    let answer = as_app(&caller, &claims, "GET", "/app", Value::Null).await;
    assert_eq!(answer.status, status, "{}", answer.body);
}

#[tokio::test(start_paused = true)]
async fn a_token_with_another_signature_is_refused() {
    let caller = Caller::new();
    let token = caller.github.app_key().sign(&claims());
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let first = if signature.starts_with('A') { 'B' } else { 'A' };
    let forged = format!("Bearer {signed}.{first}{}", &signature[1..]);
    let headers = [("authorization", forged.as_str()), ("user-agent", "test")];
    let answer = caller.send("GET", "https://api.github.com/app", &headers, &Value::Null).await.unwrap();
    assert_eq!((answer.status, &answer.body["message"]), (401, &json!("A JSON web token could not be decoded")));
}

#[tokio::test(start_paused = true)]
async fn an_installations_token_is_good_for_an_hour() {
    let mut caller = Caller::new();
    let made = installation_token(&caller, Value::Null).await;
    assert_eq!((made.status, &made.body["expires_at"]), (201, &json!("2027-01-15T09:00:00Z")));
    caller.token = made.body["token"].as_str().unwrap().to_owned();
    assert!(caller.token.starts_with("ghs_") && caller.token.len() > 100);
    assert_eq!(caller.get("/orgs/acme/actions/runners").await.status, 200);
    sleep(Limits::REAL.installation_token).await;
    let late = caller.get("/orgs/acme/actions/runners").await;
    assert_eq!((late.status, &late.body["message"]), (401, &json!("Bad credentials")));
}

#[tokio::test(start_paused = true)]
async fn a_token_can_do_what_was_asked_for_and_no_more() {
    let mut caller = Caller::new();
    let body = json!({ "permissions": { "actions": "read" }, "repositories": ["widgets"] });
    let made = installation_token(&caller, body).await;
    assert_eq!(made.body["repository_selection"], "selected");
    caller.token = made.body["token"].as_str().unwrap().to_owned();
    assert_eq!(caller.get(&format!("/repos/{REPOSITORY}/actions/runs")).await.status, 200);
    assert_eq!(caller.get("/repos/acme/gears/actions/runs").await.status, 404, "a repository it was not asked for");
    let runners = caller.get("/orgs/acme/actions/runners").await;
    let why = json!("Resource not accessible by integration");
    assert_eq!((runners.status, &runners.body["message"]), (403, &why));
    let more = installation_token(&caller, json!({ "permissions": { "contents": "write" } })).await;
    assert_eq!(more.status, 422);
    let unknown = installation_token(&caller, json!({ "repositories": ["nothing"] })).await;
    assert_eq!(unknown.status, 422);
}

#[tokio::test(start_paused = true)]
async fn no_app_reaches_an_enterprise() {
    let mut caller = Caller::new();
    assert_eq!(caller.get("/enterprises/acme-group/actions/runners").await.status, 200, "a person's token does");
    let made = installation_token(&caller, Value::Null).await;
    caller.token = made.body["token"].as_str().unwrap().to_owned();
    assert_eq!(caller.get("/enterprises/acme-group/actions/runners").await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn an_installation_is_found_by_its_owner_until_it_is_gone() {
    let caller = Caller::new();
    for path in ["/orgs/acme/installation".to_owned(), format!("/repos/{REPOSITORY}/installation")] {
        assert_eq!(as_app(&caller, &claims(), "GET", &path, Value::Null).await.body["id"], INSTALLATION_ID);
    }
    assert_eq!(as_app(&caller, &claims(), "GET", "/orgs/other/installation", Value::Null).await.status, 404);
    caller.github.suspend(true);
    assert_eq!(installation_token(&caller, Value::Null).await.status, 403);
    caller.github.uninstall();
    assert_eq!(installation_token(&caller, Value::Null).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_persons_token_sees_only_what_its_scopes_allow() {
    let mut caller = Caller::new();
    caller.github.add_token("ghp_repo_only", "hubber", &["repo"]);
    caller.token = "ghp_repo_only".to_owned();
    assert_eq!(caller.get(&format!("/repos/{REPOSITORY}/actions/runners")).await.status, 200);
    assert_eq!(caller.get("/orgs/acme/actions/runners").await.status, 404);
    assert!(caller.github.revoke("ghp_repo_only"));
    assert_eq!(caller.get(&format!("/repos/{REPOSITORY}/actions/runners")).await.status, 401);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_served_without_a_name_or_a_token() {
    let caller = Caller::new();
    let uri = "https://api.github.com/rate_limit";
    let nameless = caller.send("GET", uri, &[("authorization", "Bearer x")], &Value::Null).await.unwrap();
    assert_eq!(nameless.status, 403);
    let nobody = caller.send("GET", uri, &[("user-agent", "test")], &Value::Null).await.unwrap();
    assert_eq!((nobody.status, &nobody.body["message"]), (401, &json!("Requires authentication")));
}

fn limited(core: u32, points: u32) -> Options {
    let rates = Rates { core: Some(core), points, ..Limits::REAL.rates };
    Options { limits: Limits { rates, ..Limits::REAL }, ..options() }
}

#[tokio::test(start_paused = true)]
async fn an_hours_requests_run_out_and_come_back() {
    let caller = Caller::over(limited(3, 900));
    for left in [2, 1, 0] {
        let answer = caller.get("/orgs/acme/actions/runners").await;
        assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, left.to_string().as_str()));
    }
    let refused = caller.get("/orgs/acme/actions/runners").await;
    assert_eq!((refused.status, refused.header("retry-after")), (403, ""), "only the reset says when");
    let reset: i64 = refused.header("x-ratelimit-reset").parse().unwrap();
    assert_eq!(reset, NOW + 3_600);
    assert_eq!(caller.get("/rate_limit").await.body["resources"]["core"]["remaining"], 0, "to ask costs nothing");
    caller.mint("/orgs/acme", "vm-1", &["a"]).await;
    sleep(Duration::from_hours(1)).await;
    assert_eq!(caller.get("/orgs/acme/actions/runners").await.status, 200);
    assert_eq!(caller.github.limited(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_has_not_changed_costs_nothing() {
    let caller = Caller::new();
    let first = caller.get("/orgs/acme/actions/runners").await;
    let mark = first.header("etag").to_owned();
    let authorization = format!("Bearer {}", caller.token);
    let headers = [("authorization", authorization.as_str()), ("user-agent", "test"), ("if-none-match", mark.as_str())];
    let uri = "https://api.github.com/orgs/acme/actions/runners";
    let same = caller.send("GET", uri, &headers, &Value::Null).await.unwrap();
    assert_eq!((same.status, same.header("x-ratelimit-used")), (304, "1"));
    caller.mint("/orgs/acme", "vm-1", &["a"]).await;
    let other = caller.send("GET", uri, &headers, &Value::Null).await.unwrap();
    assert_eq!((other.status, other.header("x-ratelimit-used")), (200, "2"));
}

#[tokio::test(start_paused = true)]
async fn who_asks_too_fast_is_told_how_long_to_wait() {
    let caller = Caller::over(limited(5_000, 11));
    caller.mint("/orgs/acme", "vm-1", &["a"]).await;
    caller.mint("/orgs/acme", "vm-2", &["a"]).await;
    let body = json!({ "name": "vm-3", "runner_group_id": 1, "labels": ["a"] });
    let path = "/orgs/acme/actions/runners/generate-jitconfig";
    let refused = caller.call("POST", path, body.clone()).await;
    assert_eq!((refused.status, refused.header("retry-after")), (403, "60"));
    assert_ne!(refused.header("x-ratelimit-remaining"), "0");
    sleep(Duration::from_mins(1)).await;
    assert_eq!(caller.call("POST", path, body).await.status, 201);
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_too_much_at_once_is_refused() {
    let caller = Caller::new();
    let slow = FaultRule { seconds: Some(5.0), times: Some(0), ..FaultRule::new(FaultKind::Slow) };
    caller.github.set_faults(vec![slow]);
    let answers = futures::future::join_all((0..103).map(|_| caller.get("/orgs/acme/actions/runners"))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 403).count(), 3);
    assert_eq!(caller.get("/orgs/acme/actions/runners").await.status, 200, "those that are over make room");
}

#[tokio::test(start_paused = true)]
async fn where_nobody_counts_there_is_nothing_to_tell() {
    let rates = Rates { core: None, ..Limits::REAL.rates };
    let caller = Caller::over(Options { limits: Limits { rates, ..Limits::REAL }, ..options() });
    let answer = caller.get("/orgs/acme/actions/runners").await;
    assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (200, ""));
    assert_eq!(caller.get("/rate_limit").await.status, 404);
}

#[test]
fn the_constants_are_those_of_github() {
    let real = Limits::REAL;
    assert_eq!((real.app_token, real.installation_token), (Duration::from_mins(10), Duration::from_hours(1)));
    assert_eq!(
        (real.poll, real.offer, real.queue),
        (Duration::from_secs(50), Duration::from_mins(1), Duration::from_hours(24))
    );
    assert_eq!((real.deliveries, real.hook_timeout), (Duration::from_hours(72), Duration::from_secs(10)));
    assert_eq!(real.rates, Rates { core: Some(5_000), registration: 10_000, points: 900, concurrent: 100 });
}
