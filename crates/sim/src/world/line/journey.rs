//! The way of one request there, of its answer back, and what happens to them.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tokio::sync::oneshot;
use tower::{Service as _, ServiceExt as _};

use super::answer::{Answer, refusal, whole};
use super::{Broken, stream};
use crate::world::World;
use crate::world::actor::Desk;
use crate::world::deed::{Deed, Verb};
use crate::world::fault::Fault;
use crate::world::network::{Ends, Way};
use crate::world::server::Server;
use crate::world::weather::Fate;

tokio::task_local! {
    /// The request that a destination is acting on.
    pub(crate) static CURRENT: usize;
}

type Outbox = oneshot::Sender<Result<Response<Answer>, Broken>>;

/// One request on its way.
pub(crate) struct Journey {
    pub(crate) world: World,
    pub(crate) desk: Desk,
    pub(crate) ends: Ends,
    pub(crate) server: Server,
    pub(crate) id: usize,
    pub(crate) deed: Deed,
    pub(crate) fate: Fate,
}

impl Journey {
    pub(crate) async fn travel(self, request: Request<Bytes>, outbox: Outbox) {
        if let Some(fault) = self.fate.fault {
            self.met(fault);
        }
        tokio::time::sleep(self.fate.there).await;
        if !self.arrives(&outbox).await {
            // To drop the outbox would tell the sender that nothing will come, which it cannot know.
            return self.hang(outbox).await;
        }
        let answer = match self.fate.fault {
            Some(Fault::Reset) => Err(Broken::Reset),
            Some(
                fault @ (Fault::Conflict
                | Fault::Throttled
                | Fault::ServerError
                | Fault::Unavailable
                | Fault::WatchExpired),
            ) => refusal(fault, self.fate.pause).ok_or(Broken::Reset),
            Some(Fault::Stale) => match self.world.recall(&self.ends.1, &request, self.fate.pause) {
                Some(old) => Ok(old.map(whole)),
                None => self.served(request).await,
            },
            Some(_) | None => self.served(request).await,
        };
        let answer = match self.fate.fault {
            Some(Fault::AnswerLost | Fault::HalfOpen) => return self.hang(outbox).await,
            Some(Fault::ResetLate) => Err(Broken::Reset),
            Some(Fault::GatewayTimeout) => refusal(Fault::GatewayTimeout, 0).ok_or(Broken::Reset),
            Some(_) | None => answer,
        };
        self.bring_back(answer, outbox).await;
    }

    /// Whether the request gets to the far side.
    async fn arrives(&self, outbox: &Outbox) -> bool {
        if self.fate.fault == Some(Fault::RequestLost) {
            return false;
        }
        if self.cut(Way::There) {
            self.met(Fault::Partitioned);
            if !self.fate.persists {
                return false;
            }
            self.world.network().open(&self.ends, Way::There).await;
        }
        if (outbox.is_closed() || self.desk.brake.is_cut()) && !self.fate.survives {
            self.met(Fault::Orphaned);
            return false;
        }
        true
    }

    fn cut(&self, way: Way) -> bool {
        !self.desk.plain && self.world.network().is_cut(&self.ends, way)
    }

    /// Has the far side act, once or twice.
    async fn served(&self, request: Request<Bytes>) -> Result<Response<Answer>, Broken> {
        let Ok(number) = self.world.before_write(&self.desk, &self.deed) else { return Err(Broken::Reset) };
        let first = self.act(&request).await;
        self.world.after_write(&self.desk, number);
        if self.fate.fault != Some(Fault::Duplicated) {
            return first;
        }
        tokio::time::sleep(self.fate.again).await;
        let second = self.act(&request).await;
        if self.fate.survives { second } else { first }
    }

    async fn act(&self, request: &Request<Bytes>) -> Result<Response<Answer>, Broken> {
        let mut server = self.server.clone();
        let mut copy = Request::new(Full::new(request.body().clone()));
        (*copy.method_mut(), *copy.uri_mut()) = (request.method().clone(), request.uri().clone());
        *copy.headers_mut() = request.headers().clone();
        *copy.extensions_mut() = request.extensions().clone();
        let acting = async {
            let server = server.ready().await.map_err(|_| Broken::Reset)?;
            server.call(copy).await.map_err(|_| Broken::Reset)
        };
        let answer = CURRENT.scope(self.id, acting).await?;
        self.world.acted(self.id, answer.status().as_u16());
        if self.deed.verb == Verb::Watch && answer.status().is_success() {
            return Ok(answer);
        }
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map_err(|_| Broken::Reset)?.to_bytes();
        let answer = Response::from_parts(head, body);
        self.world.remember(&self.ends.1, &self.deed, request, &answer);
        Ok(answer.map(whole))
    }

    async fn bring_back(self, answer: Result<Response<Answer>, Broken>, outbox: Outbox) {
        if self.cut(Way::Back) {
            self.met(Fault::Partitioned);
            if !self.fate.persists {
                return self.hang(outbox).await;
            }
            self.world.network().open(&self.ends, Way::Back).await;
        }
        tokio::time::sleep(self.fate.back).await;
        let answer = match answer {
            Ok(answer) if self.deed.verb == Verb::Watch && answer.status().is_success() => {
                Ok(stream::piped(self, answer))
            }
            other => other,
        };
        // The sender may have given up.
        let _ = outbox.send(answer);
    }

    /// Nothing comes back; the way stays open until the sender gives up or dies.
    async fn hang(&self, mut outbox: Outbox) {
        outbox.closed().await;
    }
}
