//! The one layer around every Kubernetes call: deadline, span, metric, and a limit on how many there are.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use http_body::Body as HttpBody;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Bytes;
use kube::client::Body;
use reconcile::Bucket;
use tokio::time::Instant;
use tower::{BoxError, Layer, Service};
use tracing::{Instrument, Span, field};

use super::route::Route;
use chassis::Clock;
use chassis::metrics::Metrics;

/// How long calls may take and how many there may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// From sending a request to the last byte of its answer; for a watch, to its first.
    pub deadline: Duration,
    /// Requests a second and requests at once; `None` leaves the pace to the server's own fairness.
    pub rate: Option<(f64, u32)>,
}

impl Default for Limits {
    /// 15 s: the API server ends ordinary requests of its own after 60 s, but one that takes longer than its etcd
    /// timeout of 5 s and three tries will not succeed any more.
    fn default() -> Self {
        Self { deadline: Duration::from_secs(15), rate: None }
    }
}

/// The call did not end within its deadline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no complete answer within {0:?}")]
pub struct Late(pub Duration);

/// A tower layer; see the module.
#[derive(Clone, Debug)]
pub struct Guard {
    deadline: Duration,
    limiter: Option<Arc<Mutex<Bucket>>>,
    clock: Clock,
    metrics: Metrics,
}

impl Guard {
    /// A guard that enforces `limits` and reports to `metrics`.
    pub fn new(limits: Limits, clock: Clock, metrics: Metrics) -> Self {
        let limiter = limits.rate.map(|(rate, burst)| Arc::new(Mutex::new(Bucket::new(rate, burst, clock.now()))));
        Self { deadline: limits.deadline, limiter, clock, metrics }
    }

    /// Waits until the limiter has room.
    async fn admission(&self) {
        let Some(limiter) = &self.limiter else { return };
        loop {
            let room = limiter.lock().unwrap_or_else(PoisonError::into_inner).take(self.clock.now());
            match room {
                Ok(()) => return,
                Err(wait) => tokio::time::sleep(wait).await,
            }
        }
    }
}

impl<S> Layer<S> for Guard {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { inner, guard: self.clone() }
    }
}

/// A service behind a [`Guard`].
#[derive(Clone, Debug)]
pub struct Guarded<S> {
    inner: S,
    guard: Guard,
}

type Answer<B> = Response<Either<Full<Bytes>, B>>;

impl<S, B> Service<Request<Body>> for Guarded<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Answer<B>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Answer<B>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // The instance that was polled ready makes the call; the clone takes its place.
        let spare = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, spare);
        let guard = self.guard.clone();
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let route = Route::of(&method, &uri);
        let span = span_of(&route);
        let (verb, resource, watching) = (route.verb, route.resource.clone(), route.is_watch());
        let call = async move {
            guard.admission().await;
            let started = Instant::now();
            let outcome = match tokio::time::timeout(guard.deadline, answer(inner.call(request), watching)).await {
                Ok(outcome) => outcome,
                Err(_elapsed) => Err(Late(guard.deadline).into()),
            };
            let code =
                outcome.as_ref().map_or_else(|_| "error".to_owned(), |answer| answer.status().as_str().to_owned());
            Span::current().record("code", code.as_str());
            if outcome.as_ref().map_or(true, |answer| answer.status().is_server_error()) {
                Span::current().record("otel.status_code", "ERROR");
            }
            guard.metrics.kube_request(verb, &resource, &code, started.elapsed());
            outcome
        };
        Box::pin(call.instrument(span))
    }
}

fn span_of(route: &Route<'_>) -> Span {
    tracing::info_span!(
        "kube",
        otel.name = format!("{} {}", route.verb, route.resource),
        otel.kind = "client",
        otel.status_code = field::Empty,
        verb = route.verb,
        resource = route.resource,
        target_namespace = route.namespace,
        target_name = route.name,
        code = field::Empty,
    )
}

/// The whole answer, read to its end; or, for a watch, its head with the stream behind it.
async fn answer<F, B, E>(call: F, watching: bool) -> Result<Answer<B>, BoxError>
where
    F: Future<Output = Result<Response<B>, E>>,
    E: Into<BoxError>,
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let response = call.await.map_err(Into::into)?;
    // A refused watch is an ordinary answer.
    if watching && response.status().is_success() {
        return Ok(response.map(Either::Right));
    }
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.map_err(Into::into)?.to_bytes();
    Ok(Response::from_parts(head, Either::Left(Full::new(bytes))))
}

#[cfg(test)]
mod tests;
