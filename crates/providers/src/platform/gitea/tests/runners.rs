//! Registrations: made, found, removed.

use rstest::rstest;
use secrecy::ExposeSecret;

use super::*;
use crate::platform::{Exit, Sign};

const SECRET: &str = "runner-secret";

fn order() -> RunnerOrder {
    RunnerOrder {
        name: "hf-0a1b2c3d-one".to_owned(),
        labels: vec!["hyperfleet".to_owned(), "linux".to_owned()],
        session: None,
        machine: MACHINE.to_owned(),
    }
}

fn runner(id: u64, name: &str) -> Value {
    json!({ "id": id, "name": name, "status": "offline", "busy": false, "disabled": false, "ephemeral": true, "labels": [] })
}

fn runners(runners: &[Value]) -> (u16, Value) {
    (200, json!({ "runners": runners, "total_count": runners.len() }))
}

fn token() -> (u16, Value) {
    (200, json!({ "token": "the registration token" }))
}

fn registered() -> (u16, Value) {
    (200, json!({ "runner": { "id": "12", "uuid": "u-u-i-d", "token": SECRET, "name": "hf-0a1b2c3d-one" } }))
}

fn missing() -> (u16, Value) {
    (404, json!({ "message": "Runner not found" }))
}

fn known(id: &str) -> Runner {
    Runner { name: "hf-0a1b2c3d-one".to_owned(), id: Some(id.to_owned()) }
}

fn by_name() -> Runner {
    Runner { id: None, ..known("") }
}

fn jobs(of: &[u64]) -> (u16, Value) {
    let job = |runner: &u64| {
        let mut job = recorded("in_progress.repo")["workflow_job"].clone();
        (job["id"], job["runner_id"]) = (json!(runner), json!(runner));
        job
    };
    (200, json!({ "jobs": of.iter().map(job).collect::<Vec<_>>(), "total_count": of.len() }))
}

#[tokio::test]
async fn the_registration_is_made_here_and_its_token_stays_here() {
    let server = Scripted::new([no_runners(), token(), registered()]);
    let gitea = server.gitea(organization());
    let grant = gitea.mint(&order(), &proven(MACHINE), now()).await.unwrap();
    assert_eq!(grant.runner, known("12"));
    let state: Value = serde_json::from_str(grant.credential.expose_secret()).unwrap();
    let wanted = json!({
        "id": 12, "uuid": "u-u-i-d", "name": "hf-0a1b2c3d-one", "token": SECRET, "address": "https://git.example.com",
        "labels": ["hyperfleet:host", "linux:host"], "ephemeral": true,
    });
    assert_eq!(state, wanted);
    let (method, path, body) = server.made().pop().unwrap();
    assert_eq!((method.as_str(), path.as_str()), ("POST", "/api/actions/runner.v1.RunnerService/Register"));
    assert_eq!(body["labels"], json!(["hyperfleet", "linux"]));
    assert_eq!((&body["ephemeral"], &body["token"]), (&json!(true), &json!("the registration token")));
}

#[tokio::test]
async fn the_plan_keeps_its_secrets_in_memory_and_its_files_on_disk() {
    let grant = Grant { runner: known("12"), credential: SECRET.into(), expires_at: None };
    let plan = Scripted::default().gitea(organization()).plan(&grant);
    assert_eq!(plan.argv, ["gitea-runner", "--config", "{files}/config.yaml", "daemon"]);
    assert!(plan.env.values().all(|value| !value.expose_secret().contains(SECRET)));
    let file = |path: &str| plan.files.iter().find(|item| item.path == path).unwrap();
    assert_eq!(file(".runner").content.expose_secret(), SECRET);
    assert!(plan.files.iter().all(|item| item.mode == 0o600));
    let settings: Value = serde_json::from_str(file("config.yaml").content.expose_secret()).unwrap();
    assert_eq!(settings["runner"]["file"], "{files}/.runner");
    assert_eq!((&settings["cache"]["enabled"], &settings["host"]["workdir_parent"]), (&json!(false), &json!("{work}")));
    assert_eq!(plan.exits[&0], Exit::Done(None), "how the job came out only the platform says");
    assert_eq!(plan.busy, Sign::Line(" repo is ".to_owned()));
}

#[rstest]
#[case("a:host")]
#[case("a,b")]
#[case("")]
#[tokio::test]
async fn a_label_that_the_runner_would_read_otherwise_is_refused_without_a_call(#[case] label: &str) {
    let order = RunnerOrder { labels: vec![label.to_owned()], ..order() };
    let grant = Scripted::default().gitea(organization()).mint(&order, &proven(MACHINE), now()).await;
    assert!(matches!(grant.err(), Some(Error::Invalid { what: "the labels", .. })));
}

#[tokio::test]
async fn nobody_but_the_ordered_machine_is_registered() {
    let other = proven("5e3c1b6a-0000-4000-8000-000000000002");
    let grant = Scripted::default().gitea(organization()).mint(&order(), &other, now()).await;
    assert!(matches!(grant.err(), Some(Error::Invalid { what: "the machine", .. })));
}

#[tokio::test]
async fn a_name_is_taken_once_although_gitea_would_take_it_again() {
    let server = Scripted::new([runners(&[runner(3, "hf-0a1b2c3d-one")])]);
    let grant = server.gitea(organization()).mint(&order(), &proven(MACHINE), now()).await;
    assert!(matches!(grant.err(), Some(Error::Conflict { .. })));
    assert_eq!(server.made().len(), 1);
}

