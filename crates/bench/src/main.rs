//! `make bench`: measures what we promise and compares it with the bar.
//!
//! Machines are shared and noisy, so the promises are ratios to what the same API server did in the same run, counts of
//! calls, and memory. The result is a table for people and `target/bench.json`, a flat object of figure name to number,
//! for everybody else. A figure that misses its bar makes the run fail.

mod api_server;
mod ceiling;
mod claims;
mod days;
#[path = "../../runtime/tests/bugs/faulty.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "a scene of the tests, of which only the sound controller is measured"
)]
mod faulty;
mod figures;
#[path = "../../runtime/tests/bugs/house.rs"]
#[allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "a scene of the tests, which use the rest")]
mod house;
mod jobs;
#[path = "../../runtime/examples/lamps/lamp.rs"]
#[allow(dead_code, unreachable_pub, reason = "the example and the tests use the rest")]
mod lamp;
mod machines;
mod memory;
mod passes;
mod server;
#[path = "../../runtime/tests/world/site.rs"]
#[allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "a scene of the tests, which use the rest")]
mod site;
mod town;
mod up;
mod usage;
mod world;

use anyhow::Result;
use figures::Figures;
use passes::{Caches, SHARE};
use world::World;

#[tokio::main]
async fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        None => everything().await,
        Some(part) if part.starts_with("claims.") => claims::measure(part).await?.publish(part),
        Some(part) if part.starts_with("jobs.") => jobs::measure(part).await?.publish(part),
        Some("up.") => up::measure().await?.publish("up."),
        Some(other) => {
            anyhow::bail!(
                "{other:?} cannot be measured alone: say nothing, up., or claims. or jobs. and what follows it"
            )
        }
    }
}

async fn everything() -> Result<()> {
    let mut figures = Figures::default();
    let world = World::new().await?;
    memory::idle(&world, &mut figures).await?;
    figures.take(median_round().await?);
    memory::ten_thousand_objects(&world, &mut figures).await?;
    figures.take(machines::measure()?);
    figures.take(api_server::measure().await?);
    figures.take(std::thread::spawn(days::measure).join().map_err(|_| anyhow::anyhow!("the days fell apart"))??);
    figures.take(claims::measure("").await?);
    figures.take(jobs::measure("").await?);
    figures.take(up::measure().await?);
    figures.publish("")
}

/// Rounds in which the driver is measured against the ceiling.
const ROUNDS: usize = 5;

/// Measures the ceiling and, right after it, the driver, again and again; gives the round in the middle. A neighbour that
/// takes the machine for a second spoils one round, not the result.
async fn median_round() -> Result<Figures> {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let (mut round, world) = (Figures::default(), World::new().await?);
        let caches = Caches::follow(&world).await?;
        round.put("apiserver_real.creates_per_s", ceiling::measure(&world).await?);
        passes::measure(&world, caches, &mut round).await?;
        rounds.push(round);
    }
    rounds.sort_by(|a, b| a.get(SHARE).total_cmp(&b.get(SHARE)));
    Ok(rounds.swap_remove(ROUNDS / 2))
}
