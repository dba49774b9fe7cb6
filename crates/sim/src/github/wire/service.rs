//! The service in process.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};

use crate::github::front::{self, Place};
use crate::github::world::Shared;

/// The connection broke before an answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection was reset before an answer came")]
pub struct Dropped;

/// The service in process, for as many callers as there are clones.
#[derive(Clone)]
pub struct Service {
    world: Shared,
}

impl Service {
    pub(crate) const fn new(world: Shared) -> Self {
        Self { world }
    }
}

impl tower::Service<Request<Full<Bytes>>> for Service {
    type Response = Response<Full<Bytes>>;
    type Error = Dropped;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let world = self.world.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map_err(|never| match never {})?.to_bytes();
            front::answer(&world, Request::from_parts(head, body), Place::Near).await
        })
    }
}
