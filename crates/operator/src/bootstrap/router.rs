//! The service's paths.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use protocol::{LONGEST_BODY, path};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::denial::Denial;
use super::requests::Step;
use super::{Bootstrap, Peer};

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// The service over HTTP. Every request must carry a [`Peer`] among its extensions.
pub fn router(service: &Bootstrap) -> Router {
    Router::new()
        .route(&path::no_cloud("{name}", "{file}"), get(seed))
        .route(&path::start("{id}"), post(start))
        .route(&path::beacon("{id}"), post(beacon))
        .route(path::LEASE, post(lease))
        .route(path::STATUS, post(status))
        .with_state(service.clone())
}

type Service = State<Bootstrap>;

async fn seed(State(service): Service, Path((name, file)): Path<(String, String)>, peer: Extension<Peer>) -> Response {
    let answer = service.seed(&name, &file, &peer).await;
    service.note(Step::Seed, &peer, &answer);
    answer.map_or_else(Denial::into_response, |text| plain(StatusCode::OK, "text/plain; charset=utf-8", text))
}

async fn start(State(service): Service, Path(id): Path<String>, peer: Extension<Peer>, request: Request) -> Response {
    let answer = async { service.start(&id, &body(request).await?, &peer).await };
    reply(&service, Step::Start, &peer, answer.await)
}

async fn beacon(State(service): Service, Path(id): Path<String>, peer: Extension<Peer>, request: Request) -> Response {
    let answer = async { service.beacon(&id, &body(request).await?, &peer).await };
    reply(&service, Step::Beacon, &peer, answer.await.map(|()| Nothing {}))
}

async fn lease(State(service): Service, peer: Extension<Peer>) -> Response {
    let answer = service.lease(&peer).await;
    reply(&service, Step::Lease, &peer, answer)
}

async fn status(State(service): Service, peer: Extension<Peer>, request: Request) -> Response {
    let answer = async { service.report(&body(request).await?, &peer).await };
    reply(&service, Step::Status, &peer, answer.await.map(|()| Nothing {}))
}

/// An answer that says no more than yes.
#[derive(Serialize)]
struct Nothing {}

fn reply<T: Serialize>(service: &Bootstrap, step: Step, peer: &Peer, answer: Result<T, Denial>) -> Response {
    service.note(step, peer, &answer);
    match answer {
        Ok(answer) => json(StatusCode::OK, &answer),
        Err(denial) => denial.into_response(),
    }
}

/// Everything a request says, if it is not too much, comes soon enough and can be read.
async fn body<T: DeserializeOwned>(request: Request) -> Result<T, Denial> {
    let bytes = match timeout(PATIENCE, Limited::new(request.into_body(), LONGEST_BODY).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(Denial::TooLong),
        Ok(Err(_broken)) => return Err(Denial::Malformed),
        Err(_elapsed) => return Err(Denial::TooSlow),
    };
    // What is wrong with it is not told: the text could repeat a token.
    serde_json::from_slice(&bytes).map_err(|_| Denial::Malformed)
}

pub(super) fn json(code: StatusCode, answer: &impl Serialize) -> Response {
    let text = serde_json::to_string(answer).expect("answers are plain values with string keys");
    plain(code, "application/json", text)
}

fn plain(code: StatusCode, kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
