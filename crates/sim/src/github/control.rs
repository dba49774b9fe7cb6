//! The hands behind the scene: jobs, faults, and what an onlooker wants to know.
//!
//! Everything is under `/sim/` and refused to other machines.

mod faults;
mod hands;
mod routes;
mod view;

use std::collections::{BTreeMap, VecDeque};
use std::sync::PoisonError;

use jiff::Timestamp;
use serde::Serialize;

pub(crate) use faults::Faults;
pub use faults::{FaultKind, FaultRule};
pub(crate) use routes::answer;
pub use view::{JobView, RunnerView, ScaleSetView};

use super::wire::Ask;
use super::world::World;

/// One call.
#[derive(Clone, Debug, Serialize)]
pub struct CallView {
    /// When it was over.
    pub at: Timestamp,
    /// Its verb and the template of its path.
    pub operation: String,
    /// Its path.
    pub path: String,
    /// What was answered; 0 if nothing was.
    pub status: u16,
}

/// Every call that was made: counted, and the newest ones in full.
#[derive(Debug, Default)]
pub(crate) struct CallLog {
    pub(crate) counts: BTreeMap<String, u64>,
    pub(crate) recent: VecDeque<CallView>,
}

/// Calls that are kept in full.
const KEPT: usize = 10_000;

/// Keeps a call; its headers and body stay out, since some are secrets.
pub(crate) fn record(world: &World, ask: &Ask, operation: String, status: u16) {
    let at = world.now();
    let mut calls = world.calls.lock().unwrap_or_else(PoisonError::into_inner);
    *calls.counts.entry(operation.clone()).or_default() += 1;
    if calls.recent.len() >= KEPT {
        calls.recent.pop_front();
    }
    calls.recent.push_back(CallView { at, operation, path: ask.path.clone(), status });
}
