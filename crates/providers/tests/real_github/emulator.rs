//! The scale-set service as the crate `scaleset` emulates it, which nobody here wrote.

use std::process::Command;

use http::Method;
use providers::platform::github::{Credentials, GitHub, Scope};
use providers::platform::{
    Bucket, Error, JobResult, JobState, Mode, Platform as _, Removal, Runner, Session as _, Statistics,
};
use serde_json::{Value, json};
use sim::github::{AppKey, CLIENT_ID, INSTALLATION_ID, PERSONAL_TOKEN};

use crate::ground::{Ground, Wishes, news, order, proven, queue, tool};

struct Emulator(Ground);

impl Emulator {
    async fn start() -> Self {
        let mut command = Command::new(tool("scaleset-oracle"));
        command.arg("emulator").env("GITHUB_TOKEN", PERSONAL_TOKEN);
        command.env("GITHUB_INSTALLATION", INSTALLATION_ID.to_string());
        Self(Ground::start(&command, "scale sets at ").await)
    }

    fn github(&self, credentials: Credentials, group: Option<&'static str>) -> GitHub {
        let wishes = Wishes { sessions: true, group, ..Wishes::default() };
        self.0.github(&self.0.web, Scope::Organization("org".to_owned()), credentials, wishes)
    }

    fn token(&self) -> GitHub {
        self.github(Credentials::Token(PERSONAL_TOKEN.into()), None)
    }

    async fn tell(&self, path: &str, body: Value) -> Value {
        self.0.control(Method::POST, &format!("/_emulator/{path}"), &body).await
    }

    async fn state(&self) -> Value {
        self.0.control(Method::GET, "/_emulator/state", &Value::Null).await
    }

    /// Something fails once from now on.
    async fn fault(&self, endpoint: &str, response: Value) {
        self.tell("faults", json!({ "endpoint": endpoint, "response": response, "times": 1 })).await;
    }
}

fn app() -> Credentials {
    Credentials::App { id: CLIENT_ID.to_owned(), key: AppKey::shared().pem().into(), installation: INSTALLATION_ID }
}

#[tokio::test]
async fn r5_4_a_job_of_the_emulated_service_is_taken_run_and_told_of() {
    let emulator = Emulator::start().await;
    let github = emulator.github(app(), None);
    let mut session = github.open_session(&queue("pool", "one")).await.unwrap();
    assert_eq!(session.statistics(), Statistics::default());
    let taken = emulator.token().open_session(&queue("pool", "two")).await.map(drop).unwrap_err();
    assert!(matches!(taken, Error::Conflict { .. }), "{taken}");
    let set = emulator.state().await["scaleSets"][0]["id"].clone();

    let job =
        emulator.tell("jobs", json!({ "scaleSetId": set, "labels": ["pool"] })).await["runnerRequestId"].to_string();
    let told = news(&mut session).await;
    assert_eq!((told.jobs[0].state, told.statistics), (JobState::Queued, Some(Statistics { jobs: 1, running: 0 })));
    assert_eq!(
        (told.jobs[0].repository.as_deref(), &told.jobs[0].labels),
        (Some("org/repo"), &vec!["pool".to_owned()])
    );

    let order = order(1, Some(queue("pool", "one")));
    let machine = proven(&order.machine);
    let mint = || github.mint(&order, &machine, jiff::Timestamp::UNIX_EPOCH);
    let runner = mint().await.unwrap().runner;
    let twice = mint().await.map(drop).unwrap_err();
    assert!(matches!(twice, Error::Conflict { .. }), "{twice}");
    emulator.tell(&format!("jobs/{job}/start"), json!({ "runnerName": order.name })).await;
    let begun = news(&mut session).await;
    assert_eq!((begun.jobs[0].state, begun.jobs[0].runner.as_deref()), (JobState::Running, Some(order.name.as_str())));
    assert_eq!((&begun.jobs[0].key, begun.statistics), (&told.jobs[0].key, Some(Statistics { jobs: 1, running: 1 })));
    assert_eq!(github.deregister(&runner, Mode::IfIdle).await, Ok(Removal::Busy));
    emulator.tell(&format!("jobs/{job}/complete"), json!({ "result": "failed" })).await;
    let ended = news(&mut session).await;
    assert_eq!(ended.jobs[0].state, JobState::Done(JobResult::Failed));
    assert_eq!(github.deregister(&runner, Mode::IfIdle).await, Ok(Removal::Gone));
    session.close().await.unwrap();
    let state = emulator.state().await;
    assert_eq!((&state["sessions"], &state["unacknowledged"]), (&json!([]), &json!({})), "nothing is left unread");
}

#[tokio::test]
async fn r5_4_tokens_and_sessions_that_end_at_the_emulated_service_are_renewed_or_said_to_be_lost() {
    let emulator = Emulator::start().await;
    let github = emulator.token();
    let mut session = github.open_session(&queue("pool", "one")).await.unwrap();
    let set = emulator.state().await["scaleSets"][0]["id"].to_string();
    emulator.tell(&format!("expire/queue-token/{set}"), Value::Null).await;
    emulator.tell("expire/admin-tokens", Value::Null).await;
    assert_eq!(session.next(1).await.unwrap().message, None, "both tokens are new");
    emulator.fault("getMessage", json!({ "kind": "status", "status": 503 })).await;
    assert!(matches!(session.next(1).await, Err(Error::Transient { .. })));
    emulator
        .fault("getMessage", json!({ "kind": "rateLimit", "status": 429, "retryAfterSecs": 7, "primary": false }))
        .await;
    let limited = session.next(1).await.unwrap_err();
    assert!(matches!(limited, Error::RateLimited { bucket: Bucket::Burst, wait } if wait.as_secs() == 7), "{limited}");
    emulator.tell(&format!("expire/session/{set}"), Value::Null).await;
    let lost = session.next(1).await.unwrap_err();
    assert!(matches!(lost, Error::NotFound { .. }), "{lost}");
    let session = github.open_session(&queue("pool", "one")).await.unwrap();
    session.close().await.unwrap();
}

#[tokio::test]
async fn r5_2_scale_sets_of_the_emulated_service_are_made_in_their_group_and_runners_found_by_name() {
    let emulator = Emulator::start().await;
    let nobody = emulator.github(app(), Some("nobody's")).open_session(&queue("pool", "one")).await.map(drop);
    assert!(nobody.as_ref().is_err_and(|error| error.to_string().contains("nobody's")), "{nobody:?}");
    let github = emulator.github(app(), Some("trusted"));
    github.open_session(&queue("pool", "one")).await.unwrap().close().await.unwrap();
    let made = emulator.state().await["scaleSets"][0].clone();
    assert_eq!((&made["runnerGroupId"], &made["RunnerSetting"]["disableUpdate"]), (&json!(2), &json!(true)));
    assert_eq!(made["labels"], json!([{ "name": "pool", "type": "System" }]));

    let order = order(1, Some(queue("pool", "one")));
    github.mint(&order, &proven(&order.machine), jiff::Timestamp::UNIX_EPOCH).await.map(drop).unwrap();
    let unnumbered = Runner { name: order.name.clone(), id: None };
    assert_eq!(github.deregister(&unnumbered, Mode::IfIdle).await, Ok(Removal::Gone));
    assert_eq!(emulator.state().await["runners"], json!([]));
    assert_eq!(github.deregister(&unnumbered, Mode::IfIdle).await, Ok(Removal::Gone), "once more");
}
