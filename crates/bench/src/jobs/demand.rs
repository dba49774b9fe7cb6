//! How fast an ingress takes what it hears: jobs that are new, and deliveries that change nothing.
//!
//! The ingress runs in a process of its own, as its Deployment does: what becomes of the jobs afterwards is measured in the
//! burst.

use anyhow::{Result, ensure};
use http::StatusCode;
use serde_json::json;
use testenv::{Stopwatch, eventually};

use super::courier::Courier;
use super::platform::Platform;
use super::scene::furnish;
use super::town::{SOON, Town};
use crate::ceiling::{OBJECTS, creates_per_second, per_second};
use crate::figures::Figures;
use crate::world::PARALLEL;

/// Rounds in which the ingress is measured against the ceiling: a neighbour that takes the machine for a second spoils one.
const ROUNDS: usize = 5;

/// How often each delivery is repeated.
const REPEATS: usize = 20;

pub(super) async fn measure(figures: &mut Figures) -> Result<()> {
    let (platform, port) = (Platform::start().await?, testenv::free_port()?);
    let town = Town::empty(|command| {
        platform.dress(command, port);
        command.arg("--controllers=ingress");
    })
    .await?;
    let courier = Courier::new(port, furnish(&town, &platform, &json!({ "maxReplicas": 1_000 })).await?);
    let mut known = platform.queue(1).await?;
    eventually("the ingress is open", SOON, async || {
        let status = courier.connect().await.ok()?.offer(&known[0]).await.ok()?;
        (status == StatusCode::ACCEPTED).then_some(())
    })
    .await;

    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let ceiling = creates_per_second().await?;
        let deliveries = platform.queue(OBJECTS).await?;
        let watch = Stopwatch::start();
        courier.bring(&deliveries, PARALLEL).await?;
        let rate = per_second(OBJECTS, &watch);
        rounds.push((rate / ceiling, rate));
        known = deliveries;
    }
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (share, rate) = rounds[ROUNDS / 2];
    figures.put("jobs.demand_per_s", rate);
    figures.put("jobs.demand_share", share);

    let mark = town.plane.audit_mark().await;
    let watch = Stopwatch::start();
    for _ in 0..REPEATS {
        courier.bring(&known, PARALLEL).await?;
    }
    figures.put("jobs.webhooks_per_s", per_second(REPEATS * known.len(), &watch));
    let asked = town.plane.audit_since(mark).await.user(&town.user());
    let asked = asked.filter(|line| line.resource == "runnerjobs" && line.verb != "watch" && line.verb != "list");
    ensure!(asked.is_empty(), "deliveries that change nothing were {} calls", asked.len());
    Ok(())
}
