//! The calls under `/sim/`.

use std::sync::PoisonError;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{FaultRule, view};
use crate::github::fixture::{HOOK_SECRET, REPOSITORY};
use crate::github::front::Place;
use crate::github::hook::{HookOwner, HookWeather, Receiver};
use crate::github::model::{JobSpec, Scope};
use crate::github::world::World;

type Verdict = Result<Value, (StatusCode, String)>;

/// Answers a call under `/sim/`.
pub(crate) fn answer(world: &World, request: &Request<Bytes>, place: Place) -> Response<Full<Bytes>> {
    let verdict = match place {
        Place::Near => act(world, request),
        Place::Far => Err((StatusCode::FORBIDDEN, "/sim/ is only served on a loopback address".to_owned())),
    };
    let (status, body) = match verdict {
        Ok(body) => (StatusCode::OK, body),
        Err((status, error)) => (status, json!({ "error": error })),
    };
    let mut response = Response::new(Full::new(Bytes::from(format!("{body}\n"))));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A run to queue.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Queue {
    #[serde(default)]
    repository: Option<String>,
    jobs: Vec<JobSpec>,
}

/// A hook to make.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewHook {
    url: String,
    /// `app`, or the page of a repository, organisation or enterprise.
    owner: String,
    #[serde(default)]
    secret: Option<String>,
}

fn act(world: &World, request: &Request<Bytes>) -> Verdict {
    let parts: Vec<&str> = request.uri().path().split('/').filter(|part| !part.is_empty()).skip(1).collect();
    let number = |text: &str| text.parse::<u64>().map_err(|_| bad(format!("'{text}' is not a number")));
    match (request.method().as_str(), parts.as_slice()) {
        ("GET", ["state"]) => Ok(view::state(world)),
        ("GET", ["history"]) => Ok(view::history(world)),
        ("GET", ["calls"]) => Ok(view::calls(world)),
        ("GET", ["faults"]) => {
            let faults = world.faults.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(json!(faults.rules.iter().map(|(rule, seen)| json!({ "rule": rule, "seen": seen })).collect::<Vec<_>>()))
        }
        ("PUT", ["faults"]) => {
            let rules: Vec<FaultRule> = read(request)?;
            let count = rules.len();
            world.set_faults(rules);
            Ok(json!({ "faults": count }))
        }
        ("PUT", ["weather"]) => {
            let weather: HookWeather = read(request)?;
            *world.weather.lock().unwrap_or_else(PoisonError::into_inner) = weather;
            Ok(json!(weather))
        }
        ("POST", ["runs"]) => queue(world, read(request)?),
        ("POST", ["runs", run, "cancel"]) => {
            let run = number(run)?;
            let cancelled = world.cancel_run(&mut world.state(), run).is_ok();
            Ok(json!({ "cancelled": cancelled }))
        }
        ("POST", ["jobs", job, "approve"]) => Ok(json!({ "approved": world.approve(number(job)?) })),
        ("POST", ["hooks"]) => add_hook(world, read(request)?),
        (verb, _) => {
            let known = "GET state|history|calls|faults, PUT faults|weather, POST runs, runs/{id}/cancel, jobs/{id}/approve, hooks";
            let path = request.uri().path();
            Err((StatusCode::NOT_FOUND, format!("{verb} {path} does not exist; there are, under /sim/: {known}")))
        }
    }
}

fn queue(world: &World, Queue { repository, jobs }: Queue) -> Verdict {
    let queued = world.queue(repository.as_deref().unwrap_or(REPOSITORY), &jobs, false);
    let (run, jobs) = queued.ok_or_else(|| bad("there is no such repository"))?;
    Ok(json!({ "run": run, "jobs": jobs }))
}

fn add_hook(world: &World, NewHook { url, owner, secret }: NewHook) -> Verdict {
    let owner = match owner.as_str() {
        "app" => HookOwner::App,
        page => HookOwner::Of(Scope::of_page(page).ok_or_else(|| bad("'app', or a page, owns a hook"))?),
    };
    let secret = secret.unwrap_or_else(|| HOOK_SECRET.to_owned());
    Ok(json!({ "hook": world.add_hook(owner, &url, &secret, Receiver::Network) }))
}

fn bad(why: impl Into<String>) -> (StatusCode, String) {
    (StatusCode::BAD_REQUEST, why.into())
}

fn read<T: serde::de::DeserializeOwned>(request: &Request<Bytes>) -> Result<T, (StatusCode, String)> {
    serde_json::from_slice(request.body()).map_err(|error| bad(format!("the body is not what is wanted: {error}")))
}
