//! Whole days of a whole fleet: two replicas, a hypervisor, a CI platform and machines, and everything that can go wrong.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stdout, reason = "the counts of a lane are shown beside its time")]
#![allow(dead_code, reason = "the town, its yard and its guests serve other tests too")]

#[path = "virtual_pools/bounds.rs"]
mod bounds;
#[path = "virtual_day/day.rs"]
mod day;
#[path = "virtual_machines/guests.rs"]
mod guests;
#[path = "virtual_pools/town.rs"]
mod town;
#[path = "virtual_day/trouble.rs"]
mod trouble;
#[path = "virtual_machines/yard.rs"]
mod yard;
