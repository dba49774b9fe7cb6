//! What was recorded at a real Gitea, delivered in any order and as often as it likes, beside its list of jobs.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use api::{JobResult, JobState, RunnerJob};
use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use serde_json::{Value, json};
use sim::world::{Nature, World};

use crate::office::{HOOK, Office, POOLS, signed};

const QUEUED: &str = include_str!("../../../providers/src/platform/gitea/recorded/queued.repo.json");
const QUEUED_ORG: &str = include_str!("../../../providers/src/platform/gitea/recorded/queued.org.json");
const RUNNING: &str = include_str!("../../../providers/src/platform/gitea/recorded/in_progress.repo.json");
const RUNNING_ORG: &str = include_str!("../../../providers/src/platform/gitea/recorded/in_progress.org.json");
const ENDED: &str = include_str!("../../../providers/src/platform/gitea/recorded/completed.repo.json");
const ENDED_ORG: &str = include_str!("../../../providers/src/platform/gitea/recorded/completed.org.json");
const BLOCKED: &str = include_str!("../../../providers/src/platform/gitea/recorded/waiting.repo.json");
const CANCELLED: &str =
    include_str!("../../../providers/src/platform/gitea/recorded/completed-cancelled-queued.repo.json");

/// What Gitea has: its jobs, in the words of its API.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<Vec<Value>>>);

impl Server {
    /// From now on these are all the jobs there are, as these deliveries tell of them.
    fn has(&self, deliveries: &[&str]) {
        let job = |text: &&str| serde_json::from_str::<Value>(text).unwrap()["workflow_job"].clone();
        *self.0.lock().unwrap() = deliveries.iter().map(job).collect();
    }

    fn answer(&self, path: &str) -> Option<Value> {
        let jobs = self.0.lock().unwrap().clone();
        if let Some((_, id)) = path.split_once("/actions/jobs/") {
            return jobs.into_iter().find(|job| id.parse().is_ok_and(|id: u64| job["id"] == id));
        }
        Some(match path {
            "/api/v1/version" => json!({ "version": "1.26.2" }),
            "/api/v1/orgs/fleet/actions/runners/registration-token" => json!({ "token": "t" }),
            "/api/v1/orgs/fleet/actions/runners" => json!({ "runners": [], "total_count": 0 }),
            "/api/v1/repos/search" => json!({ "data": [] }),
            "/api/v1/repos/fleet/demo" => json!({ "private": false, "internal": false }),
            "/api/v1/orgs/fleet/actions/jobs" => {
                let open: Vec<Value> = jobs.into_iter().filter(|job| job["status"] != "completed").collect();
                json!({ "total_count": open.len(), "jobs": open })
            }
            _ => return None,
        })
    }
}

struct Gitea {
    office: Office,
    server: Server,
    path: String,
}

impl Gitea {
    /// A source that is polled as often as this, with a pool that serves what was recorded.
    async fn polling(world: &World, interval: &str) -> Self {
        let server = Server::default();
        let behind = server.clone();
        let service = tower::service_fn(move |request: Request<Full<Bytes>>| {
            let answer = behind.answer(request.uri().path());
            let status = if answer.is_some() { 200 } else { 404 };
            let body = Full::new(Bytes::from(answer.unwrap_or_default().to_string()));
            async move { Ok::<_, Infallible>(Response::builder().status(status).body(body).unwrap()) }
        });
        world.serve("gitea", Nature::Other, service);
        let office = Office::new(world, &["operator", "replica"]).await;
        office.secret("ci", "token-of-gitea").await;
        let of_gitea = |object: &mut Value| {
            let credentials = json!({ "token": { "name": "ci", "key": "token" } });
            object["spec"]["platform"] = "gitea".into();
            object["spec"]["url"] = "https://git.example.com".into();
            object["spec"]["gitea"] = json!({ "scope": { "organization": "fleet" }, "credentials": credentials });
            object["spec"]["demand"]["pollInterval"] = interval.into();
            object["spec"].as_object_mut().unwrap().remove("github");
        };
        office.source("ci", "webhook", of_gitea).await;
        office.pool("linux", &["hyperfleet"]).await;
        let trusting = json!({ "spec": { "trust": { "publicRepositories": true } } });
        office.person.merge(&format!("{POOLS}/linux"), &trusting).await.unwrap();
        office.pass(30).await;
        let path = office.path().await;
        Self { office, server, path }
    }

