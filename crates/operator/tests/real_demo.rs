//! `hyperfleet demo` as a person runs it: in a pipe, on a terminal, left in the middle, and with kubectl beside it.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stdout, reason = "the counts of a lane are shown beside its time")]

#[path = "real_console/browser.rs"]
#[allow(dead_code, reason = "tests of the console use more of it")]
mod browser;
#[path = "real_demo/console.rs"]
mod console;
#[path = "real_demo/faults.rs"]
mod faults;
#[path = "real_demo/leaving.rs"]
mod leaving;
#[path = "real_demo/screen.rs"]
mod screen;
#[path = "real_demo/session.rs"]
mod session;
#[path = "real_demo/shown.rs"]
mod shown;
#[path = "real_demo/stand.rs"]
mod stand;
#[path = "real_why/terminal.rs"]
mod terminal;
#[path = "real_demo/typed.rs"]
mod typed;
