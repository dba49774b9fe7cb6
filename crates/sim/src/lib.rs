//! Worlds that behave like the real ones, for tests, demos and benchmarks.
//!
//! ```text
//!   proxmox   a Proxmox VE cluster behind its HTTP API: locks that time out, tasks that fail late, statistics that
//!             lag, disks that leak
//!   github    GitHub Actions: Apps, runners, a job engine, webhooks that get lost, scale sets with message sessions
//!   world     whole operators in virtual time: processes that stop and die, a network that fails, a Kubernetes API,
//!             and a checker over everything that was sent and everything that came of it
//! ```
//!
//! A world is a value. In process it is a [`tower::Service`], so that whole operators run against it in virtual time;
//! as a server it speaks to clients that nobody here wrote.

pub mod github;
pub mod proxmox;
pub mod world;

pub use chassis::{Clock, Tasks};