#[rstest]
#[case::renewed_meanwhile(500, "runner registration token has been invalidated, please use the latest one", false)]
#[case::nothing_there(500, "runner registration token not found", false)]
#[case::not_made(500, "can't create new runner", false)]
#[case::made_before_it_failed(500, "can't update runner token status", true)]
#[case::a_proxy_gave_up(504, "", true)]
#[case::nobody_there(503, "", false)]
#[tokio::test]
async fn a_registration_that_failed_may_have_happened(#[case] status: u16, #[case] says: &str, #[case] may_have: bool) {
    let refused = (status, json!({ "code": "unknown", "message": says }));
    let server = Scripted::new([no_runners(), token(), refused]);
    let error = server.gitea(organization()).mint(&order(), &proven(MACHINE), now()).await.err().unwrap();
    assert_eq!(matches!(error, Error::UnknownOutcome { .. }), may_have, "{error:?}");
    assert_eq!(matches!(error, Error::Transient { .. }), !may_have, "{error:?}");
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_was_a_registration_all_the_same() {
    let server = Scripted::new([no_runners(), token(), (200, json!({ "runner": {} }))]);
    let error = server.gitea(organization()).mint(&order(), &proven(MACHINE), now()).await.err().unwrap();
    assert!(matches!(error, Error::UnknownOutcome { .. }), "{error:?}");
}

#[tokio::test]
async fn a_lost_registration_is_removed_by_its_name_and_others_are_not() {
    let listed = [runner(3, "hf-0a1b2c3d-one"), runner(4, "hf-0a1b2c3d-one2"), runner(5, "hf-0a1b2c3d-one")];
    let server = Scripted::new([runners(&listed), (204, Value::Null), (204, Value::Null)]);
    assert_eq!(server.gitea(organization()).deregister(&by_name(), Mode::Force).await, Ok(Removal::Gone));
    let removed: Vec<_> =
        server.made().into_iter().skip(1).map(|(method, path, _)| format!("{method} {path}")).collect();
    let path = "DELETE /api/v1/orgs/fleet/actions/runners";
    assert_eq!(removed, [format!("{path}/3"), format!("{path}/5")]);
}

#[tokio::test]
async fn a_runner_that_is_not_there_is_gone_only_while_the_scope_answers() {
    let gone = Scripted::new([missing(), no_runners()]);
    assert_eq!(gone.gitea(organization()).deregister(&known("12"), Mode::Force).await, Ok(Removal::Gone));
    let hidden =
        Scripted::new([missing(), missing()]).gitea(organization()).deregister(&known("12"), Mode::Force).await;
    assert!(matches!(hidden, Err(Error::NotFound { .. })), "{hidden:?}");
}

#[rstest]
#[case::has_a_job(&[7, 12], Removal::Busy)]
#[case::others_have(&[7, 8], Removal::Gone)]
#[tokio::test]
async fn only_a_runner_without_a_job_is_removed_as_an_idle_one(#[case] running: &[u64], #[case] removal: Removal) {
    let drained = (200, runner(12, "hf-0a1b2c3d-one"));
    let mut answers = vec![drained, jobs(running)];
    if removal == Removal::Gone {
        answers.push((204, Value::Null));
    }
    let server = Scripted::new(answers);
    assert_eq!(server.gitea(organization()).deregister(&known("12"), Mode::IfIdle).await, Ok(removal));
    let (method, _, body) = server.made().swap_remove(0);
    assert_eq!((method.as_str(), body), ("PATCH", json!({ "disabled": true })), "it takes no job while we look");
}

#[tokio::test]
async fn before_1_26_it_is_looked_for_among_the_jobs_alone() {
    let server = Scripted::new([(405, Value::Null), jobs(&[12])]);
    assert_eq!(server.gitea(organization()).deregister(&known("12"), Mode::IfIdle).await, Ok(Removal::Busy));
    let error = Scripted::new([(405, Value::Null)]).gitea(organization()).drain(&known("12")).await;
    assert!(matches!(error, Err(Error::Unsupported { .. })), "{error:?}");
}

#[tokio::test]
async fn a_drained_runner_stays_registered() {
    let server = Scripted::new([(200, runner(12, "hf-0a1b2c3d-one"))]);
    assert_eq!(server.gitea(organization()).drain(&known("12")).await, Ok(Removal::Drained));
}

#[tokio::test]
async fn an_id_that_is_no_number_reaches_no_path() {
    let gitea = Scripted::default().gitea(organization());
    let removal = gitea.deregister(&known("../../../repos/fleet/demo"), Mode::Force).await;
    assert!(matches!(removal, Err(Error::Invalid { what: "the runner's id", .. })), "{removal:?}");
}

#[rstest]
#[case("offline", false, RunnerState::Offline)]
#[case("offline", true, RunnerState::Offline)]
#[case("online", true, RunnerState::Busy)]
#[case("online", false, RunnerState::Idle)]
#[tokio::test]
async fn a_runner_is_as_gitea_says(#[case] status: &str, #[case] busy: bool, #[case] state: RunnerState) {
    let mut told = runner(12, "hf-0a1b2c3d-one");
    (told["status"], told["busy"]) = (json!(status), json!(busy));
    assert_eq!(Scripted::new([(200, told.clone())]).gitea(organization()).state(&known("12")).await, Ok(state));
    let marker = Marker::of("0a1b2c3d-0000");
    let listing = Scripted::new([runners(&[told, runner(13, "somebody-s")])]).gitea(organization());
    let listing = listing.registrations(&marker).await.unwrap();
    assert_eq!(listing, Listing { runners: vec![(known("12"), state)], complete: true });
}
