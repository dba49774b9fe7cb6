//! The server as a `tower::Service`: what a `kube::Client`, a simulator's network or a listener talks to.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, request};
use http_body::Body as HttpBody;
use http_body_util::{BodyExt, Limited};
use tokio::time::timeout;
use tower::Service;

use super::{ApiServer, Caller, refuse};
use crate::answer::Body;
use crate::failure::Failure;
use crate::route::Route;

/// The largest body that is read, as on the real server.
const LARGEST: usize = 3 * 1024 * 1024;

/// How long a body may take over the network; the largest is here in that time at 100 kB/s.
const PATIENCE: Duration = Duration::from_secs(30);

/// A service over one server, for one caller or for all.
#[derive(Clone)]
pub struct Door {
    server: ApiServer,
    caller: Caller,
}

impl Door {
    pub(super) const fn new(server: ApiServer, caller: Caller) -> Self {
        Self { server, caller }
    }

    /// The body of a request, or why it is not read. Nothing is kept in memory for somebody who may not ask, nor for long, nor
    /// for a question that needs none.
    async fn read<B>(&self, head: &request::Parts, body: B) -> Result<Bytes, Failure>
    where
        B: HttpBody,
        B::Error: Into<tower::BoxError>,
    {
        if !takes_body(head) {
            return Ok(Bytes::new());
        }
        let whole = Limited::new(body, LARGEST).collect();
        let read = match self.caller {
            Caller::Known(_) => whole.await,
            Caller::Unknown => {
                self.server.admits(head, &self.caller)?;
                timeout(PATIENCE, whole).await.map_err(|_| too_slow())?
            }
        };
        Ok(read.map_err(|_| too_large())?.to_bytes())
    }
}

impl<B> Service<Request<B>> for Door
where
    B: HttpBody + Send + 'static,
    B::Data: Send,
    B::Error: Into<tower::BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let door = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = match door.read(&head, body).await {
                Ok(body) => body,
                Err(failure) => return Ok(refuse(&head, failure)),
            };
            let answer = || door.server.answer(&head, body, &door.caller);
            Ok(if head.method == Method::GET { answer() } else { door.server.aside(answer) })
        })
    }
}

/// Whether a body belongs to a request: what is read has none, and everything but resources can only be read.
fn takes_body(head: &request::Parts) -> bool {
    let reads = [Method::GET, Method::HEAD].contains(&head.method);
    !reads && matches!(Route::of(head.uri.path()), Route::Resource(_))
}

fn too_slow() -> Failure {
    let message = format!("the body of the request did not come within {} s", PATIENCE.as_secs());
    Failure::new(StatusCode::REQUEST_TIMEOUT, "Timeout", message)
}

fn too_large() -> Failure {
    let message = format!("Request entity too large: limit is {LARGEST}");
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
}
