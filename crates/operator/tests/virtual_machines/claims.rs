//! Claims from their creation to nothing left behind.

use serde_json::{Value, json};
use sim::proxmox::Simulator;
use sim::world::World;

use crate::yard::Yard;

/// VMs of ours and seeds on the hypervisor.
pub(crate) fn left(pve: &Simulator) -> (usize, usize) {
    let state = pve.state();
    let vms = state["vms"].as_object().map(|vms| vms.keys().filter(|id| id.starts_with("60")).count());
    let text = state["storages"].to_string();
    (vms.unwrap_or_default(), text.matches("hyperfleet-").count())
}

#[test]
fn a_claim_runs_its_command_and_leaves_nothing_behind() {
    World::run(1, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        yard.claim("hello", &["sleep", "20"], |_| {}).await;
        let mut phases: Vec<String> = Vec::new();
        for _ in 0..1200 {
            world.pass(std::time::Duration::from_millis(100)).await;
            let phase = yard.phase("hello").await;
            if phases.last() != Some(&phase) {
                phases.push(phase);
            }
        }
        println!(
            "{phases:?}\n{}\n{:?}",
            serde_json::to_string_pretty(&yard.claimed("hello").await["status"]).unwrap(),
            yard.guests.endings()
        );
        println!("{:?}", yard.events("hello").await);
        println!("{}", serde_json::to_string_pretty(&pve.state()["vms"]).unwrap());
        assert_eq!(left(&pve), (0, 0));
    });
}
