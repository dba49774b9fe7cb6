//! The world outside Kubernetes.
//!
//! ```text
//!   planner ──Step──▶ Hypervisor (trait) ──▶ proxmox::Proxmox ──▶ http::Client ──▶ tower::Service
//!                          ▲                                                        │        │
//!                          └── kit: one suite for every provider         hyper + rustls   a simulator
//! ```
//!
//! [`hypervisor`] says in types what any hypervisor must do for us and what must never happen: nothing changes a VM
//! without a fresh look that proved it ours, and nothing waits for a long task. [`hypervisor::proxmox`] does it for
//! Proxmox VE; [`hypervisor::kit`] holds any implementation to the same promises, a real one included. [`http`] is the
//! one client every provider talks through: in production over TLS, in tests straight into a simulator, in virtual time.
//!
//! [`platform`] says the same of CI platforms: how demand is learnt, and how a machine that has proven itself ([`attestor`])
//! becomes a runner for one job. [`platform::github`] does it for GitHub Actions, and [`platform::kit`] holds every platform
//! to it.

pub mod attestor;
pub mod hex;
pub mod http;
pub mod hypervisor;
pub mod platform;
