//! `make bench`: measures what we promise and compares it with the bar.
//!
//! Machines are shared and noisy, so the promises are ratios to what the same API server did in the same run, counts of
//! calls, and memory. The result is a table for people and `target/bench.json`, a flat object of figure name to number,
//! for everybody else. A figure that misses its bar makes the run fail.

mod ceiling;
mod figures;
mod memory;
mod passes;
mod world;

use anyhow::Result;
use figures::Figures;
use passes::Caches;
use world::World;

#[tokio::main]
async fn main() -> Result<()> {
    let mut figures = Figures::default();
    let world = World::new().await?;
    memory::idle(&world, &mut figures).await?;
    let caches = Caches::follow(&world).await?;
    ceiling::measure(&world, &mut figures).await?;
    passes::measure(&world, caches, &mut figures).await?;
    memory::ten_thousand_objects(&world, &mut figures).await?;
    figures.publish()
}
