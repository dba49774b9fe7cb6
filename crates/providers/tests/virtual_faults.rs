//! Every failure mode of the catalogue, F-01 to F-36: what the caller is told, that nothing of ours stays behind, and
//! that nothing of anybody else's is touched. F-31 needs a socket and is in `certificates.rs`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "faults/answers.rs"]
mod answers;
#[path = "faults/disks.rs"]
mod disks;
#[path = "faults/ids.rs"]
mod ids;
#[path = "faults/images.rs"]
mod images;
#[path = "faults/locks.rs"]
mod locks;
#[path = "faults/nodes.rs"]
mod nodes;
#[path = "faults/power.rs"]
mod power;
#[path = "faults/rights.rs"]
mod rights;
#[path = "faults/steps.rs"]
mod steps;
#[path = "faults/views.rs"]
mod views;
#[path = "faults/world.rs"]
mod world;

#[test]
fn every_failure_mode_has_a_test() {
    let sources = concat!(
        include_str!("faults/answers.rs"),
        include_str!("faults/disks.rs"),
        include_str!("faults/ids.rs"),
        include_str!("faults/images.rs"),
        include_str!("faults/locks.rs"),
        include_str!("faults/nodes.rs"),
        include_str!("faults/power.rs"),
        include_str!("faults/rights.rs"),
        include_str!("faults/views.rs"),
        include_str!("certificates.rs"),
    );
    for fault in sim::proxmox::FaultId::ALL {
        let name = fault.as_str().to_lowercase().replace('-', "");
        assert!(sources.contains(&format!("async fn {name}_")), "{}: {}", fault.as_str(), fault.what());
    }
}
