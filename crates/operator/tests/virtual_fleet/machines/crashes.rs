//! The operator dies before or after every single write, to Kubernetes and to the hypervisor: one VM per claim, ever, and
//! none at the end.

use std::time::Duration;

use serde_json::{Value, json};
use sim::proxmox::Simulator;
use sim::world::{Direction, World};

use super::claims::{ours, there, until};
use super::leftovers::{hold, works_at};
use super::seeds::with_seed;
use crate::everywhere::everywhere;
use crate::yard::{CLAIMS, SECRET, SECRETS, TEMPLATES, TOKEN, Yard, credentials};

/// Lets time pass and looks all the while: never two VMs of one claim.
async fn watch(yard: &Yard, pve: &Simulator, seconds: u64) {
    for _ in 0..seconds * 2 {
        yard.world.pass(Duration::from_millis(500)).await;
        assert!(ours(pve).len() <= 1, "two VMs for one claim: {:?}", ours(pve));
    }
}

/// Until the claim is in its last phase or gone.
async fn ended(yard: &Yard, pve: &Simulator, name: &str) {
    for _ in 0..60 {
        watch(yard, pve, 10).await;
        let claim = yard.claimed(name).await;
        let phase = claim["status"]["phase"].as_str().unwrap_or("gone").to_owned();
        if claim == Value::Null || ["Succeeded", "Failed"].contains(&phase.as_str()) {
            return;
        }
    }
    panic!("the claim does not end: {}", yard.claimed(name).await);
}

#[test]
fn a_life_survives_a_crash_at_every_write() {
    everywhere("a life", async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        yard.claim("hello", &["sleep", "20"], |_| {}).await;
        ended(&yard, &pve, "hello").await;
        assert_eq!(yard.phase("hello").await, "Succeeded", "{}", yard.claimed("hello").await);
        assert_eq!(there(&pve), before);
    });
}

#[test]
fn a_life_with_its_seed_in_the_firmware_survives_a_crash_at_every_write() {
    everywhere("a life by the firmware's seed", async |world: World| {
        let (yard, pve) = with_seed(&world, "smbios").await;
        let before = there(&pve);
        yard.claim("hello", &["sleep", "20"], |_| {}).await;
        ended(&yard, &pve, "hello").await;
        assert_eq!(yard.phase("hello").await, "Succeeded", "{}", yard.claimed("hello").await);
        assert_eq!(there(&pve), before);
    });
}

#[test]
#[ignore = "many runs: make soak"]
fn soak_a_life_with_the_hypervisors_own_drive_survives_a_crash_at_every_write() {
    everywhere("a life by the hypervisor's own drive", async |world: World| {
        let (yard, pve) = with_seed(&world, "native").await;
        let before = there(&pve);
        yard.claim("hello", &["sleep", "20"], |_| {}).await;
        ended(&yard, &pve, "hello").await;
        assert_eq!(yard.phase("hello").await, "Succeeded", "{}", yard.claimed("hello").await);
        assert_eq!(there(&pve), before);
    });
}

/// ADR 23: the storage's lock goes to somebody else in the middle of a clone, so that Proxmox cannot take back what it made.
#[test]
#[ignore = "many runs: make soak"]
fn soak_a_clone_that_fails_and_leaves_a_disk_survives_a_crash_at_every_write() {
    everywhere("a clone that fails", async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        yard.claim("hello", &["sleep", "20"], |_| {}).await;
        for _ in 0..40_000 {
            if works_at(&pve, "disks") {
                break;
            }
            world.pass(Duration::from_millis(1)).await;
        }
        hold(&pve, "disks", 40.0);
        ended(&yard, &pve, "hello").await;
        assert_eq!(yard.phase("hello").await, "Succeeded", "{}", yard.claimed("hello").await);
        assert_eq!(there(&pve), before);
    });
}

#[test]
fn a_deletion_in_the_middle_survives_a_crash_at_every_write() {
    deleted_after(&[3_000]);
}

#[test]
#[ignore = "many runs: make soak"]
fn soak_a_deletion_at_every_step_survives_a_crash_at_every_write() {
    deleted_after(&[0, 400, 1_500, 6_000, 12_000, 25_000]);
}

