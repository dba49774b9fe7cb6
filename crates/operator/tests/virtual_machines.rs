//! The operator's machine controllers in worlds: clusters and templates.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "virtual_machines/clusters.rs"]
mod clusters;
#[path = "virtual_machines/templates.rs"]
mod templates;
#[path = "virtual_machines/yard.rs"]
mod yard;
