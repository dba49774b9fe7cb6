//! How soon a machine that waits is seen to be busy with a job: everything but the platform's own time, of which the
//! simulated one takes none.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Context, Result};
use api::{MachineClaim, Phase};
use futures::{StreamExt, TryStreamExt};
use kube::ResourceExt;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::json;
use tempfile::TempDir;
use testenv::eventually;
use tokio::time::Instant;

use super::claims::milliseconds;
use super::courier::Courier;
use super::platform::Platform;
use super::scene::{furnish, ready};
use super::town::{self, SOON, Town};
use crate::figures::Figures;
use crate::memory::beside_us;

/// Jobs that are queued one after the other.
const JOBS: usize = 20;

/// Machines that wait for them.
const WARM: usize = 3;

/// How long a job takes: longer than the news that it is under way.
const SECONDS: f64 = 3.0;

pub(super) async fn measure(figures: &mut Figures) -> Result<()> {
    let (platform, port) = (Platform::start().await?, testenv::free_port()?);
    let image = image(&platform)?;
    let runners = image.path().to_str().context("a path of plain letters")?;
    let (_hypervisor, address) = town::inhabited(&["--agent-runners-dir", runners]).await?;
    let town = Town::empty(|command| {
        platform.dress(command, port);
        command.arg("--hypervisor-period=1s");
    })
    .await?;
    town.furnish(&address).await?;
    let scaling = json!({ "maxReplicas": JOBS, "warm": WARM, "minReplicas": 0 });
    let courier = Courier::new(port, furnish(&town, &platform, &scaling).await?);
    ready(&town).await;
    let mut took = tokio::select! {
        failed = deliver(&platform, &courier) => match failed? {},
        took = jobs(&town, &platform) => took?,
    };
    took.sort_by(f64::total_cmp);
    figures.put("jobs.warm_to_busy_p50_ms", took[JOBS / 2]);
    Ok(())
}

/// Brings whatever the platform has to tell.
async fn deliver(platform: &Platform, courier: &Courier) -> Result<Infallible> {
    let mut line = courier.connect().await?;
    loop {
        line.bring(&platform.next().await?).await?;
    }
}

/// From a job that is queued while a runner waits for it to the news that a claim is busy, each after the one before.
async fn jobs(town: &Town, platform: &Platform) -> Result<Vec<f64>> {
    let mut claims = watcher(town.claims(), watcher::Config::default()).applied_objects().boxed();
    let (mut busy, mut took) = (BTreeSet::new(), Vec::new());
    for number in 0..JOBS {
        eventually("a runner waits", SOON, async || {
            platform.simulator.runners().iter().any(|runner| runner.online && !runner.busy).then_some(())
        })
        .await;
        let queued = Instant::now();
        platform.queue_one(SECONDS)?;
        let seen = async {
            loop {
                let claim: MachineClaim = claims.try_next().await?.context("the watch goes on")?;
                let is_busy = claim.status.as_ref().and_then(|status| status.phase) == Some(Phase::Busy);
                if is_busy && busy.insert(claim.name_any()) {
                    return anyhow::Ok(());
                }
            }
        };
        tokio::time::timeout(SOON, seen).await.with_context(|| format!("job {number} made no claim busy"))??;
        took.push(milliseconds(queued.elapsed()));
    }
    Ok(took)
}

/// What an image has: the stand-in where GitHub's runner is. Nobody else's environment reaches it, so that it says itself
/// whom it trusts.
fn image(platform: &Platform) -> Result<TempDir> {
    let image = TempDir::new()?;
    std::fs::set_permissions(image.path(), Permissions::from_mode(0o755))?;
    let (home, program, trust) =
        (image.path().join("actions-runner/bin"), image.path().join("hyperfleet-sim"), image.path().join("ca.pem"));
    std::fs::create_dir_all(&home)?;
    // A link where that is possible: it is large.
    let simulator = beside_us("hyperfleet-sim")?;
    std::fs::hard_link(&simulator, &program).or_else(|_| std::fs::copy(&simulator, &program).map(drop))?;
    std::fs::write(&trust, platform.authority()?)?;
    let script = format!("#!/bin/sh\nSSL_CERT_FILE={} exec {} runner \"$@\"\n", trust.display(), program.display());
    let listener = home.join("Runner.Listener");
    std::fs::write(&listener, script)?;
    std::fs::set_permissions(&listener, Permissions::from_mode(0o755))?;
    Ok(image)
}
