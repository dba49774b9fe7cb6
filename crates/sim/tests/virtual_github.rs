//! The simulated GitHub in virtual time: what a control plane sees of it, over hours if need be.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "virtual_github/access.rs"]
mod access;
#[path = "virtual_github/caller.rs"]
mod caller;
#[path = "virtual_github/faults.rs"]
mod faults;
#[path = "virtual_github/hooks.rs"]
mod hooks;
#[path = "virtual_github/jobs.rs"]
mod jobs;
#[path = "virtual_github/scale_sets.rs"]
mod scale_sets;
