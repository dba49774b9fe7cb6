//! Pools in worlds: a simulated GitHub, a simulated Proxmox VE, real agents, and the operator between them.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stdout, reason = "the counts of a lane are shown beside its time")]
#![allow(dead_code, reason = "the yard and its guests serve the tests of machines too")]

#[path = "virtual_pools/bounds.rs"]
mod bounds;
#[path = "virtual_pools/crashes.rs"]
mod crashes;
#[path = "virtual_machines/everywhere.rs"]
mod everywhere;
#[path = "virtual_machines/guests.rs"]
mod guests;
#[path = "virtual_pools/jobs.rs"]
mod jobs;
#[path = "virtual_pools/kills.rs"]
mod kills;
#[path = "virtual_pools/minting.rs"]
mod minting;
#[path = "virtual_pools/sizes.rs"]
mod sizes;
#[path = "virtual_pools/states.rs"]
mod states;
#[path = "virtual_pools/town.rs"]
mod town;
#[path = "virtual_pools/trust.rs"]
mod trust;
#[path = "virtual_machines/yard.rs"]
mod yard;
