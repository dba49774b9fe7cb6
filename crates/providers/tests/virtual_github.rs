//! GitHub over hours of virtual time: tokens that end, limits, lost answers, wrong clocks, queues and deliveries.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "virtual_github/access.rs"]
mod access;
#[path = "virtual_github/demand.rs"]
mod demand;
#[path = "virtual_github/limits.rs"]
mod limits;
#[path = "virtual_github/queue.rs"]
mod queue;
#[path = "virtual_github/rerun.rs"]
mod rerun;
#[path = "virtual_github/world.rs"]
mod world;
