//! One HTTP/1.1 client over a tower service.
//!
//! [`Client::connect`] talks to an [`Endpoint`] over hyper and rustls; [`Client::over`] takes any service in process,
//! which is how a simulator stands in for the network and how whole operators run in virtual time. Either way a call
//! has a deadline, a span and an entry in the [`Meter`], keeps the server's reason phrase, and follows no redirect.

mod address;
mod connect;
mod error;
mod fingerprint;
mod meter;
mod record;
mod trust;
mod validity;

use std::sync::Arc;
use std::time::Duration;

use ::http::header::LOCATION;
use ::http::uri::{Authority, PathAndQuery, Scheme};
use ::http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::ext::ReasonPhrase;
use reconcile::Class;
use tokio::time::Instant;
use tower::util::{BoxCloneSyncService, ServiceExt};
use tower::{BoxError, Service};
use tracing::{Instrument, Span, field};

pub use address::{AddressPolicy, AddressRefused, Cidr, CidrError};
pub use connect::{ConnectError, Endpoint, EndpointError, Shown};
pub use error::TransportError;
pub use fingerprint::{Fingerprint, FingerprintError};
pub use meter::{Failure, Meter, Observation, Unmetered};
pub use record::{Exchange, Recorder};
pub use trust::Trust;

/// How long an ordinary call may take: above the 30 s after which a proxying server gives up, so that its answer wins.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(35);
/// How long a probe may take.
pub const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// What carries requests: anything that takes a whole request and gives a whole answer.
pub type Transport = BoxCloneSyncService<Request<Full<Bytes>>, Response<Full<Bytes>>, TransportError>;

/// A client of one endpoint; cloning shares its connections.
#[derive(Clone)]
pub struct Client {
    transport: Transport,
    scheme: Scheme,
    authority: Authority,
    provider: &'static str,
    meter: Arc<dyn Meter>,
    recorder: Option<Arc<dyn Recorder>>,
}

/// One request, with what spans and metrics may say about it.
///
/// Not `Debug`: headers and bodies carry secrets.
pub struct Call {
    /// The verb.
    pub method: Method,
    /// The path with placeholders, for spans and metrics (`/nodes/{node}/status`).
    pub route: &'static str,
    /// What the call is about, for people who read traces (`VM 101`); no secret.
    pub subject: String,
    /// Path and query as sent, percent-encoded.
    pub path: String,
    /// Headers beside those of the transport.
    pub headers: HeaderMap,
    /// The whole body; its length is sent, never chunks.
    pub body: Bytes,
    /// From sending to the last byte of the answer.
    pub timeout: Duration,
}

