//! Writes the history: what was sent, what the far side made of it, and what it made durable.

use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use serde_json::Value;

use super::deed::{Deed, Object};
use super::fault::Fault;
use super::history::{Call, Commit, Life};
use super::{World, lock};

/// Requests in one run after which nothing is sent any more: a hundred times what a stormy hour takes.
pub(crate) const FUSE: usize = 300_000;

/// Where a destination reports each change that it has made durable, at once and in order.
#[derive(Clone)]
pub struct Ledger(World);

impl Ledger {
    pub(crate) fn new(world: &World) -> Self {
        Self(world.clone())
    }

    /// `object` changed from `before` to `after`. Whose request did it is known from where this is called: in the
    /// future that answers the request, or anywhere else if nobody asked for it.
    pub fn committed(&self, object: Object, before: Option<Arc<Value>>, after: Option<Arc<Value>>) {
        let world = &self.0;
        let (at, call) = (world.age(), World::current());
        let mut history = lock(&world.0.history);
        let by = call.and_then(|id| history.calls.get(id)).map(|call| call.sender.clone());
        let what = match (&before, &after) {
            (None, _) => "is made",
            (Some(_), Some(_)) => "is changed",
            (Some(_), None) => "is gone",
        };
        let version =
            after.as_ref().and_then(|after| after.pointer("/metadata/resourceVersion")?.as_str().map(str::to_owned));
        let line = version.map_or_else(|| what.to_owned(), |version| format!("{what}, version {version}"));
        let subject = object.to_string();
        let actor = by.as_ref().map_or_else(|| "server".to_owned(), |life| life.actor.clone());
        history.commits.push(Commit { at, call, by, object, before, after });
        drop(history);
        lock(&world.0.figures).commits += 1;
        world.tell(&actor, &subject, line);
    }
}

impl World {
    /// A request leaves its sender.
    pub(crate) fn began(&self, sender: &Life, to: &str, deed: &Deed, request: &Request<Bytes>) -> usize {
        let begun = self.age();
        let body = if deed.verb.writes() { request.body().clone() } else { Bytes::new() };
        let mut history = lock(&self.0.history);
        let id = history.calls.len();
        let call = Call {
            id,
            sender: sender.clone(),
            to: to.to_owned(),
            deed: deed.clone(),
            target: request.uri().to_string(),
            body,
            begun,
            acted: Vec::new(),
            answered: None,
            fault: None,
        };
        history.calls.push(call);
        drop(history);
        lock(&self.0.figures).requests += 1;
        id
    }

    /// Whether so much was sent that somebody must be running in circles; nothing is sent any more then.
    pub(crate) fn is_exhausted(&self) -> bool {
        lock(&self.0.history).calls.len() >= FUSE
    }

    /// The far side has acted on it.
    pub(crate) fn acted(&self, id: usize, status: u16) {
        let at = self.age();
        if let Some(call) = lock(&self.0.history).calls.get_mut(id) {
            call.acted.push((at, status));
        }
    }

    /// Its sender has an answer.
    pub(crate) fn answered(&self, id: usize, status: u16) {
        let at = self.age();
        let mut history = lock(&self.0.history);
        let Some(call) = history.calls.get_mut(id) else { return };
        call.answered = Some((at, status));
        let Call { deed, sender, begun, .. } = call;
        let part = if deed.part.is_empty() { String::new() } else { format!("/{}", deed.part) };
        let outcome = if status == 0 { "the connection broke".to_owned() } else { status.to_string() };
        let took = at.saturating_sub(*begun).as_secs_f64() * 1_000.0;
        let line = format!("{}{part} → {outcome} after {took:.1} ms", deed.verb.as_str());
        let (actor, object) = (sender.actor.clone(), deed.object.to_string());
        drop(history);
        self.tell(&actor, &object, line);
    }

    /// Something goes wrong with it.
    pub(crate) fn met(&self, id: usize, fault: Fault) {
        let mut history = lock(&self.0.history);
        let Some(call) = history.calls.get_mut(id) else { return };
        call.fault = Some(fault);
        let (actor, object) = (call.sender.actor.clone(), call.deed.object.to_string());
        let line = format!("{}: {}", call.deed.verb.as_str(), fault.as_str());
        drop(history);
        self.count(fault);
        self.tell(&actor, &object, line);
    }

    /// A stream has delivered events.
    pub(crate) fn delivered(&self, events: usize) {
        lock(&self.0.figures).events += u64::try_from(events).unwrap_or(u64::MAX);
    }
}
