//! Runner pools with nothing made up but the hypervisor: a real Gitea, real runners under real agents, the real operator on
//! a real API server with the roles that an installation has.
//!
//! ```text
//!   git push ─▶ Gitea ──workflow_job──▶ ingress ─▶ RunnerJob ─▶ MachineClaim ─▶ simulated VM: agent ─▶ gitea-runner
//!                 ▲                                                                                        │
//!                 └───────────────────────────────── takes one job, runs it ───────────────────────────────┘
//! ```

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(clippy::wildcard_enum_match_arm, reason = "a test names what it means")]
#![allow(clippy::print_stdout, reason = "the counts of a lane are shown beside its time")]

#[path = "real_gitea_pools/cancelled.rs"]
mod cancelled;
#[path = "real_gitea_pools/forge.rs"]
mod forge;
#[path = "real_gitea_pools/hooks.rs"]
mod hooks;
#[path = "real_gitea_pools/image.rs"]
mod image;
#[path = "real_gitea_pools/lost.rs"]
mod lost;
#[path = "real_gitea_pools/pushed.rs"]
mod pushed;
#[path = "real_gitea_pools/restart.rs"]
mod restart;
#[path = "real_gitea_pools/town.rs"]
mod town;
