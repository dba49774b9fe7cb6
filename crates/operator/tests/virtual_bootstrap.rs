//! The bootstrap service in worlds: replicas of it over one Kubernetes API, and agents, true and false.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "virtual_bootstrap/crowd.rs"]
mod crowd;
#[path = "virtual_bootstrap/life.rs"]
mod life;
#[path = "virtual_bootstrap/post.rs"]
mod post;
#[path = "virtual_bootstrap/refused.rs"]
mod refused;
#[path = "virtual_bootstrap/seeds.rs"]
mod seeds;
#[path = "virtual_bootstrap/stale.rs"]
mod stale;