    /// Delivers to one of the replicas, as Gitea does: once.
    async fn deliver(&self, replica: usize, body: &str) {
        let name = ["operator", "replica"][replica % 2];
        assert_eq!(self.office.doors.knock(name, delivery(&self.path, body)).await, 202);
    }

    /// Every `RunnerJob`: how far it is and how it ended.
    async fn jobs(&self) -> Vec<(JobState, Option<JobResult>)> {
        let of = |job: &RunnerJob| {
            let status = job.status.clone().unwrap_or_default();
            (status.state.unwrap_or(JobState::Queued), status.result)
        };
        let mut jobs = self.office.jobs().await;
        jobs.sort_by_key(|job| job.metadata.creation_timestamp.clone());
        jobs.iter().map(of).collect()
    }
}

fn delivery(path: &str, body: &str) -> Request<Body> {
    let request = Request::post(path)
        .header("content-type", "application/json")
        .header("x-gitea-event", "workflow_job")
        .header("x-gitea-signature", signed(HOOK, body))
        // What it sends for the sake of others.
        .header("x-github-event", "workflow_job")
        .header("x-hub-signature-256", format!("sha256={}", signed(HOOK, body)));
    request.body(Body::from(Bytes::from(body.to_owned()))).unwrap()
}

const SUCCEEDED: (JobState, Option<JobResult>) = (JobState::Completed, Some(JobResult::Succeeded));

#[test]
fn each_job_that_was_recorded_is_one_object_however_its_deliveries_are_ordered_and_doubled() {
    let life = [QUEUED, QUEUED_ORG, RUNNING, RUNNING_ORG, ENDED, ENDED_ORG, BLOCKED, CANCELLED];
    for seed in 0..24 {
        World::run(seed, async |world| {
            let gitea = Gitea::polling(&world, "1h").await;
            // What the API says by then: of these events the last has happened.
            gitea.server.has(&[ENDED, BLOCKED, CANCELLED]);
            let mut dice = world.dice("order");
            for number in 0..24 {
                let body = life[dice.below(life.len())];
                gitea.deliver(number, body).await;
                gitea.office.pass(1).await;
            }
            for (number, body) in life.into_iter().enumerate() {
                gitea.deliver(number, body).await;
            }
            gitea.office.pass(5).await;
            let jobs = gitea.jobs().await;
            assert!(jobs.len() <= 1, "one was cancelled before anybody saw it, one is blocked: {jobs:?}");
            assert!(jobs.iter().all(|job| *job == SUCCEEDED), "{jobs:?}");
        });
    }
}

#[test]
fn a_recorded_job_seen_by_hook_and_poll_is_one_object_and_its_rerun_another() {
    World::run(1, async |world| {
        let gitea = Gitea::polling(&world, "5s").await;
        for (bodies, state) in [
            ([QUEUED, QUEUED_ORG], JobState::Queued),
            ([RUNNING, RUNNING_ORG], JobState::Running),
            ([ENDED, ENDED_ORG], JobState::Completed),
        ] {
            gitea.server.has(&bodies[..1]);
            gitea.office.pass(6).await;
            gitea.deliver(0, bodies[0]).await;
            gitea.deliver(1, bodies[1]).await;
            gitea.office.pass(6).await;
            let jobs = gitea.jobs().await;
            assert_eq!(jobs.iter().map(|job| job.0).collect::<Vec<_>>(), [state]);
        }
        // Run again, it has the same number, and still the attempt before.
        gitea.server.has(&[QUEUED]);
        gitea.deliver(0, QUEUED).await;
        gitea.deliver(1, QUEUED_ORG).await;
        gitea.office.pass(12).await;
        assert_eq!(gitea.jobs().await, [SUCCEEDED, (JobState::Queued, None)]);
        gitea.server.has(&[ENDED]);
        gitea.office.pass(12).await;
        assert_eq!(gitea.jobs().await, [SUCCEEDED, SUCCEEDED]);
        gitea.deliver(0, QUEUED).await;
        gitea.office.pass(12).await;
        assert_eq!(gitea.jobs().await.len(), 2, "a delivery that was late");
    });
}
