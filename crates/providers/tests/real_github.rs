//! Our client of GitHub against programs: `hyperfleet-sim github` over TLS, and the emulator of the crate `scaleset`.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "real_github/emulator.rs"]
mod emulator;
#[path = "real_github/ground.rs"]
mod ground;
#[path = "real_github/simulator.rs"]
mod simulator;
