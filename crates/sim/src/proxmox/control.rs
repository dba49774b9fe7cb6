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
use std::time::Duration;

use http::Uri;
use serde::Serialize;
use tokio::time::Instant;

pub use faults::{FaultId, FaultRule};
pub(crate) use faults::{Faults, Scene};
pub(crate) use routes::answer;

use super::schema::Given;
use super::wire::Request;
use super::world::World;

/// Every call that was made, the newest ones in full.
#[derive(Debug, Default)]
pub(crate) struct CallLog {
    total: u64,
    recent: VecDeque<CallRecord>,
    /// The names that clones were asked for under, and when each call arrived.
    clones: VecDeque<(String, Instant)>,
}

/// One call.
#[derive(Clone, Debug, Serialize)]
struct CallRecord {
    number: u64,
    method: String,
    path: String,
    status: u16,
    seconds: f64,
}

/// Calls that are kept in full.
const KEPT: usize = 10_000;

/// Keeps a call; its parameters stay out, since some are secrets.
pub(crate) fn record(world: &World, method: &str, uri: &Uri, status: u16, took: Duration) {
    let mut calls = world.calls.lock().unwrap_or_else(PoisonError::into_inner);
    calls.total += 1;
    if calls.recent.len() >= KEPT {
        calls.recent.pop_front();
    }
    let path = uri.path().strip_prefix("/api2/json").unwrap_or(uri.path()).to_owned();
    let record =
        CallRecord { number: calls.total, method: method.to_owned(), path, status, seconds: took.as_secs_f64() };
    calls.recent.push_back(record);
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
