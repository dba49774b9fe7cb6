//! The server as a `tower::Service`: what a `kube::Client`, a simulator's network or a listener talks to.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use http_body::Body as HttpBody;
use http_body_util::{BodyExt, Limited};
use tokio::time::timeout;
use tower::Service;

use super::{ApiServer, Caller, refuse};
use crate::answer::{Answer, Body};
use crate::failure::Failure;

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
            let read = match &door.caller {
                Caller::Known(_) => Limited::new(body, LARGEST).collect().await.map_err(|_| too_large()),
                // Nothing is kept in memory for somebody who may not ask, nor for long.
                Caller::Unknown => match door.server.admits(&head, &door.caller) {
                    Err(failure) => return Ok(refuse(&head, failure)),
                    Ok(()) => match timeout(PATIENCE, Limited::new(body, LARGEST).collect()).await {
                        Ok(read) => read.map_err(|_| too_large()),
                        Err(_) => Err(too_slow()),
                    },
                },
            };
            let body = match read {
                Ok(body) => body.to_bytes(),
                Err(failure) => return Ok(Answer::from(failure).into()),
            };
            let answer = || door.server.answer(&head, body, &door.caller);
            Ok(if head.method == Method::GET { answer() } else { door.server.aside(answer) })
        })
    }
}

fn too_slow() -> Failure {
    let message = format!("the body of the request did not come within {} s", PATIENCE.as_secs());
    Failure::new(StatusCode::REQUEST_TIMEOUT, "Timeout", message)
}

fn too_large() -> Failure {
    let message = format!("Request entity too large: limit is {LARGEST}");
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
}
