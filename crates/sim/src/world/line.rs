//! One actor's connection to one destination, as a tower service with everything that can go wrong on the way.
//!
//! A request that has left its sender travels on its own: whether the sender waits, gives up, stands still or dies,
//! the request may still arrive, and so may its effect. What a paused sender would send waits until it goes on; what
//! comes back for it waits too.

mod answer;
mod journey;
mod stream;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tokio::sync::oneshot;
use tower::{BoxError, Service};

pub use answer::Answer;
pub(crate) use journey::CURRENT;

use super::World;
use super::actor::Desk;
use super::deed::Deed;
use super::dice::Dice;
use super::fault::Fault;
use super::network::Ends;
use super::weather::Fate;
use journey::Journey;

/// The connection broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Before an answer came.
    #[error("the connection was reset")]
    Reset,
    /// There is nobody of that name.
    #[error("no such host")]
    NoSuchHost,
    /// The request could not be read.
    #[error("the request's body broke off")]
    Body,
}

/// A connection; clones are the same one.
#[derive(Clone)]
pub struct Line {
    world: World,
    desk: Desk,
    ends: Ends,
    dice: Arc<Mutex<Dice>>,
}

impl Line {
    pub(crate) fn new(world: &World, desk: &Desk, destination: &str) -> Self {
        let dice = Arc::new(Mutex::new(desk.dice(destination)));
        Self { world: world.clone(), desk: desk.clone(), ends: (desk.life.actor.clone(), destination.to_owned()), dice }
    }

    /// The same connection for clients that want whole answers, not streams.
    pub fn whole(&self) -> Whole {
        Whole(self.clone())
    }

    async fn send(self, request: Request<Bytes>) -> Result<Response<Answer>, Broken> {
        let Some((nature, server)) = self.world.destination(&self.ends.1) else { return Err(Broken::NoSuchHost) };
        // Who stands still sends nothing, and the dead send nothing ever.
        self.desk.brake.free().await;
        if !self.desk.plain && self.world.is_exhausted() {
            return std::future::pending().await;
        }
        let deed = Deed::of(nature, request.method(), request.uri(), request.body());
        let fate = self.fate(nature, &deed);
        let (outbox, inbox) = oneshot::channel();
        let id = self.world.began(&self.desk.life, &self.ends.1, &deed, &request);
        let journey =
            Journey { world: self.world.clone(), desk: self.desk.clone(), ends: self.ends, server, id, deed, fate };
        self.world.tasks().spawn(format!("request {id}"), journey.travel(request, outbox));
        let answer = inbox.await;
        self.desk.brake.free().await;
        let status = match &answer {
            Ok(Ok(answer)) => Some(answer.status().as_u16()),
            Ok(Err(_)) => Some(0),
            Err(_) => None,
        };
        if let Some(status) = status {
            self.world.answered(id, status);
        }
        match answer {
            Ok(answer) => answer,
            // Nothing will ever come; how long to wait for it is the sender's business.
            Err(_closed) => std::future::pending().await,
        }
    }

    fn fate(&self, nature: super::deed::Nature, deed: &Deed) -> Fate {
        if self.desk.plain {
            return Fate::plain();
        }
        let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
        self.world.network().weather(&self.ends).fate(nature, deed, &mut dice)
    }
}

type Sending<A> = Pin<Box<dyn Future<Output = Result<Response<A>, Broken>> + Send>>;

impl<B> Service<Request<B>> for Line
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Answer>;
    type Error = Broken;
    type Future = Sending<Answer>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let line = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map_err(|_| Broken::Body)?.to_bytes();
            line.send(Request::from_parts(head, body)).await
        })
    }
}

/// A [`Line`] that waits for the last byte of every answer.
#[derive(Clone)]
pub struct Whole(Line);

impl Service<Request<Full<Bytes>>> for Whole {
    type Response = Response<Full<Bytes>>;
    type Error = Broken;
    type Future = Sending<Full<Bytes>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let answer = self.0.call(request);
        Box::pin(async move {
            let (head, body) = answer.await?.into_parts();
            let body = body.collect().await.map_err(|_| Broken::Reset)?.to_bytes();
            Ok(Response::from_parts(head, Full::new(body)))
        })
    }
}

/// What a request met, for the history.
impl Journey {
    fn met(&self, fault: Fault) {
        self.world.met(self.id, fault);
    }
}
