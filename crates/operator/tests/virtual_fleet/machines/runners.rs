//! Claims whose runner is registered at a CI platform.

use serde_json::{Value, json};
use sim::world::World;

use super::claims::{ours, there, until};
use crate::yard::{CLAIMS, Yard};

/// A claim of a runner whose VM runs, and whose runner's name is written down as the bootstrap service does it.
async fn registered(yard: &Yard) -> String {
    yard.guests.without_agent();
    yard.claim("job", &[], |claim| {
        let runner = json!({ "sourceRef": { "name": "gh" }, "labels": ["linux"] });
        claim["spec"]["workload"] = json!({ "runner": runner });
    })
    .await;
    until(yard, "job", "Bootstrapping", 120).await;
    let status = json!({ "status": { "runner": { "name": "hf-00c0ffee-linux-1", "id": "7" } } });
    yard.person.merge(&format!("{CLAIMS}/job/status"), &status).await.unwrap();
    yard.claimed("job").await["status"]["allocation"]["vmId"].to_string()
}

#[test]
fn arc_4632_a_vm_goes_while_its_runner_cannot_be_removed_and_the_claim_says_what_it_waits_for() {
    World::run(1, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        let vm = registered(&yard).await;
        yard.person.delete(&format!("{CLAIMS}/job")).await.unwrap();
        yard.pass(60).await;
        assert_eq!(ours(&pve), [], "the VM does not wait for the platform");
        let (status, reason, message) = yard.claim_condition("job", "Deregistered").await;
        assert_eq!((status.as_str(), reason.as_str()), ("False", "RunnerStillListed"));
        assert!(
            message.contains("hf-00c0ffee-linux-1 may still be registered: RunnerSource default/gh is not connected")
        );
        let written = yard.claimed("job").await;
        assert!(written["status"]["teardown"]["vmGoneAt"].is_string(), "{written}");
        yard.pass(1_200).await;
        assert_eq!(yard.claimed("job").await, written, "that is told once");
        // Its number is free: another machine may have it.
        assert_eq!(there(&pve), before);
        let note = json!({ "metadata": { "annotations": { "hyperfleet.io/abandon": vm } } });
        yard.person.merge(&format!("{CLAIMS}/job"), &note).await.unwrap();
        yard.pass(60).await;
        assert_eq!(yard.claimed("job").await, Value::Null);
        assert!(yard.events("job").await.contains(&("Warning".to_owned(), "Abandoned".to_owned())));
    });
}
