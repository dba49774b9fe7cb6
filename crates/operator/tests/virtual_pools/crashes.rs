//! The operator dies before or after every single write.

use std::time::Duration;

use serde_json::Value;
use sim::world::{Deed, Scenario, World, crash_everywhere};

use crate::town::Town;

/// Writes that are worth a crash: leases are renewed for ever, and events are a courtesy.
fn counts(deed: &Deed) -> bool {
    let resource = deed.object.resource.as_str();
    !resource.starts_with("leases") && !resource.starts_with("events")
}

/// The class of each loss that was written down.
async fn losses(town: &Town) -> Vec<String> {
    let class = |job: &Value| job["status"]["infrastructureLoss"]["class"].as_str().map(str::to_owned);
    town.known().await.iter().filter_map(class).collect()
}

/// The evidence is the claim's, and the claim goes: whoever comes after a crash must not find it gone before its job knows.
#[test]
#[ignore = "many runs: make soak"]
fn soak_a_lost_job_is_told_so_whatever_write_the_operator_dies_at() {
    let story = async |world: World| {
        let town = Town::new(&world, "poll").await;
        town.pool("linux", 2, |_| {}).await;
        let jobs = town.queue(1, 3_000.0);
        assert!(town.until(600, async |town| town.running(&jobs) == 1).await, "{:?}", town.phases().await);
        let taken = town
            .until(60, async |town| town.known().await.iter().any(|job| job["status"]["claimRef"]["name"].is_string()));
        assert!(taken.await, "{:?}", town.known().await);
        let lost = town.machines();
        assert_eq!(lost.len(), 1);
        assert!(town.pve.power_off(lost[0]));
        let told = town.until(600, async |town| losses(town).await == ["VMGone"]).await;
        assert!(told, "{:?} {:?}", town.known().await, town.claims().await);
        // The platform keeps a runner that has a job until it has noticed, too.
        town.cleared(1_800).await;
    };
    let scenario = Scenario { story, invariants: &[], counts, down: Duration::from_secs(20) };
    let report = crash_everywhere(1, &scenario);
    println!("lane: crash at every write of \"a lost job\": {} writes, {} runs", report.writes, report.writes * 2 + 1);
    assert!(report.failures.is_empty(), "{report}");
}
