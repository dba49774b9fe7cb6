//! How much simulated time a second of computing buys: the example controller, two replicas of it, through days of faults.

use std::time::Duration;

use anyhow::{Context, Result};
use sim::world::{Storm, World, seeds};

use crate::figures::Figures;
use crate::house;

/// Days that are measured; the first one is not, for it warms everything up.
const DAYS: u64 = 20;

/// Lives through days with five minutes of storm each, and checks every promise as the tests do.
pub(crate) fn measure() -> Result<Figures> {
    let promises = house::promises();
    let mut hours = 0.0;
    let mut before = 0.0;
    for (number, seed) in seeds(1, DAYS + 1).into_iter().enumerate() {
        if number == 1 {
            before = cpu_seconds()?;
        }
        let age = World::run(seed, async |world: World| {
            house::day(&world, None, &Storm::rough(Duration::from_mins(5))).await;
            world.judge(&promises).map(|()| world.age())
        });
        let age = age.map_err(|failed| anyhow::anyhow!("the example controller broke a promise: {failed}"))?;
        if number > 0 {
            hours += age.as_secs_f64() / 3600.0;
        }
    }
    let mut figures = Figures::default();
    figures.put("world.virtual_hours_per_cpu_s", hours / (cpu_seconds()? - before));
    Ok(figures)
}

/// What this process has computed so far, by the kernel's count.
fn cpu_seconds() -> Result<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').context("the kernel tells a name")?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || -> Result<f64> { Ok(fields.next().context("the kernel tells its count")?.parse()?) };
    Ok((ticks()? + ticks()?) / TICKS_PER_SECOND)
}
