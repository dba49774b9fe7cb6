//! What the real program holds in memory.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use testenv::{Program, Signal, eventually};

use crate::ceiling::OBJECTS;
use crate::figures::Figures;
use crate::world::World;

/// The operator without a single object.
pub(crate) async fn idle(world: &World, figures: &mut Figures) -> Result<()> {
    figures.put("runtime.idle_rss_mb", resident(world).await?);
    Ok(())
}

/// The operator with ten thousand objects in its cache.
pub(crate) async fn ten_thousand_objects(world: &World, figures: &mut Figures) -> Result<()> {
    let there = world.jobs().list_metadata(&kube::api::ListParams::default()).await?.items.len();
    world.create_jobs(OBJECTS * 2, 10_000_usize.saturating_sub(there)).await?;
    figures.put("runtime.rss_10k_objects_mb", resident(world).await?);
    Ok(())
}

/// Starts the program, waits until it is ready and has settled, and reads its memory.
async fn resident(world: &World) -> Result<f64> {
    let mut command = Command::new(beside_us("hyperfleet")?);
    command
        .arg("operator")
        .arg(format!("--watch-namespaces={}", world.namespace))
        .args(["--health-probe-bind-address=0", "--metrics-bind-address=0"])
        .env("KUBECONFIG", world.plane.kubeconfig());
    let program = Program::start(&command);
    program
        .wait_until("the controllers have started", Duration::from_mins(1), |lines| {
            lines.iter().any(|line| line.text.contains("runtime::driver") && line.text.contains("started"))
        })
        .await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let megabytes = resident_megabytes(program.pid());
    program.signal(Signal::Terminate);
    eventually("the program ends", Duration::from_secs(30), async || program.ended()).await;
    megabytes
}

/// What a process holds in memory now.
pub(crate) fn resident_megabytes(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kilobytes =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().split(' ').next()?.parse::<f64>().ok());
    Ok(kilobytes.context("the kernel says nothing about the program's memory")? / 1024.0)
}

/// A program of the same build.
pub(crate) fn beside_us(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    anyhow::ensure!(path.exists(), "{} is missing: run `make bench`", path.display());
    Ok(path)
}
