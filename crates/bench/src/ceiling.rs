//! What the API server itself can take: the yardstick for everything that writes.

use anyhow::Result;
use testenv::Stopwatch;

use crate::world::World;

/// Objects created for the yardstick, and reconciled afterwards.
pub(crate) const OBJECTS: usize = 1_000;

/// Objects written before the clock starts, so that connections and caches are warm.
pub(crate) const WARM_UP: usize = 200;

/// Objects created per second by a server that has nothing else to do, in a namespace that nobody looks at: the one
/// yardstick for whatever writes.
pub(crate) async fn creates_per_second() -> Result<f64> {
    measure(&World::new().await?).await
}

/// The same in a world where somebody will look.
pub(crate) async fn measure(world: &World) -> Result<f64> {
    world.create_jobs(OBJECTS, WARM_UP).await?;
    let watch = Stopwatch::start();
    world.create_jobs(0, OBJECTS).await?;
    Ok(per_second(OBJECTS, &watch))
}

pub(crate) fn per_second(count: usize, watch: &Stopwatch) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / watch.elapsed().as_secs_f64()
}