/// The whole answer to a call.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The reason phrase as the server worded it.
    pub reason: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Client {
    /// A client that connects to `endpoint` when there is something to send. `provider` names it in spans and metrics.
    pub fn connect(provider: &'static str, endpoint: &Endpoint) -> Result<Self, ConnectError> {
        let (scheme, authority) = endpoint.origin();
        let transport = connect::transport(endpoint)?;
        Ok(Self { transport, scheme, authority, provider, meter: Arc::new(Unmetered), recorder: None })
    }

    /// A client whose calls go to `service` in this process. An error that is a [`TransportError`] reaches the caller
    /// as it is; any other counts as an interrupted connection.
    pub fn over<S>(provider: &'static str, service: S) -> Self
    where
        S: Service<Request<Full<Bytes>>, Response = Response<Full<Bytes>>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
    {
        let transport = BoxCloneSyncService::new(service.map_err(TransportError::from_service));
        let authority = Authority::from_static("in.process");
        Self { transport, scheme: Scheme::HTTP, authority, provider, meter: Arc::new(Unmetered), recorder: None }
    }

    /// The same client, reporting every call to `meter`.
    #[must_use]
    pub fn metered(mut self, meter: Arc<dyn Meter>) -> Self {
        self.meter = meter;
        self
    }

    /// The same client, with every call and its answer written down by `recorder`.
    #[must_use]
    pub fn recorded(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Host and port that calls go to.
    pub fn authority(&self) -> &str {
        self.authority.as_str()
    }

    /// Reports that a call which was made here failed, and how to go on.
    pub fn failed(&self, method: &Method, route: &'static str, class: Class) {
        self.meter.failed(&Failure { provider: self.provider, method, route, class });
    }

    /// Makes one call and reads its whole answer. Any status but a redirect is an answer.
    pub async fn send(&self, call: Call) -> Result<Answer, TransportError> {
        let (method, route) = (call.method.clone(), call.route);
        let span = tracing::info_span!(
            "http",
            otel.name = format!("{method} {route}"),
            otel.kind = "client",
            otel.status_code = field::Empty,
            provider = self.provider,
            server = self.authority.as_str(),
            method = method.as_str(),
            route,
            subject = call.subject,
            status = field::Empty,
        );
        let copy = self
            .recorder
            .as_ref()
            .map(|recorder| (recorder, call.path.clone(), call.headers.clone(), call.body.clone()));
        let started = Instant::now();
        let outcome = self.exchange(call).instrument(span.clone()).await;
        note(&span, &outcome);
        let word = match &outcome {
            Ok(answer) => answer.status.as_str(),
            Err(error) => error.as_str(),
        };
        let (provider, elapsed) = (self.provider, started.elapsed());
        if let Some((recorder, path, headers, body)) = copy {
            let (method, outcome) = (&method, outcome.as_ref());
            recorder.record(&Exchange { method, path: &path, headers: &headers, body: &body, outcome, elapsed });
        }
        self.meter.observe(&Observation { provider, method: &method, route, outcome: word, elapsed });
        outcome
    }

    async fn exchange(&self, call: Call) -> Result<Answer, TransportError> {
        let path = PathAndQuery::try_from(call.path).map_err(|_| TransportError::Unsendable)?;
        let uri = Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone()).path_and_query(path);
        let mut request = Request::new(Full::new(call.body));
        *request.method_mut() = call.method;
        *request.uri_mut() = uri.build().map_err(|_| TransportError::Unsendable)?;
        *request.headers_mut() = call.headers;
        let response = tokio::time::timeout(call.timeout, self.transport.clone().oneshot(request));
        let response = response.await.map_err(|_elapsed| TransportError::TimedOut { after: call.timeout })??;
        let (head, body) = response.into_parts();
        // What has not changed since the caller last saw it leads nowhere else.
        if head.status.is_redirection() && head.status != StatusCode::NOT_MODIFIED {
            return Err(TransportError::Redirected { status: head.status, location: location(&head.headers) });
        }
        let reason = reason(&head);
        let body = body.collect().await.map_or_else(|never| match never {}, http_body_util::Collected::to_bytes);
        Ok(Answer { status: head.status, reason, headers: head.headers, body })
    }
}

fn note(span: &Span, outcome: &Result<Answer, TransportError>) {
    match outcome {
        Ok(answer) => {
            span.record("status", answer.status.as_u16());
            if answer.status.is_server_error() {
                span.record("otel.status_code", "ERROR");
            }
        }
        Err(error) => {
            span.record("status", error.as_str());
            span.record("otel.status_code", "ERROR");
        }
    }
}

/// The phrase of the status line; hyper keeps it apart only where it differs from the usual one.
fn reason(head: &::http::response::Parts) -> String {
    let own = head.extensions.get::<ReasonPhrase>().map(|phrase| String::from_utf8_lossy(phrase.as_bytes()));
    own.map_or_else(|| head.status.canonical_reason().unwrap_or_default().to_owned(), std::borrow::Cow::into_owned)
}

/// Where a redirect points, without the query, which may hold secrets.
fn location(headers: &HeaderMap) -> String {
    let target = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("nowhere");
    target.split(['?', '#']).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
