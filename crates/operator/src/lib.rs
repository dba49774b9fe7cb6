//! The shell around the planners, and the `hyperfleet` program.
//!
//! ```text
//!   hyperfleet operator ─▶ roster: which controllers ─▶ runtime::host ─▶ one driver each
//!                                                          │
//!                          observe, execute (here) ◀──────┘──▶ plan, audit (crate `fleet`)
//!   hyperfleet verify ─▶ verify ─▶ the conformance kit (crate `providers`) on a real hypervisor
//! ```
//!
//! Each controller is one file with its rules beside it; the roster lists them in the sets that users deploy.

pub mod cli;
pub mod controllers;
pub mod manifest;
mod print;
mod roster;
mod verify;

pub use roster::{Duty, SETTINGS, Set, select, sets};
