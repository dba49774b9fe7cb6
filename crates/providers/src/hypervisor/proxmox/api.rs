//! One call to the API: a turn at its node, a pass, one more try where that is safe, and the answer as a type.

use std::fmt::Display;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use hyper::body::Bytes;
use serde::de::DeserializeOwned;

use super::classify::{Asked, succeeded};
use super::decode::Envelope;
use super::form::{Form, path_of};
use super::guard::{Slots, Urgency};
use super::session::{Pass, Session};
use super::upid::Upid;
use crate::http::{Answer, Call, Client, PROBE_TIMEOUT, REQUEST_TIMEOUT, TransportError};
use crate::hypervisor::error::Error;
use crate::hypervisor::id::{NodeName, TaskRef};
use crate::hypervisor::number::VmRef;
use crate::hypervisor::object::Object;

/// Where the API's paths begin.
pub(super) const ROOT: &str = "/api2/json";
/// The type of an encoded form.
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// The way to one Proxmox VE.
pub(super) struct Api {
    client: Client,
    session: Session,
    slots: Slots,
}

/// One request, before it is written out.
pub(super) struct Request {
    method: Method,
    route: &'static str,
    path: String,
    body: Body,
    node: Option<NodeName>,
    urgency: Urgency,
    timeout: Duration,
    asked: Asked,
}

enum Body {
    Form(Form),
    Multipart { boundary: String, bytes: Bytes },
}

impl Request {
    fn new(method: Method, route: &'static str, arguments: &[&(dyn Display + Sync)], object: Object) -> Self {
        let asked = Asked { object, is_read: method == Method::GET };
        let path = format!("{ROOT}{}", path_of(route, arguments));
        let (body, urgency) = (Body::Form(Form::new()), Urgency::Patient);
        Self { method, route, path, body, node: None, urgency, timeout: REQUEST_TIMEOUT, asked }
    }

    pub(super) fn get(route: &'static str, arguments: &[&(dyn Display + Sync)], object: Object) -> Self {
        Self::new(Method::GET, route, arguments, object)
    }

    pub(super) fn post(route: &'static str, arguments: &[&(dyn Display + Sync)], object: Object) -> Self {
        Self::new(Method::POST, route, arguments, object)
    }

    pub(super) fn put(route: &'static str, arguments: &[&(dyn Display + Sync)], object: Object) -> Self {
        Self::new(Method::PUT, route, arguments, object)
    }

    pub(super) fn delete(route: &'static str, arguments: &[&(dyn Display + Sync)], object: Object) -> Self {
        Self::new(Method::DELETE, route, arguments, object)
    }

    /// A request about one VM, to its node.
    pub(super) fn vm(method: Method, route: &'static str, vm: &VmRef) -> Self {
        Self::new(method, route, &[&vm.node, &vm.id], Object::Vm(vm.id)).at(&vm.node)
    }

    /// What errors speak of.
    pub(super) fn about(mut self, object: Object) -> Self {
        self.asked.object = object;
        self
    }

    /// The parameters; of GET and DELETE they go into the query, for a body there is refused.
    pub(super) fn with(mut self, form: Form) -> Self {
        self.body = Body::Form(form);
        self
    }

    pub(super) fn multipart(mut self, boundary: String, bytes: Bytes) -> Self {
        self.body = Body::Multipart { boundary, bytes };
        self
    }

    /// The node that the call is passed on to; only so many of ours are there at once.
    pub(super) fn at(mut self, node: &NodeName) -> Self {
        self.node = Some(node.clone());
        self
    }

    /// Others wait for it: it must not wait for them.
    pub(super) const fn urgent(mut self) -> Self {
        self.urgency = Urgency::Urgent;
        self
    }

    pub(super) const fn probe(mut self) -> Self {
        self.timeout = PROBE_TIMEOUT;
        self
    }

    fn subject(&self) -> String {
        match &self.node {
            Some(node) => format!("{} on node {node}", self.asked.object),
            None => self.asked.object.to_string(),
        }
    }

