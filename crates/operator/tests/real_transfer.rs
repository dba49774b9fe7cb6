//! Fleets that move while their machines work, with the real programs: from a server of ours, as `hyperfleet up` runs it, to a
//! real API server and back.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stdout, reason = "the counts of a lane are shown beside its time")]
#![allow(dead_code, reason = "the works serve the tests of runners, which use the rest")]

#[path = "real_transfer/back.rs"]
mod back;
#[path = "real_runners/history.rs"]
mod history;
#[path = "real_transfer/moved.rs"]
mod moved;
#[path = "real_transfer/single.rs"]
mod single;
#[path = "real_runners/works.rs"]
mod works;
