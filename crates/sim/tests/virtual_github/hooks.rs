//! Webhooks: what is sent, what gets lost, and what can be asked for again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use sim::github::{CLIENT_ID, HookOwner, HookWeather, JobSpec, Limits, REPOSITORY, Receiver, Scope};
use tokio::time::sleep;

use crate::caller::{Answer, Caller};

type Inbox = Arc<Mutex<Vec<(String, String, Value)>>>;

/// A receiver that checks what it gets and keeps guid, action and job.
fn receiver(secret: &'static str, status: u16) -> (Inbox, Receiver) {
    let inbox: Inbox = Arc::default();
    let kept = Arc::clone(&inbox);
    let receive = move |request: http::Request<Bytes>| {
        let header = |name: &str| request.headers().get(name).unwrap().to_str().unwrap().to_owned();
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(request.body());
        let given = header("x-hub-signature-256");
        let digits = given.strip_prefix("sha256=").unwrap();
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        let given: Vec<u8> = (0..64).step_by(2).map(byte).collect();
        assert!(mac.verify_slice(&given).is_ok() && digits.len() == 64);
        assert_eq!(header("x-github-event"), "workflow_job");
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        let action = body["action"].as_str().unwrap().to_owned();
        kept.lock().unwrap().push((header("x-github-delivery"), action, body));
        async move { Some(status) }.boxed()
    };
    (inbox, Receiver::function(receive))
}

fn actions(inbox: &Inbox) -> Vec<String> {
    inbox.lock().unwrap().iter().map(|(_, action, _)| action.clone()).collect()
}

fn organization() -> HookOwner {
    HookOwner::Of(Scope::Organization("acme".to_owned()))
}

