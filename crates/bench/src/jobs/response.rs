//! How soon a job becomes a call to the hypervisor, when nothing else happens.

use anyhow::Result;
use testenv::eventually;
use tokio::time::Instant;

use super::claims::milliseconds;
use super::scene::Scene;
use super::town::{SOON, first_calls};
use crate::figures::Figures;

/// Jobs that are queued one after the other.
const JOBS: usize = 100;

/// Those before the clock counts: connections are open and caches warm after them.
const WARM_UP: usize = 5;

/// From a delivery that leaves to the arrival of the clone call for its job, each after the one before.
pub(super) async fn measure(figures: &mut Figures) -> Result<()> {
    let scene = Scene::new().await?;
    let mut line = scene.courier.connect().await?;
    let mut took = Vec::new();
    for number in 0..WARM_UP + JOBS {
        let deliveries = scene.platform.queue(1).await?;
        let before = first_calls(&scene.hypervisor);
        anyhow::ensure!(before.len() == number, "{} machines for {number} jobs", before.len());
        let sent = Instant::now();
        for delivery in &deliveries {
            line.bring(delivery).await?;
        }
        let asked = eventually("the clone is asked for", SOON, async || {
            first_calls(&scene.hypervisor).into_values().max().filter(|at| *at > sent)
        })
        .await;
        took.push(asked.duration_since(sent));
    }
    let mut took = took.split_off(WARM_UP);
    took.sort();
    figures.put("jobs.webhook_to_clone_p50_ms", milliseconds(took[JOBS / 2]));
    figures.put("jobs.webhook_to_clone_p95_ms", milliseconds(took[JOBS * 95 / 100]));
    Ok(())
}
