//! The operator's machine controllers in worlds: clusters, templates and claims.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stdout, reason = "the counts of a lane are shown beside its time")]
#![allow(dead_code, reason = "the yard and its guests serve the tests of pools too")]

#[path = "virtual_machines/claims.rs"]
mod claims;
#[path = "virtual_machines/clusters.rs"]
mod clusters;
#[path = "virtual_machines/crashes.rs"]
mod crashes;
#[path = "virtual_machines/everywhere.rs"]
mod everywhere;
#[path = "virtual_machines/guests.rs"]
mod guests;
#[path = "virtual_machines/mistakes.rs"]
mod mistakes;
#[path = "virtual_machines/moved.rs"]
mod moved;
#[path = "virtual_machines/named.rs"]
mod named;
#[path = "virtual_machines/neighbours.rs"]
mod neighbours;
#[path = "virtual_machines/orphans.rs"]
mod orphans;
#[path = "virtual_machines/placed.rs"]
mod placed;
#[path = "virtual_machines/runners.rs"]
mod runners;
#[path = "virtual_machines/secrets.rs"]
mod secrets;
#[path = "virtual_machines/seeds.rs"]
mod seeds;
#[path = "virtual_machines/stops.rs"]
mod stops;
#[path = "virtual_machines/storms.rs"]
mod storms;
#[path = "virtual_machines/templates.rs"]
mod templates;
#[path = "virtual_machines/threats.rs"]
mod threats;
#[path = "virtual_machines/yard.rs"]
mod yard;
