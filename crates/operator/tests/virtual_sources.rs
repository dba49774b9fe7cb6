//! Sources of jobs in worlds: how demand is learnt of in every mode, and what the ingress believes.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stdout, reason = "the counts of a lane are shown beside its time")]

#[path = "virtual_sources/credentials.rs"]
mod credentials;
#[path = "virtual_sources/gitea.rs"]
mod gitea;
#[path = "virtual_sources/hooks.rs"]
mod hooks;
#[path = "virtual_sources/modes.rs"]
mod modes;
#[path = "virtual_sources/office.rs"]
mod office;
#[path = "virtual_sources/origins.rs"]
mod origins;
#[path = "virtual_sources/sessions.rs"]
mod sessions;
#[path = "virtual_sources/sweeps.rs"]
mod sweeps;
#[path = "virtual_sources/threats.rs"]
mod threats;
