//! The API in process.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};

use crate::proxmox::front;
use crate::proxmox::world::World;

/// The connection broke before an answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection was reset before an answer came")]
pub struct Dropped;

/// The API in process, for as many callers as there are clones.
#[derive(Clone)]
pub struct Service {
    world: Arc<World>,
}

impl Service {
    pub(crate) const fn new(world: Arc<World>) -> Self {
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
        let world = Arc::clone(&self.world);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map_err(|never| match never {})?.to_bytes();
            front::answer(&world, Request::from_parts(head, body), front::Place::InProcess).await
        })
    }
}
