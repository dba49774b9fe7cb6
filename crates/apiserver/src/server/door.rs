//! The server as a `tower::Service`: what a `kube::Client`, a simulator's network or a listener talks to.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response, StatusCode};
use http_body::Body as HttpBody;
use http_body_util::{BodyExt, Limited};
use tower::Service;

use super::{ApiServer, Caller};
use crate::answer::{Answer, Body};
use crate::failure::Failure;

/// The largest body that is read, as on the real server.
const LARGEST: usize = 3 * 1024 * 1024;

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
            Ok(match Limited::new(body, LARGEST).collect().await {
                Ok(body) => door.server.answer(&head, body.to_bytes(), &door.caller),
                Err(_) => Answer::from(too_large()).into(),
            })
        })
    }
}

fn too_large() -> Failure {
    let message = format!("Request entity too large: limit is {LARGEST}");
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
}
