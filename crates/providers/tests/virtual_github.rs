//! GitHub over hours of virtual time: tokens that end, limits, lost answers, wrong clocks, queues and deliveries.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "github/access.rs"]
mod access;
#[path = "github/demand.rs"]
mod demand;
#[path = "github/limits.rs"]
mod limits;
#[path = "github/queue.rs"]
mod queue;
#[path = "github/world.rs"]
mod world;
