//! The hands behind the scene: faults, locks that somebody else holds, and what an onlooker wants to know.
//!
//! Everything is under `/sim/` and refused on a socket that other machines can reach.

mod effects;
mod faults;
mod hands;
mod routes;
mod view;

use std::collections::VecDeque;
use std::sync::PoisonError;

use http::Uri;
use serde::Serialize;
use tokio::time::Instant;

pub use faults::{FaultId, FaultRule};
pub(crate) use faults::{Faults, Scene};
pub(crate) use routes::answer;

use super::schema::Given;
use super::wire::{Dropped, Reply, Request};
use super::world::World;

/// Every call that was made, the newest ones in full.
#[derive(Debug, Default)]
pub(crate) struct CallLog {
    total: u64,
    recent: VecDeque<Logged>,
    /// The names that clones were asked for under, and when each call arrived.
    clones: VecDeque<(String, Instant)>,
}

/// One call as the server saw it, without its parameters, since some are secrets.
#[derive(Clone, Debug, Serialize)]
pub struct Logged {
    /// How many came before it, and itself.
    pub number: u64,
    /// The verb.
    pub method: String,
    /// The path as sent, without its query.
    pub path: String,
    /// The path as the published schema writes it, if it knows the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<&'static str>,
    /// The status of the answer; 0 if none was sent.
    pub status: u16,
    /// What stood after the status, or why there was no answer.
    pub reason: String,
    /// From its arrival to the answer, or to the moment when nobody waited any more.
    pub seconds: f64,
}

/// Calls that are kept in full.
const KEPT: usize = 10_000;

/// Why there was no answer: whoever asked did not wait for it.
const GIVEN_UP: &str = "given up";
/// Why there was no answer: a fault closed the connection.
const DROPPED: &str = "dropped";

/// A call under way. It is logged when it is over, also if the caller gives it up.
pub(crate) struct Entry<'a> {
    world: &'a World,
    method: String,
    uri: Uri,
    began: Instant,
    status: u16,
    reason: String,
}

impl<'a> Entry<'a> {
    /// A call that has just arrived.
    pub(crate) fn new(world: &'a World, method: String, uri: Uri, began: Instant) -> Self {
        Self { world, method, uri, began, status: 0, reason: GIVEN_UP.to_owned() }
    }

    /// What the server says to it.
    pub(crate) fn answered(mut self, reply: &Result<Reply, Dropped>) {
        (self.status, self.reason) = match reply {
            Ok(reply) => (reply.status, reply.reason.clone()),
            Err(Dropped) => (0, DROPPED.to_owned()),
        };
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let path = self.uri.path().strip_prefix("/api2/json").unwrap_or(self.uri.path()).to_owned();
        let operation = self.world.catalogue().find(&self.method, &path).map(|found| found.template);
        let (method, reason) = (std::mem::take(&mut self.method), std::mem::take(&mut self.reason));
        let seconds = self.began.elapsed().as_secs_f64();
        let mut calls = self.world.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.total += 1;
        if calls.recent.len() >= KEPT {
            calls.recent.pop_front();
        }
        let number = calls.total;
        calls.recent.push_back(Logged { number, method, path, operation, status: self.status, reason, seconds });
    }
}

/// Keeps when a clone was asked for, before anybody has looked at whether it may be.
pub(crate) fn arrived(world: &World, request: &Request, at: Instant) {
    if request.verb != "POST" || !request.path.ends_with("/clone") {
        return;
    }
    let Some(Given::One(name)) = request.fields.get("name") else { return };
    let mut calls = world.calls.lock().unwrap_or_else(PoisonError::into_inner);
    if calls.clones.len() >= KEPT {
        calls.clones.pop_front();
    }
    calls.clones.push_back((name.clone(), at));
}
