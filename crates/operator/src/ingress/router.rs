//! The ingress's one path.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api::RunnerSource;
use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use providers::platform::{Hint, Job, JobState};
use runtime::{Cache, Entry, Key, Parts};
use tokio::time::timeout;

use super::deliveries::Deliveries;
use super::refusal::Refusal;
use crate::outpost::{Intake, Outpost, Outposts, Seen, Taken};

/// No delivery that we care about is larger: they have some 20 KiB.
pub(crate) const LONGEST_BODY: usize = 1 << 20;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long storing may take: platforms wait ten seconds for an answer, or five.
const STORING: Duration = Duration::from_millis(4_500);

/// Hears deliveries; clones are the same one.
#[derive(Clone)]
pub struct Ingress(Arc<Inner>);

struct Inner {
    outposts: Outposts,
    intake: Intake,
    ids: Arc<Mutex<BTreeMap<String, (Key, &'static str)>>>,
    deliveries: Deliveries,
}

impl Ingress {
    /// Hears deliveries for `sources`.
    pub fn new(outposts: &Outposts, intake: &Intake, sources: &Cache<RunnerSource>, parts: &Parts) -> Self {
        let ids: Arc<Mutex<BTreeMap<String, (Key, &'static str)>>> = Arc::default();
        let follower = Arc::clone(&ids);
        sources.subscribe(move |change| {
            let mut ids = follower.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(id) = change.before.and_then(Entry::readable).and_then(path) {
                ids.remove(&id);
            }
            if let Some(source) = change.after.and_then(Entry::readable)
                && let Some(id) = path(source)
            {
                ids.insert(id, (change.key.clone(), source.spec.platform.as_str()));
            }
            true
        });
        let deliveries = Deliveries::new(&parts.metrics);
        Self(Arc::new(Inner { outposts: outposts.clone(), intake: intake.clone(), ids, deliveries }))
    }

    /// A delivery has come in whole.
    async fn hear(&self, path: &str, head: &axum::http::HeaderMap, body: &Bytes) -> Result<(), Refusal> {
        let found = self.0.ids.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        let Some((source, platform)) = found else { return Err(self.refuse("none", Refusal::Unknown)) };
        // Whoever knows the id may know that we cannot tell yet whom to believe.
        let outpost = self.0.outposts.get(&source);
        let Some(outpost) = outpost else { return Err(self.refuse(platform, Refusal::Unavailable)) };
        let hints = outpost.receive(head, body).map_err(|why| self.refuse(platform, Refusal::Rejected(why)))?;
        for hint in &hints {
            self.heed(&source, platform, &outpost, hint).await?;
        }
        Ok(())
    }

    async fn heed(&self, source: &Key, platform: &'static str, outpost: &Outpost, hint: &Hint) -> Result<(), Refusal> {
        let (action, result) = match hint {
            Hint::Job(job) => (action(job), self.store(source, outpost, job).await),
            Hint::Look => {
                outpost.look();
                ("look", Ok("noticed"))
            }
            Hint::Ignored(why) => (*why, Ok("ignored")),
            Hint::Unreadable => ("none", Err(Refusal::Unreadable)),
        };
        self.0.deliveries.count(platform, action, result.unwrap_or_else(Refusal::as_str));
        result.map(drop)
    }

    async fn store(&self, source: &Key, outpost: &Outpost, job: &Job) -> Result<&'static str, Refusal> {
        let seen = Seen { source, outpost, job, certain: false, queue: None };
        match timeout(STORING, self.0.intake.take(seen)).await {
            Ok(Ok(Taken::New)) => Ok("new"),
            Ok(Ok(Taken::Moved)) => Ok("moved"),
            Ok(Ok(Taken::Known)) => Ok("known"),
            Ok(Err(fault)) => {
                chassis::telemetry::report(&fault);
                Err(Refusal::Unavailable)
            }
            Err(_elapsed) => Err(Refusal::Unavailable),
        }
    }

    fn refuse(&self, platform: &'static str, why: Refusal) -> Refusal {
        self.0.deliveries.count(platform, "none", why.as_str());
        why
    }
}

/// Where a source's platform delivers.
fn path(source: &RunnerSource) -> Option<String> {
    fleet::source::webhook_path(source)
}

/// What a delivery tells of a job, in a word for metrics.
const fn action(job: &Job) -> &'static str {
    match job.state {
        JobState::Blocked => "blocked",
        JobState::Queued => "queued",
        JobState::Assigned => "assigned",
        JobState::Running => "running",
        JobState::Done(_) => "done",
    }
}

/// The ingress over HTTP.
pub fn router(ingress: &Ingress) -> Router {
    Router::new().route("/webhooks/{id}", post(deliver)).with_state(ingress.clone())
}

async fn deliver(State(ingress): State<Ingress>, Path(id): Path<String>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let answer = match timeout(PATIENCE, Limited::new(body, LONGEST_BODY).collect()).await {
        Ok(Ok(body)) => ingress.hear(&format!("/webhooks/{id}"), &head.headers, &body.to_bytes()).await,
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(ingress.refuse("none", Refusal::TooLong)),
        Ok(Err(_broken)) => Err(ingress.refuse("none", Refusal::Broken)),
        Err(_elapsed) => Err(ingress.refuse("none", Refusal::TooSlow)),
    };
    answer.map_or_else(Refusal::into_response, |()| StatusCode::ACCEPTED.into_response())
}
