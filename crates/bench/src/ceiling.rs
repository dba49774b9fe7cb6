//! What the API server itself can take: the yardstick for everything that writes.

use anyhow::Result;
use testenv::Stopwatch;

use crate::figures::Figures;
use crate::world::World;

/// Objects created for the yardstick, and reconciled afterwards.
pub(crate) const OBJECTS: usize = 1_000;

/// Objects written before the clock starts, so that connections and caches are warm.
pub(crate) const WARM_UP: usize = 200;

pub(crate) async fn measure(world: &World, figures: &mut Figures) -> Result<()> {
    world.create_jobs(OBJECTS, WARM_UP).await?;
    let watch = Stopwatch::start();
    world.create_jobs(0, OBJECTS).await?;
    figures.put("apiserver_real.creates_per_s", per_second(OBJECTS, &watch));
    Ok(())
}

pub(crate) fn per_second(count: usize, watch: &Stopwatch) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / watch.elapsed().as_secs_f64()
}
