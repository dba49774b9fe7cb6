//! Jobs from a platform's queue to nothing left behind, with the real programs: operators, agents and API server, a simulated
//! GitHub with the stand-in for its runner, a simulated hypervisor.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stdout, reason = "the counts of a lane are shown beside its time")]

#[path = "real_runners/history.rs"]
mod history;
#[path = "real_runners/jobs.rs"]
mod jobs;
#[path = "real_runners/kills.rs"]
mod kills;
#[path = "real_runners/why.rs"]
mod why;
#[path = "real_runners/works.rs"]
mod works;
