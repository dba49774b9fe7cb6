//! The simulated Proxmox VE in virtual time: held to recorded answers, and to what a cluster does over time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "virtual_proxmox/cluster.rs"]
mod cluster;
#[path = "virtual_proxmox/golden.rs"]
mod golden;
#[path = "virtual_proxmox/replay.rs"]
mod replay;
#[path = "virtual_proxmox/returns.rs"]
mod returns;
