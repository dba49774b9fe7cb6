//! A world does to its actors what it says, and does the same again for the same seed.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::print_stdout, reason = "figures belong to the lane's report")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "virtual_world/counter.rs"]
mod counter;
#[path = "virtual_world/faults.rs"]
mod faults;
#[path = "virtual_world/hypervisor.rs"]
mod hypervisor;
#[path = "virtual_world/lives.rs"]
mod lives;
#[path = "virtual_world/prototype.rs"]
mod prototype;
