//! The conformance kit over Proxmox VE: both releases, every latency profile, every seed, and a bad line.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "simulated/cluster.rs"]
mod cluster;

use cluster::{Cluster, bench};
use providers::hypervisor::kit::{Case, Kit, Outcome, Report, SeedKind};
use rstest::rstest;
use sim::proxmox::{Profile, Release};

/// Runs the whole kit; the cluster must be afterwards as it was before.
async fn run(cluster: &Cluster, seed: SeedKind, profile: Profile) -> Report {
    let before = cluster.simulator.state();
    let report = Kit::new(&cluster.proxmox, cluster, bench(seed, profile)).run().await;
    assert!(report.is_good(), "{report}");
    let after = cluster.simulator.state();
    assert_eq!((&before["vms"], &before["volumes"]), (&after["vms"], &after["volumes"]), "{report}");
    assert_eq!(after["runningTasks"], serde_json::json!([]), "{report}");
    report
}

#[rstest]
#[case(Release::V8)]
#[case(Release::V9)]
#[tokio::test(start_paused = true)]
async fn p24_r11_2_r11_5_proxmox_passes_the_kit_under_each_latency_profile(#[case] release: Release) {
    for profile in Profile::ALL {
        let cluster = Cluster::new(release, profile, 1).await;
        let report = run(&cluster, SeedKind::Iso, profile).await;
        assert_eq!(report.entries.len(), Case::ALL.len());
        assert!(
            report.entries.iter().all(|entry| matches!(entry.outcome, Outcome::Passed(_))),
            "{}: {report}",
            profile.name
        );
    }
}

#[rstest]
#[case(SeedKind::Smbios)]
#[case(SeedKind::Native)]
#[tokio::test(start_paused = true)]
async fn r8_4_every_seed_passes(#[case] seed: SeedKind) {
    let cluster = Cluster::new(Release::V9, Profile::NVME_LINKED, 2).await;
    run(&cluster, seed, Profile::NVME_LINKED).await;
}

/// The kit with one call in twenty lost, for each of these seeds.
#[expect(clippy::print_stdout, reason = "a seed that fails is named, and the lane repeats the count")]
async fn bad_lines(seeds: std::ops::RangeInclusive<u64>) {
    let count = seeds.clone().count();
    for seed in seeds {
        let profile = Profile::ALL[usize::try_from(seed).unwrap() % Profile::ALL.len()];
        let cluster = Cluster::new(Release::V9, profile, seed).await.on_a_bad_line(0.05);
        println!("seed {seed}, {}", profile.name);
        run(&cluster, SeedKind::Iso, profile).await;
    }
    println!("lane: {count} seeds of the kit with 5 % of calls lost");
}

#[tokio::test(start_paused = true)]
async fn the_kit_passes_with_one_call_in_twenty_lost() {
    bad_lines(1..=20).await;
}

#[ignore = "many seeds: make soak"]
#[tokio::test(start_paused = true)]
async fn soak_the_kit_passes_with_one_call_in_twenty_lost() {
    bad_lines(1_000..=1_199).await;
}
