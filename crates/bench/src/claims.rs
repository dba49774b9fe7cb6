//! What machines cost where people see it: claims on a real API server, with the real programs around them.
//!
//! ```text
//!   this program ── claims ──▶ kube-apiserver ◀── the operator, a process of its own ── calls ──▶ simulated Proxmox VE
//!        └───────────────── audit log, /proc, when each clone call arrived ──────────────────────────────┘
//! ```
//!
//! Time is real here, so that what is promised is a ratio to what the same API server could take in the same run, a count,
//! or a bar that is far above what a quiet machine shows.

pub(crate) mod burst;
mod decision;
mod idle;
mod life;

use anyhow::Result;

use crate::figures::Figures;
use crate::{town, usage};
pub(crate) use decision::milliseconds;

/// Machines of a burst, and of the quiet after it.
pub(crate) const MACHINES: usize = 1_000;

/// Measures the figures about claims whose names begin with `part`.
pub(crate) async fn measure(part: &str) -> Result<Figures> {
    let wanted = |names: &[&str]| names.iter().any(|name| name.starts_with(part));
    let mut figures = Figures::default();
    if wanted(&["claims.events", "claims.writes_to_gone", "claims.writes_to_ready"]) {
        life::measure(&mut figures).await?;
    }
    if wanted(&["claims.decision_p50_ms", "claims.decision_p95_ms"]) {
        decision::measure(&mut figures).await?;
    }
    let idles = wanted(&["claims.idle1000_calls_per_min", "claims.idle1000_writes_per_min"]);
    if idles || wanted(&["claims.burst1000_cpu_s", "claims.burst1000_over_ceiling", "claims.burst1000_peak_rss_mb"]) {
        let crowded = burst::measure(&mut figures).await?;
        if idles {
            idle::measure(&crowded, &mut figures).await?;
        }
    }
    Ok(figures)
}
