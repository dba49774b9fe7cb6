//! The scale-set service, as a listener meets it.

use std::time::Duration;

use serde_json::{Value, json};
use sim::github::{Conclusion, FaultKind, FaultRule, Handover, JobSpec, Limits, Options, REPOSITORY};
use tokio::time::{Instant, sleep};

use crate::caller::{Answer, Caller, options};

/// A listener of one scale set.
struct Listener {
    caller: Caller,
    url: String,
    token: String,
    set: u64,
    session: Value,
}

impl Listener {
    async fn start(handover: Handover) -> Self {
        let caller = Caller::over(Options { handover, ..options() });
        let (url, token) = admin(&caller, "https://github.com/acme").await;
        let mut listener = Self { caller, url, token, set: 0, session: Value::Null };
        let wanted = json!({
            "name": "pool", "runnerGroupId": 1, "labels": [{ "type": "System", "name": "pool" }],
            "RunnerSetting": { "disableUpdate": true },
        });
        let made = listener.ask("POST", "runtime/runnerscalesets", wanted).await;
        assert_eq!(made.status, 200, "{}", made.body);
        listener.set = made.body["id"].as_u64().unwrap();
        listener.session = listener.open().await.body;
        listener
    }

    async fn ask(&self, verb: &str, path: &str, body: Value) -> Answer {
        let mark = if path.contains('?') { '&' } else { '?' };
        let uri = format!("{}_apis/{path}{mark}api-version=6.0-preview", self.url);
        let authorization = format!("Bearer {}", self.token);
        self.caller.send(verb, &uri, &[("authorization", authorization.as_str())], &body).await.unwrap()
    }

    async fn of_set(&self, verb: &str, rest: &str, body: Value) -> Answer {
        self.ask(verb, &format!("runtime/runnerscalesets/{}{rest}", self.set), body).await
    }

    async fn open(&self) -> Answer {
        self.of_set("POST", "/sessions", json!({ "ownerName": "listener" })).await
    }

    async fn poll(&self, last: u64, capacity: usize) -> Answer {
        self.queue("GET", &format!("?lastMessageId={last}"), capacity).await
    }

    async fn queue(&self, verb: &str, rest: &str, capacity: usize) -> Answer {
        let uri = format!("{}{rest}", self.session["messageQueueUrl"].as_str().unwrap());
        let authorization = format!("Bearer {}", self.session["messageQueueAccessToken"].as_str().unwrap());
        let capacity = capacity.to_string();
        let headers = [("authorization", authorization.as_str()), ("x-scalesetmaxcapacity", capacity.as_str())];
        self.caller.send(verb, &uri, &headers, &Value::Null).await.unwrap()
    }

    /// The kinds of the job messages in an answer.
    fn kinds(answer: &Answer) -> Vec<String> {
        let body: Vec<Value> = serde_json::from_str(answer.body["body"].as_str().unwrap()).unwrap();
        body.iter().map(|message| message["messageType"].as_str().unwrap().to_owned()).collect()
    }
}

async fn admin(caller: &Caller, config: &str) -> (String, String) {
    let registration = caller.call("POST", "/orgs/acme/actions/runners/registration-token", Value::Null).await;
    let authorization = format!("RemoteAuth {}", registration.body["token"].as_str().unwrap());
    let headers = [("authorization", authorization.as_str()), ("user-agent", "test")];
    let body = json!({ "url": config, "runner_event": "register" });
    let uri = "https://api.github.com/actions/runner-registration";
    let made = caller.send("POST", uri, &headers, &body).await.unwrap();
    let text = |name: &str| made.body[name].as_str().unwrap_or_default().to_owned();
    (text("url"), text("token"))
}

#[tokio::test(start_paused = true)]
async fn jobs_are_assigned_up_to_the_capacity_that_a_listener_has() {
    let listener = Listener::start(Handover::Direct).await;
    let specs: Vec<JobSpec> = (0..3).map(|number| JobSpec::new(format!("job-{number}"), &["pool"])).collect();
    let (_, jobs) = listener.caller.github.queue(REPOSITORY, &specs).unwrap();
    let first = listener.poll(0, 2).await;
    assert_eq!((first.status, &first.body["messageType"]), (200, &json!("RunnerScaleSetJobMessages")));
    assert_eq!(Listener::kinds(&first), ["JobAssigned", "JobAssigned"]);
    let level = &first.body["statistics"];
    assert_eq!((&level["totalAssignedJobs"], &level["totalAvailableJobs"]), (&json!(2), &json!(1)));
    let number = first.body["messageId"].as_u64().unwrap();
    let again = listener.poll(0, 2).await;
    assert_eq!(again.body["messageId"], number, "what was not deleted comes again");
    assert_eq!(listener.queue("DELETE", &format!("/{number}"), 2).await.status, 204);

    let minted = listener.of_set("POST", "/generatejitconfig", json!({ "name": "vm-1", "workFolder": "_work" })).await;
    let blob = minted.body["encodedJITConfig"].as_str().unwrap().to_owned();
    assert_eq!(listener.caller.github.work(&blob).await, Ok(Conclusion::Success));
    let next = listener.poll(number, 2).await;
    assert_eq!(Listener::kinds(&next), ["JobStarted", "JobCompleted"]);
    let told: Vec<Value> = serde_json::from_str(next.body["body"].as_str().unwrap()).unwrap();
    assert_eq!((&told[1]["result"], &told[1]["runnerName"]), (&json!("succeeded"), &json!("vm-1")));
    assert!(jobs.contains(&told[1]["runnerRequestId"].as_u64().unwrap()));
    let third = listener.poll(next.body["messageId"].as_u64().unwrap(), 2).await;
    assert_eq!(Listener::kinds(&third), ["JobAssigned"], "a place came free");
}

