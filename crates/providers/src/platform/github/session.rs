//! A scale set's message session: the queue says what waits as soon as it does, and we need no open port for it.

use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue, Method, StatusCode};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Core;
use super::auth::bearer;
use super::message::{Level, Told};
use super::rest::decode;
use super::service::{Errand, Place, call, served};
use crate::http::{Answer, Call};
use crate::platform::{Batch, Error, Message, Session, SessionOrder, Statistics};

const SESSIONS: &str = "/_apis/runtime/runnerscalesets/{id}/sessions";
const QUEUE: &str = "/_apis/runtime/messagequeue/{id}";
const CAPACITY: HeaderName = HeaderName::from_static("x-scalesetmaxcapacity");
/// Above the 50 s for which the service waits before it says that there is nothing.
const LONG_POLL: Duration = Duration::from_secs(75);

/// A queue that is listened to.
pub struct QueueSession {
    core: Arc<Core>,
    set: u64,
    subject: String,
    id: String,
    queue: Place,
    pass: HeaderValue,
    /// The newest message that was acknowledged.
    last: u64,
    statistics: Statistics,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Opened {
    session_id: String,
    message_queue_url: String,
    message_queue_access_token: SecretString,
    #[serde(default)]
    statistics: Option<Level>,
}

fn errand(method: Method, path: String, body: Value, subject: &str) -> Errand {
    Errand { method, route: SESSIONS, path, body, subject: subject.to_owned(), change: None }
}

impl QueueSession {
    /// Opens the session of a scale set, which is made if it is not there.
    pub(super) async fn open(core: &Arc<Core>, order: &SessionOrder) -> Result<Self, Error> {
        let subject = format!("the queue of scale set {}", order.name);
        let set = core.set(order).await?;
        let path = format!("runtime/runnerscalesets/{set}/sessions");
        let body = json!({ "ownerName": order.holder });
        let answer = core.serve(&errand(Method::POST, path, body, &subject)).await?;
        let opened: Opened = decode(&served(answer, &subject, None)?)?;
        Ok(Self {
            queue: core.place(&opened.message_queue_url)?,
            pass: bearer("Bearer", &opened.message_queue_access_token)?,
            core: Arc::clone(core),
            set,
            subject,
            id: opened.session_id,
            last: 0,
            statistics: opened.statistics.unwrap_or_default().into(),
        })
    }

    fn path(&self) -> String {
        format!("runtime/runnerscalesets/{}/sessions/{}", self.set, self.id)
    }

    /// Gets another token for the queue; a session that is lost is said to be.
    async fn renew(&mut self) -> Result<(), Error> {
        let answer = self.core.serve(&errand(Method::PATCH, self.path(), Value::Null, &self.subject)).await?;
        let opened: Opened = decode(&served(answer, &self.subject, None)?)?;
        self.queue = self.core.place(&opened.message_queue_url)?;
        self.pass = bearer("Bearer", &opened.message_queue_access_token)?;
        Ok(())
    }

    /// Makes a call of the queue, once more with a new token if it is refused.
    async fn converse(&mut self, make: impl Fn(&Self) -> (Call, Place) + Send) -> Result<Answer, Error> {
        let (call, place) = make(self);
        let answer = place.client.send(call).await.map_err(|error| Error::unanswered(&error, None))?;
        if answer.status != StatusCode::UNAUTHORIZED {
            return served(answer, &self.subject, None);
        }
        self.renew().await?;
        let (call, place) = make(self);
        let answer = place.client.send(call).await.map_err(|error| Error::unanswered(&error, None))?;
        served(answer, &self.subject, None)
    }

    /// A call of the queue, with something added to its address.
    fn of_queue(&self, method: Method, below: &str, parameter: Option<String>) -> (Call, Place) {
        let query: Vec<String> = self.queue.query.iter().cloned().chain(parameter).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        let path = format!("{}{below}{mark}{}", self.queue.path, query.join("&"));
        (call(method, QUEUE, self.subject.clone(), path, self.pass.clone(), &Value::Null), self.queue.clone())
    }

    /// Accepts jobs that are offered. That they are ours is told by the queue, not by this answer, which may be lost.
    async fn accept(&mut self, offers: &[u64]) -> Result<(), Error> {
        if offers.is_empty() {
            return Ok(());
        }
        let path = format!("runtime/runnerscalesets/{}/acquirejobs", self.set);
        let root = self.core.service_root().await?;
        let (body, subject) = (json!(offers), self.subject.clone());
        self.converse(move |session| {
            let address = format!("{}/_apis/{path}?api-version=6.0-preview", root.path.trim_end_matches('/'));
            let route = "/_apis/runtime/runnerscalesets/{id}/acquirejobs";
            (call(Method::POST, route, subject.clone(), address, session.pass.clone(), &body), root.clone())
        })
        .await
        .map(drop)
    }
}

impl Session for QueueSession {
    fn statistics(&self) -> Statistics {
        self.statistics
    }

    async fn next(&mut self, capacity: u32) -> Result<Batch, Error> {
        let answer = self
            .converse(|session| {
                let last = (session.last > 0).then(|| format!("lastMessageId={}", session.last));
                let (call, place) = session.of_queue(Method::GET, "", last);
                let mut call = Call { timeout: LONG_POLL, ..call };
                call.headers.insert(CAPACITY, capacity.into());
                (call, place)
            })
            .await?;
        if answer.status == StatusCode::ACCEPTED || answer.body.is_empty() {
            return Ok(Batch::default());
        }
        let told: Told = decode(&answer)?;
        let content = told.content()?;
        self.accept(&content.offers).await?;
        Ok(Batch {
            message: Some(Message(told.message_id)),
            jobs: content.jobs,
            statistics: told.statistics.map(Into::into),
        })
    }

    async fn acknowledge(&mut self, message: Message) -> Result<(), Error> {
        let below = format!("/{}", message.0);
        match self.converse(|session| session.of_queue(Method::DELETE, &below, None)).await {
            // What is not there was deleted before and the answer lost, or its session is gone, which the next poll says.
            Ok(_) | Err(Error::NotFound { .. }) => {
                self.last = self.last.max(message.0);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn close(self) -> Result<(), Error> {
        let answer = self.core.serve(&errand(Method::DELETE, self.path(), Value::Null, &self.subject)).await?;
        match served(answer, &self.subject, None) {
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
