//! The shell around the planners, and the `hyperfleet` program.
//!
//! ```text
//!   hyperfleet operator ─▶ roster: which controllers ─▶ runtime::host ─▶ one driver each
//!                                                          │
//!                          observe, execute (here) ◀──────┘──▶ plan, audit (crate `fleet`)
//!                          site: the hypervisors we are connected to, each watched by a task of its own
//!                          bootstrap: where fresh machines prove themselves
//!                          outpost: the CI platforms we are connected to; platforms: what claims ask of them
//!                          ingress: where CI platforms tell us of jobs
//!                          console: one page that shows what is going on
//!   hyperfleet up ─▶ single: our own API server, with the operator beside it
//!   hyperfleet export, import ─▶ transfer: a fleet moves from one API server to another
//!   hyperfleet init ─▶ init: a token, an App and manifests for what somebody has
//!   hyperfleet doctor ─▶ doctor: everything that is configured, looked at live and judged by the planners
//!   hyperfleet verify ─▶ verify ─▶ the conformance kit (crate `providers`) on a real hypervisor
//! ```
//!
//! Each controller is one file with its rules beside it; the roster lists them in the sets that users deploy.

pub mod bootstrap;
pub mod calls;
pub mod chance;
pub mod cli;
pub mod console;
pub mod controllers;
mod demo;
mod departed;
pub mod doctor;
mod drawer;
mod each;
mod index;
pub mod ingress;
mod init;
pub mod manifest;
pub mod outpost;
pub mod platforms;
mod print;
mod roster;
mod rotation;
mod seed;
mod signing;
pub mod single;
pub mod site;
pub mod transfer;
mod verify;

use chassis::metrics::Entry;

pub use roster::{Duty, SETTINGS, Set, select, sets};

/// Metrics of this crate.
pub const METRICS: &[Entry] = &[
    calls::REQUESTS,
    calls::ERRORS,
    bootstrap::REQUESTS,
    bootstrap::REGISTRATIONS,
    controllers::runner_pools::figures::REPLICAS,
    controllers::runner_pools::figures::QUEUED,
    ingress::EVENTS,
    outpost::UP,
    outpost::QUOTA,
    outpost::AGE,
    outpost::SWEPT,
    controllers::machine_claims::figures::MACHINES,
    controllers::machine_claims::figures::PROVISIONED,
    controllers::machine_claims::figures::DURATION,
    site::UP,
    site::TLS_INSECURE,
    site::RESOURCES,
    site::ORPHANS,
];