#[tokio::test(start_paused = true)]
async fn a_listener_acquires_what_is_available() {
    let listener = Listener::start(Handover::Acquire).await;
    listener.caller.github.queue(REPOSITORY, &[JobSpec::new("job", &["pool"])]).unwrap();
    let offered = listener.poll(0, 5).await;
    assert_eq!(Listener::kinds(&offered), ["JobAvailable"]);
    let told: Vec<Value> = serde_json::from_str(offered.body["body"].as_str().unwrap()).unwrap();
    let request = told[0]["runnerRequestId"].clone();
    assert_eq!(listener.of_set("GET", "/acquirablejobs", Value::Null).await.body["count"], 1);
    let uri = format!("{}?api-version=6.0-preview", told[0]["acquireJobUrl"].as_str().unwrap());
    let authorization = format!("Bearer {}", listener.session["messageQueueAccessToken"].as_str().unwrap());
    let headers = [("authorization", authorization.as_str())];
    let send = |body: Value| {
        let (caller, uri, headers) = (&listener.caller, uri.clone(), headers);
        async move { caller.send("POST", &uri, &headers, &body).await.unwrap() }
    };
    assert_eq!(send(json!([request, 999])).await.body, json!({ "count": 1, "value": [request] }));
    assert_eq!(send(json!([request])).await.body["count"], 0, "once is enough");
    let last = offered.body["messageId"].as_u64().unwrap();
    assert_eq!(Listener::kinds(&listener.poll(last, 5).await), ["JobAssigned"]);
}

#[tokio::test(start_paused = true)]
async fn an_empty_queue_is_waited_on_for_fifty_seconds() {
    let listener = Listener::start(Handover::Direct).await;
    let began = Instant::now();
    assert_eq!(listener.poll(0, 5).await.status, 202);
    assert_eq!(began.elapsed(), Limits::REAL.poll);
}

