//! A whole fleet in worlds: the operator with a simulated Proxmox VE, a simulated GitHub and real agents.
//!
//! One program, because every one of them holds the whole operator, and compiling that once is enough.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stdout, reason = "the counts of a lane are shown beside its time")]

mod bounds;
mod days;
mod everywhere;
mod guests;
mod machines;
mod mishaps;
mod pools;
mod promises;
mod town;
mod yard;
