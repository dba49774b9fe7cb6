//! What jobs cost where people see it: from a CI platform's delivery to the call for a machine, with the real programs
//! around a real API server.
//!
//! ```text
//!   simulated GitHub ── deliveries ──▶ this program ── over loopback ──▶ the operator's ingress ──▶ kube-apiserver
//!        in this program                    └── when each was sent, when each clone call arrived ──┐      │ the operator
//!                                                                     simulated Proxmox VE ◀───────┴──────┘
//! ```
//!
//! GitHub makes and signs the deliveries and knows the jobs they tell of, so that whatever the operator asks about them is
//! answered; its own time is not measured.

mod burst;
mod courier;
mod demand;
mod platform;
mod response;
mod scene;
mod warm;

use anyhow::Result;

use crate::figures::Figures;
use crate::{claims, town, usage};

/// Measures the figures about jobs whose names begin with `part`.
pub(crate) async fn measure(part: &str) -> Result<Figures> {
    let wanted = |names: &[&str]| names.iter().any(|name| name.starts_with(part));
    let mut figures = Figures::default();
    if wanted(&["jobs.webhook_to_clone_p50_ms", "jobs.webhook_to_clone_p95_ms"]) {
        response::measure(&mut figures).await?;
    }
    if wanted(&["jobs.demand_share", "jobs.demand_per_s", "jobs.webhooks_per_s"]) {
        demand::measure(&mut figures).await?;
    }
    if wanted(&["jobs.burst1000_"]) || part.starts_with("jobs.burst1000_") {
        burst::measure(&mut figures).await?;
    }
    if wanted(&["jobs.warm_to_busy_p50_ms"]) {
        warm::measure(&mut figures).await?;
    }
    Ok(figures)
}