#[tokio::test(start_paused = true)]
async fn one_session_at_a_time_until_it_falls_silent() {
    let mut listener = Listener::start(Handover::Direct).await;
    let second = listener.open().await;
    assert_eq!(second.status, 409);
    let session = listener.session["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(listener.of_set("DELETE", &format!("/sessions/{session}"), Value::Null).await.status, 204);
    assert_eq!(listener.poll(0, 1).await.status, 404);
    listener.session = listener.open().await.body;
    sleep(Limits::REAL.session).await;
    assert_eq!(listener.open().await.status, 200, "a silent session makes room");
    let old = listener.session["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(listener.of_set("PATCH", &format!("/sessions/{old}"), Value::Null).await.status, 404);
    assert_eq!(listener.caller.github.scale_sets()[0].session.as_deref(), Some("listener"));
}

#[tokio::test(start_paused = true)]
async fn what_a_listener_read_and_did_not_delete_its_successor_reads_again() {
    let mut listener = Listener::start(Handover::Acquire).await;
    listener.caller.github.queue(REPOSITORY, &[JobSpec::new("job", &["pool"])]).unwrap();
    let first = listener.poll(0, 1).await;
    assert!(listener.caller.github.break_session(listener.set));
    assert_eq!(listener.poll(0, 1).await.status, 404);
    listener.session = listener.open().await.body;
    assert_eq!(listener.session["statistics"]["totalAvailableJobs"], 1);
    let again = listener.poll(0, 1).await;
    assert_eq!((again.status, &again.body["body"]), (200, &first.body["body"]));
}

#[tokio::test(start_paused = true)]
async fn a_queue_token_expires_and_is_renewed() {
    let mut listener = Listener::start(Handover::Direct).await;
    listener.caller.github.set_faults(vec![FaultRule::new(FaultKind::QueueTokenExpired)]);
    assert_eq!(listener.poll(0, 1).await.status, 401);
    for _ in 0..72 {
        assert_eq!(listener.poll(0, 1).await.status, 202);
    }
    assert_eq!(listener.poll(0, 1).await.status, 401, "an hour is over");
    let session = listener.session["sessionId"].as_str().unwrap().to_owned();
    let (_, token) = admin(&listener.caller, "https://github.com/acme").await;
    assert_eq!(listener.ask("GET", "runtime/runnergroups/", Value::Null).await.status, 401, "the other token too");
    listener.token = token;
    listener.session = listener.of_set("PATCH", &format!("/sessions/{session}"), Value::Null).await.body;
    assert_eq!(listener.session["sessionId"], session.as_str());
    assert_eq!(listener.poll(0, 1).await.status, 202);
}

#[tokio::test(start_paused = true)]
async fn the_service_knows_at_once_that_a_runner_is_busy() {
    let listener = Listener::start(Handover::Direct).await;
    listener.caller.github.queue(REPOSITORY, &[JobSpec::new("job", &["pool"])]).unwrap();
    listener.poll(0, 1).await;
    let minted = listener.of_set("POST", "/generatejitconfig", json!({ "name": "vm-1" })).await;
    let again = listener.of_set("POST", "/generatejitconfig", json!({ "name": "vm-1" })).await;
    assert_eq!(again.status, 409);
    assert!(again.body["typeName"].as_str().unwrap().contains("AgentExistsException"));
    let runner = listener.caller.github.listen(minted.body["encodedJITConfig"].as_str().unwrap()).unwrap();
    assert!(matches!(runner.next().await, Ok(sim::github::Errand::Run { .. })));
    let path = format!("distributedtask/pools/0/agents/{}", runner.id);
    let refused = listener.ask("DELETE", &path, Value::Null).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body["typeName"].as_str().unwrap().contains("JobStillRunningException"));
    let named = listener.ask("GET", "distributedtask/pools/0/agents?agentName=vm-1", Value::Null).await;
    assert_eq!(named.body["value"][0]["runnerScaleSetId"], listener.set);
    let gone = listener.ask("GET", "distributedtask/pools/0/agents/1", Value::Null).await;
    assert_eq!(gone.status, 404);
    assert!(gone.body["typeName"].as_str().unwrap().contains("AgentNotFoundException"));
}

#[tokio::test(start_paused = true)]
async fn scale_sets_are_made_once_found_changed_and_deleted() {
    let listener = Listener::start(Handover::Direct).await;
    let again = listener.ask("POST", "runtime/runnerscalesets", json!({ "name": "pool", "runnerGroupId": 1 })).await;
    assert_eq!(again.status, 409);
    let groups = listener.ask("GET", "runtime/runnergroups/?groupName=trusted", Value::Null).await;
    assert_eq!((&groups.body["count"], &groups.body["value"][0]["id"]), (&json!(1), &json!(2)));
    let found = listener.ask("GET", "runtime/runnerscalesets?runnerGroupId=1&name=pool", Value::Null).await;
    assert_eq!(found.body["value"][0]["id"], listener.set);
    let moved = listener.of_set("PATCH", "", json!({ "runnerGroupId": 2 })).await;
    assert_eq!(moved.body["runnerGroupName"], "trusted");
    listener.caller.github.queue(REPOSITORY, &[JobSpec::new("job", &["pool"])]).unwrap();
    listener.poll(0, 1).await;
    assert_eq!(listener.of_set("DELETE", "", Value::Null).await.status, 204);
    assert_eq!(listener.of_set("GET", "", Value::Null).await.status, 404);
    assert!(listener.caller.github.scale_sets().is_empty());
    // The job is free again: an ordinary runner that fits gets it.
    let (_, blob) = listener.caller.mint("/orgs/acme", "vm-1", &["pool"]).await;
    assert_eq!(listener.caller.github.work(&blob).await, Ok(Conclusion::Success));
}

#[tokio::test(start_paused = true)]
async fn only_whoever_registered_for_an_owner_gets_in() {
    let caller = Caller::new();
    let (url, token) = admin(&caller, "https://github.com/other").await;
    assert_eq!((url.as_str(), token.as_str()), ("", ""), "the token was for another owner");
    let (url, token) = admin(&caller, "https://github.com/acme").await;
    let uri = format!("{url}_apis/runtime/runnerscalesets");
    let authorization = format!("Bearer {token}");
    let versionless =
        caller.send("GET", &uri, &[("authorization", authorization.as_str())], &Value::Null).await.unwrap();
    assert_eq!(versionless.status, 400);
    let forged = format!("Bearer {token}x");
    let uri = format!("{uri}?api-version=6.0-preview");
    let refused = caller.send("GET", &uri, &[("authorization", forged.as_str())], &Value::Null).await.unwrap();
    assert_eq!(refused.status, 401);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(caller.github.count("GET /_apis/runtime/runnerscalesets"), 2);
}