    fn call(&self, pass: &Pass) -> Call {
        let mut headers = HeaderMap::new();
        pass.stamp(&self.method, &mut headers);
        let (mut path, mut body) = (self.path.clone(), Bytes::new());
        match &self.body {
            Body::Form(form) if form.is_empty() => {}
            Body::Form(form) if self.method == Method::GET || self.method == Method::DELETE => {
                path = format!("{path}?{}", form.encode());
            }
            Body::Form(form) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(FORM));
                body = form.encode().into();
            }
            Body::Multipart { boundary, bytes } => {
                let kind = HeaderValue::try_from(format!("multipart/form-data; boundary={boundary}"));
                headers.insert(CONTENT_TYPE, kind.expect("a boundary is plain text"));
                body = bytes.clone();
            }
        }
        let (method, route, timeout) = (self.method.clone(), self.route, self.timeout);
        Call { method, route, subject: self.subject(), path, headers, body, timeout }
    }
}

impl Api {
    pub(super) const fn new(client: Client, session: Session, slots: Slots) -> Self {
        Self { client, session, slots }
    }

    pub(super) const fn session(&self) -> &Session {
        &self.session
    }

    /// The answer's content, which must be there.
    pub(super) async fn call<T: DeserializeOwned>(&self, request: Request) -> Result<T, Error> {
        let asked = request.asked.clone();
        let envelope: Envelope<T> = self.envelope(request).await?;
        envelope.data.ok_or_else(|| asked.unanswered("the answer is empty".into()))
    }

    /// A call that answers nothing of interest.
    pub(super) async fn order(&self, request: Request) -> Result<(), Error> {
        self.envelope::<serde_json::Value>(request).await.map(drop)
    }

    /// A call that begins a task.
    pub(super) async fn task(&self, request: Request) -> Result<TaskRef, Error> {
        let asked = request.asked.clone();
        let task = self.maybe_task(request).await?;
        task.ok_or_else(|| asked.unanswered("the answer names no task".into()))
    }

    /// A call that begins a task or is done at once.
    pub(super) async fn maybe_task(&self, request: Request) -> Result<Option<TaskRef>, Error> {
        let asked = request.asked.clone();
        let envelope: Envelope<String> = self.envelope(request).await?;
        let upid = envelope.data.map(|text| text.parse::<Upid>()).transpose();
        let upid = upid.map_err(|error| asked.unanswered(error.to_string()))?;
        Ok(upid.map(|upid| upid.reference()))
    }

    pub(super) async fn envelope<T: DeserializeOwned>(&self, request: Request) -> Result<Envelope<T>, Error> {
        let answer = self.answer(&request).await?;
        if !succeeded(answer.status) {
            return Err(request.asked.refused(&answer));
        }
        let unreadable =
            |error: serde_json::Error| request.asked.unanswered(format!("the answer is unreadable: {error}"));
        serde_json::from_slice(&answer.body).map_err(unreadable)
    }

    async fn answer(&self, request: &Request) -> Result<Answer, Error> {
        let pass = self.session.pass(&self.client).await?;
        let answer = self.send(request, &pass).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        // Refused before anything happened: with another pass the same call is safe to make.
        match self.session.pass_after(&self.client, &pass).await? {
            Some(pass) => self.send(request, &pass).await,
            None => Ok(answer),
        }
    }

    async fn send(&self, request: &Request, pass: &Pass) -> Result<Answer, Error> {
        let _turn = match &request.node {
            Some(node) => Some(self.slots.turn(node, request.urgency).await),
            None => None,
        };
        let mut sent = self.exchange(request, pass).await;
        if request.asked.is_read && matches!(sent, Err(TransportError::Interrupted { .. })) {
            // Most likely the server closed a kept connection just then; a read can simply be made again.
            sent = self.exchange(request, pass).await;
        }
        sent.map_err(|error| request.asked.unreached(error))
    }

    /// One request on its way and back; if it failed, that is counted.
    async fn exchange(&self, request: &Request, pass: &Pass) -> Result<Answer, TransportError> {
        let sent = self.client.send(request.call(pass)).await;
        if let Some(error) = request.asked.trouble(&sent) {
            self.client.failed(&request.method, request.route, error.class());
        }
        sent
    }
}
