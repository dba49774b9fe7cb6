//! What machines cost on a simulated Proxmox VE: calls, time beside the storage's own, memory.
//!
//! Time is virtual here: what would take hours of cloning takes seconds, and a busy machine changes nothing.

mod burst;
mod cluster;
mod life;

use anyhow::{Context, Result};
use sim::proxmox::Profile;

use crate::figures::Figures;
use cluster::{Cluster, IMAGE};
use life::Seeding;

/// Measures everything about machines.
pub(crate) fn measure() -> Result<Figures> {
    // Time can only be paused where one thread does everything.
    let work =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?.block_on(all());
    std::thread::spawn(work).join().map_err(|_| anyhow::anyhow!("the measurement of machines fell apart"))?
}

async fn all() -> Result<Figures> {
    let mut figures = Figures::default();
    figures.put("proxmox.calls_per_vm_life_smbios", calls_per_life(Seeding::Smbios).await?);
    figures.put("proxmox.calls_per_vm_life_iso", calls_per_life(Seeding::Iso).await?);
    figures.put("proxmox.inventory_calls_per_tick_10k", inventory_calls(10_000).await?);
    figures.put("proxmox.clone200_over_serial", burst::over_serial(200, Profile::NVME_LINKED).await?);
    figures.put("proxmox.rss_growth_10k_lives_mb", growth(10_000).await?);
    Ok(figures)
}

/// Calls of one machine's life, those that only ask how a task stands apart.
async fn calls_per_life(seeding: Seeding) -> Result<f64> {
    let cluster = Cluster::new(Profile::NVME_LINKED).await;
    let image = cluster.image().await?;
    let before = cluster.calls();
    life::whole(&cluster, &image, 1_000, seeding).await?;
    count(cluster.calls() - before)
}

/// Calls that one look at everything costs, however much there is.
async fn inventory_calls(machines: u32) -> Result<f64> {
    use providers::hypervisor::Hypervisor as _;
    let cluster = Cluster::new(Profile::ZERO).await;
    cluster.simulator.crowd(100_000..100_000 + machines, "pve2");
    let before = cluster.calls();
    let seen = cluster.proxmox.inventory().await?;
    anyhow::ensure!(seen.vms.len() >= usize::try_from(machines)?, "only {} machines were listed", seen.vms.len());
    count(cluster.calls() - before)
}

/// Memory that stays after so many lives: of the client, and of the simulator beside it.
async fn growth(lives: u32) -> Result<f64> {
    // What is bounded (logs of calls and tasks, caches) is full by then.
    const WARM_UP: u32 = 2_000;
    let cluster = Cluster::new(Profile::ZERO).await;
    let image = cluster.image().await?;
    let mut before = 0.0;
    for number in 0..WARM_UP + lives {
        if number == WARM_UP {
            before = resident()?;
        }
        life::whole(&cluster, &image, 1_000 + number % 1_000, Seeding::Smbios).await?;
    }
    anyhow::ensure!(
        cluster.simulator.state()["vms"].as_array().map(Vec::len) == Some(3),
        "only the {IMAGE} images are left"
    );
    Ok((resident()? - before).max(0.0))
}

/// Memory of this process, in megabytes.
pub(crate) fn resident() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("the kernel tells no memory")?;
    let kilobytes: f64 = line.trim().split(' ').next().context("the kernel tells a number")?.parse()?;
    Ok(kilobytes / 1024.0)
}

fn count(number: usize) -> Result<f64> {
    Ok(f64::from(u32::try_from(number)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_life_costs_at_most_the_calls_that_were_promised() {
        assert!(calls_per_life(Seeding::Smbios).await.unwrap() <= 11.0);
        assert!(calls_per_life(Seeding::Iso).await.unwrap() <= 14.0);
    }

    #[tokio::test(start_paused = true)]
    async fn two_hundred_clones_take_little_longer_than_their_storage_does() {
        for profile in [Profile::NVME_LINKED, Profile::CEPH] {
            let ratio = burst::over_serial(200, profile).await.unwrap();
            assert!((1.0..=1.3).contains(&ratio), "{}: {ratio}", profile.name);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_call_lists_a_thousand_machines() {
        assert!((inventory_calls(1_000).await.unwrap() - 1.0).abs() < f64::EPSILON);
    }
}
