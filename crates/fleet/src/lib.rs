//! Decides what happens to the fleet: clusters, templates, claims, pools, jobs.
//!
//! ```text
//!   Observed ──▶ plan(&Observed, now) ──▶ Plan { finalizer, steps, status, next }
//!                audit(&Observed, &Plan) ──▶ Violations (none, unless the planner has a bug)
//! ```
//!
//! One module per kind, each with the same four words: `Observed`, `Step`, `plan`, `audit`. Nothing here can do I/O, tell
//! the time or throw dice; the crate graph sees to that. The shell that observes and executes is the crate `operator`.
//! [`trail`] reads what all of them said and answers why something waits.

mod ahead;
pub mod bootstrap;
pub mod claim;
pub mod cloud_init;
pub mod cluster;
pub mod demand;
mod digest;
mod few;
pub mod grant;
pub mod job;
pub mod mint;
pub mod orphan;
pub mod place;
pub mod pool;
pub mod source;
pub mod template;
pub mod trail;