async fn deliveries(caller: &Caller, verb: &str, rest: &str) -> Answer {
    let now = 1_800_000_000;
    let claims = json!({ "iat": now, "exp": now + 600, "iss": CLIENT_ID });
    let authorization = format!("Bearer {}", caller.github.app_key().sign(&claims));
    let headers = [("authorization", authorization.as_str()), ("user-agent", "test")];
    let uri = format!("https://api.github.com/app/hook/deliveries{rest}");
    caller.send(verb, &uri, &headers, &Value::Null).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_job_is_told_of_from_the_queue_to_its_end() {
    let caller = Caller::new();
    let (inbox, receiver) = receiver("s3cret", 202);
    caller.github.add_hook(organization(), "https://hooks.example/", "s3cret", receiver);
    let held = JobSpec { waiting: true, ..JobSpec::new("deploy", &["a"]) };
    let (_, jobs) = caller.github.queue(REPOSITORY, &[held]).unwrap();
    sleep(Duration::from_secs(5)).await;
    assert!(caller.github.approve(jobs[0]));
    let (_, blob) = caller.mint("/orgs/acme", "vm-1", &["a"]).await;
    caller.github.work(&blob).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(actions(&inbox), ["waiting", "queued", "in_progress", "completed"]);
    let told = inbox.lock().unwrap();
    assert_eq!(told[2].2["workflow_job"]["runner_name"], "vm-1");
    assert_eq!(told[3].2["workflow_job"]["conclusion"], "success");
    assert_eq!(told[0].2["workflow_job"]["labels"], json!(["a"]));
}

#[tokio::test(start_paused = true)]
async fn hooks_at_every_level_tell_of_a_job_under_other_guids() {
    let caller = Caller::new();
    let (inbox, receiver) = receiver("s", 200);
    let repository = HookOwner::Of(Scope::Repository(REPOSITORY.to_owned()));
    let other = HookOwner::Of(Scope::Repository("acme/gears".to_owned()));
    for owner in [HookOwner::App, organization(), repository, other] {
        caller.github.add_hook(owner, "https://hooks.example/", "s", receiver.clone());
    }
    caller.github.queue(REPOSITORY, &[JobSpec::default()]).unwrap();
    sleep(Duration::from_secs(5)).await;
    let told = inbox.lock().unwrap();
    let mut guids: Vec<&String> = told.iter().map(|(guid, _, _)| guid).collect();
    guids.dedup();
    assert_eq!((told.len(), guids.len()), (3, 3));
    assert_eq!(told.iter().filter(|(_, _, body)| body["installation"]["id"].is_number()).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn weather_loses_doubles_and_reorders() {
    let caller = Caller::new();
    let (inbox, receiver) = receiver("s", 200);
    caller.github.add_hook(organization(), "https://hooks.example/", "s", receiver);
    caller.github.set_weather(HookWeather { lose: 0.3, duplicate: 0.3, delay_seconds: 60.0, ..HookWeather::default() });
    for number in 0..200 {
        caller.github.queue(REPOSITORY, &[JobSpec::new(format!("job-{number}"), &["none"])]).unwrap();
    }
    sleep(Duration::from_mins(2)).await;
    let told = inbox.lock().unwrap();
    let ids: Vec<u64> = told.iter().map(|(_, _, body)| body["workflow_job"]["id"].as_u64().unwrap()).collect();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    assert_ne!(ids, sorted, "they overtake each other");
    sorted.dedup();
    assert!((110..170).contains(&sorted.len()), "{} of 200 arrived", sorted.len());
    assert!(ids.len() > sorted.len() + 20, "{} copies of {}", ids.len(), sorted.len());
}

#[tokio::test(start_paused = true)]
async fn a_failed_delivery_is_listed_and_sent_again_under_its_guid() {
    let caller = Caller::new();
    let (inbox, receiver) = receiver("s", 200);
    caller.github.add_hook(HookOwner::App, "https://hooks.example/", "s", receiver);
    caller.github.set_weather(HookWeather { fail: 1.0, ..HookWeather::default() });
    caller.github.queue(REPOSITORY, &[JobSpec::default()]).unwrap();
    sleep(Duration::from_secs(2)).await;
    assert!(inbox.lock().unwrap().is_empty());
    let listed = deliveries(&caller, "GET", "").await;
    let failed = listed.body[0].clone();
    assert_eq!(
        (&failed["event"], &failed["action"], &failed["status_code"]),
        (&json!("workflow_job"), &json!("queued"), &json!(0))
    );
    let one = deliveries(&caller, "GET", &format!("/{}", failed["id"])).await;
    assert_eq!(one.body["request"]["payload"]["action"], "queued");
    assert_eq!(one.body["request"]["headers"]["X-GitHub-Delivery"], failed["guid"]);
    assert_eq!(deliveries(&caller, "POST", &format!("/{}/attempts", failed["id"])).await.status, 202);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(inbox.lock().unwrap()[0].0, failed["guid"].as_str().unwrap());
    let newest = deliveries(&caller, "GET", "").await.body[0].clone();
    assert_eq!((&newest["redelivery"], &newest["status"]), (&json!(true), &json!("OK")));
}

#[tokio::test(start_paused = true)]
async fn deliveries_are_paged_by_a_cursor_and_forgotten_after_three_days() {
    let caller = Caller::new();
    let (_, receiver) = receiver("s", 500);
    let hook = caller.github.add_hook(organization(), "https://hooks.example/", "s", receiver);
    let specs: Vec<JobSpec> = (0..5).map(|number| JobSpec::new(format!("job-{number}"), &["none"])).collect();
    caller.github.queue(REPOSITORY, &specs).unwrap();
    sleep(Duration::from_secs(2)).await;
    let path = format!("/orgs/acme/hooks/{hook}/deliveries");
    let first = caller.get(&format!("{path}?per_page=3")).await;
    assert_eq!(first.body.as_array().unwrap().len(), 3);
    assert_eq!(first.body[0]["status"], "Invalid HTTP Response: 500");
    let link = first.header("link").to_owned();
    let next = link.trim_start_matches('<').split('>').next().unwrap().trim_start_matches("https://api.github.com");
    assert_eq!(caller.get(next).await.body.as_array().unwrap().len(), 2);
    assert_eq!(caller.get("/orgs/acme/hooks").await.body[0]["id"], hook);
    sleep(Limits::REAL.deliveries).await;
    caller.github.queue(REPOSITORY, &[JobSpec::new("late", &["none"])]).unwrap();
    sleep(Duration::from_secs(2)).await;
    // Those of the jobs that were given up after a day are younger than three.
    let left = caller.get(&format!("{path}?per_page=100")).await;
    let queued = left.body.as_array().unwrap().iter().filter(|item| item["action"] == "queued").count();
    assert_eq!(queued, 1);
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_does_not_answer_has_ten_seconds() {
    let caller = Caller::new();
    let slow = Receiver::function(|_| async { std::future::pending().await }.boxed());
    caller.github.add_hook(HookOwner::App, "https://hooks.example/", "s", slow);
    caller.github.queue(REPOSITORY, &[JobSpec::default()]).unwrap();
    sleep(Duration::from_secs(12)).await;
    let listed = deliveries(&caller, "GET", "").await;
    assert_eq!(listed.body[0]["status_code"], 0);
    assert!(listed.body[0]["duration"].as_f64().unwrap() >= 10.0);
}

#[tokio::test(start_paused = true)]
async fn hooks_of_an_enterprise_and_its_organizations_name_it_and_others_do_not() {
    let caller = Caller::new();
    let owners = [
        (HookOwner::App, json!(null)),
        (HookOwner::Of(Scope::Repository(REPOSITORY.to_owned())), json!(null)),
        (organization(), json!("acme-group")),
        (HookOwner::Of(Scope::Enterprise("acme-group".to_owned())), json!("acme-group")),
    ];
    for (owner, expected) in owners {
        let (inbox, receiver) = receiver("s", 202);
        caller.github.add_hook(owner.clone(), "https://hooks.example/", "s", receiver);
        caller.github.queue(REPOSITORY, &[JobSpec::default()]).unwrap();
        sleep(Duration::from_secs(5)).await;
        let told = inbox.lock().unwrap();
        assert_eq!((told.len(), &told[0].2["enterprise"]["slug"]), (1, &expected), "{owner:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_delivery_names_the_owner_of_its_hook_by_number() {
    let caller = Caller::new();
    let targets: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let kept = Arc::clone(&targets);
    let receiver = Receiver::function(move |request| {
        let header = |name: &str| request.headers().get(name).unwrap().to_str().unwrap().to_owned();
        let target = "x-github-hook-installation-target";
        kept.lock().unwrap().push((header(&format!("{target}-type")), header(&format!("{target}-id"))));
        async { Some(202) }.boxed()
    });
    for owner in [HookOwner::App, HookOwner::Of(Scope::Repository(REPOSITORY.to_owned())), organization()] {
        caller.github.add_hook(owner, "https://hooks.example/", "s", receiver.clone());
    }
    caller.github.queue(REPOSITORY, &[JobSpec::default()]).unwrap();
    sleep(Duration::from_secs(5)).await;
    let pair = |kind: &str, id: &str| (kind.to_owned(), id.to_owned());
    let mut told = targets.lock().unwrap().clone();
    told.sort();
    assert_eq!(told, [pair("integration", "424242"), pair("organization", "9"), pair("repository", "101")]);
}

#[tokio::test(start_paused = true)]
async fn only_hooks_of_repositories_tell_of_their_last_response() {
    let caller = Caller::new();
    let (_, receiver) = receiver("s", 202);
    for owner in [organization(), HookOwner::Of(Scope::Repository(REPOSITORY.to_owned()))] {
        caller.github.add_hook(owner, "https://hooks.example/", "s", receiver.clone());
    }
    for (path, says) in [("/orgs/acme/hooks", false), ("/repos/acme/widgets/hooks", true)] {
        let hook = caller.get(path).await.body[0].clone();
        assert!(hook["deliveries_url"].is_string(), "{hook}");
        assert_eq!((hook.get("last_response").is_some(), hook.get("test_url").is_some()), (says, says), "{hook}");
    }
}
