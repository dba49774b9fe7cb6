//! The console in a real browser: what it shows while jobs run, to whom, and how it behaves.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stdout, reason = "the counts of a lane are shown beside its time")]
#![allow(dead_code, reason = "the works do more for others")]

#[path = "real_console/browser.rs"]
mod browser;
#[path = "real_console/crowd.rs"]
mod crowd;
#[path = "real_console/many.rs"]
mod many;
#[path = "real_console/reader.rs"]
mod reader;
#[path = "real_console/run.rs"]
mod run;
#[path = "real_console/stage.rs"]
mod stage;
#[path = "real_console/viewers.rs"]
mod viewers;
#[path = "real_runners/works.rs"]
mod works;
