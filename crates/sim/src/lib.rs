//! Worlds that behave like the real ones, for tests, demos and benchmarks.
//!
//! ```text
//!   proxmox   a Proxmox VE cluster behind its HTTP API: locks that time out, tasks that fail late, statistics that
//!             lag, disks that leak
//! ```
//!
//! A world is a value. In process it is a [`tower::Service`], so that whole operators run against it in virtual time;
//! as a server it speaks to clients that nobody here wrote.

pub mod proxmox;

pub use chassis::{Clock, Tasks};
