//! The words every planner and every shell of HyperFleet share.
//!
//! ```text
//!   observe ──Observed──▶ plan(&Observed, now) ──Plan──▶ audit ──▶ execute
//!                              │                           │
//!                        steps · status · next         Violation
//! ```
//!
//! A planner is a total, pure function: whatever it meets (a missing reference, a dead endpoint, an absent CRD) is an
//! observation, and the [`Plan`] it returns says what to do, what to tell the user, and in [`Next`] when to look again
//! and [`Why`]. The shell executes the plan without making a choice of its own; what goes wrong there is a [`Fault`]
//! whose [`Class`] decides how to go on. [`Violation`]s are invariants stated apart from the planner. [`Backoff`] and
//! [`Bucket`] are the two pieces of arithmetic about time that several parts need: both take `now`, neither has a clock.

mod backoff;
mod bucket;
mod fault;
mod next;
mod plan;
mod violation;

pub use backoff::Backoff;
pub use bucket::Bucket;
pub use fault::{Class, Fault};
pub use next::{Next, Why};
pub use plan::{Finalizer, Plan};
pub use violation::Violation;