fn deleted_after(moments: &[u64]) {
    for &millis in moments {
        everywhere(&format!("a deletion after {millis} ms"), async |world: World| {
            let (yard, pve) = Yard::with_template(&world).await;
            let before = there(&pve);
            yard.claim("short", &["sleep", "60"], |_| {}).await;
            world.pass(Duration::from_millis(millis)).await;
            yard.person.delete(&format!("{CLAIMS}/short")).await.unwrap();
            ended(&yard, &pve, "short").await;
            assert_eq!(yard.claimed("short").await, Value::Null);
            assert_eq!(there(&pve), before);
        });
    }
}

#[test]
#[ignore = "many runs: make soak"]
fn soak_a_shutdown_survives_a_crash_at_every_write() {
    everywhere("a shutdown", async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        yard.claim("off", &["sleep", "100000"], |_| {}).await;
        let phases = until(&yard, "off", "Busy", 300).await;
        assert_eq!(phases.last().map(String::as_str), Some("Busy"), "{}", yard.claimed("off").await);
        let vm = yard.claimed("off").await["status"]["allocation"]["vmId"].as_u64().unwrap();
        pve.power_off(vm.try_into().unwrap());
        ended(&yard, &pve, "off").await;
        assert_eq!(yard.phase("off").await, "Failed");
        assert_eq!(there(&pve), before);
    });
}

#[test]
#[ignore = "many runs: make soak"]
fn soak_a_rotation_of_credentials_survives_a_crash_at_every_write() {
    everywhere("a rotation", async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        yard.claim("hello", &["sleep", "60"], |_| {}).await;
        watch(&yard, &pve, 4).await;
        let secret = pve.renew_secret(TOKEN).unwrap();
        yard.person.merge(&format!("{SECRETS}/pve"), &credentials("pve", TOKEN, &secret)).await.unwrap();
        ended(&yard, &pve, "hello").await;
        assert_eq!(yard.phase("hello").await, "Succeeded", "{}", yard.claimed("hello").await);
        assert_eq!(there(&pve), before);
    });
}

#[test]
#[ignore = "many runs: make soak"]
fn soak_a_lost_image_survives_a_crash_at_every_write() {
    everywhere("a lost image", async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        pve.hide(9000);
        yard.claim("waits", &["sleep", "5"], |_| {}).await;
        watch(&yard, &pve, 90).await;
        assert!(ours(&pve).is_empty());
        pve.show(9000);
        ended(&yard, &pve, "waits").await;
        assert_eq!(yard.phase("waits").await, "Succeeded", "{}", yard.claimed("waits").await);
        assert_eq!(there(&pve), before);
    });
}

#[test]
#[ignore = "many runs: make soak"]
fn soak_an_outage_survives_a_crash_at_every_write() {
    everywhere("an outage", async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        yard.claim("hello", &["sleep", "20"], |_| {}).await;
        watch(&yard, &pve, 2).await;
        world.partition("operator", "pve", Direction::Both);
        watch(&yard, &pve, 120).await;
        world.heal("operator", "pve");
        ended(&yard, &pve, "hello").await;
        assert_eq!(yard.phase("hello").await, "Succeeded", "{}", yard.claimed("hello").await);
        assert_eq!(there(&pve), before);
    });
}

/// A namespace that goes takes template and Secret before the claim; the machine is removed all the same.
#[test]
#[ignore = "many runs: make soak"]
fn soak_a_deletion_of_everything_survives_a_crash_at_every_write() {
    everywhere("everything deleted", async |world: World| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        yard.claim("hello", &["sleep", "1000"], |_| {}).await;
        until(&yard, "hello", "Busy", 300).await;
        for path in [
            format!("{SECRETS}/pve"),
            format!("{TEMPLATES}/small"),
            format!("{CLAIMS}/hello"),
            format!("{}/pve", crate::yard::CLUSTERS),
        ] {
            yard.person.delete(&path).await.unwrap();
        }
        // A process that starts now has no credentials any more: somebody has to give them back.
        watch(&yard, &pve, 60).await;
        let _ = yard.person.create(SECRETS, &credentials("pve", TOKEN, SECRET)).await;
        ended(&yard, &pve, "hello").await;
        assert_eq!(there(&pve), before);
        watch(&yard, &pve, 60).await;
        let left = yard.person.get(TEMPLATES).await.unwrap();
        assert_eq!(left["items"], json!([]));
    });
}
