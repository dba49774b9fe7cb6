//! How soon a claim becomes a call to the hypervisor, when nothing else happens.

use std::time::Duration;

use anyhow::{Context, Result};
use kube::api::PostParams;
use sim::proxmox::Simulator;
use testenv::eventually;
use tokio::time::Instant;

use super::town::{self, SOON, Town};
use crate::figures::Figures;

/// Claims that are made one after the other.
const CLAIMS: usize = 100;

/// Those before the clock counts: connections are open and caches warm after them.
const WARM_UP: usize = 5;

/// The moment at which the clone of a machine was asked for.
pub(super) fn asked_for(simulator: &Simulator, machine: &str) -> Option<Instant> {
    simulator.clones().into_iter().find(|(name, _)| name == machine).map(|(_, at)| at)
}

/// From a claim that its creator knows to exist to the arrival of its clone call, each after the one before.
pub(super) async fn measure(figures: &mut Figures) -> Result<()> {
    let (simulator, address) = town::hypervisor().await?;
    let town = Town::new(&address, &[]).await?;
    let claims = town.claims();
    let mut took = Vec::new();
    for number in 0..WARM_UP + CLAIMS {
        let name = format!("one-{number:03}");
        claims.create(&PostParams::default(), &town::claim(&name, &["true"])?).await.context("create a claim")?;
        let (visible, machine) = (Instant::now(), town.machine(&name));
        let asked = eventually("the clone is asked for", SOON, async || asked_for(&simulator, &machine)).await;
        took.push(asked.saturating_duration_since(visible));
    }
    let mut took = took.split_off(WARM_UP);
    took.sort();
    figures.put("claims.decision_p50_ms", milliseconds(took[CLAIMS / 2]));
    figures.put("claims.decision_p95_ms", milliseconds(took[CLAIMS * 95 / 100]));
    Ok(())
}

pub(crate) fn milliseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1_000.0
}
