//! Machines whose seed is not a medium of ours: in the firmware, and fetched by cloud-init.

use operator::bootstrap::Peer;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use sim::proxmox::Simulator;
use sim::world::World;

use super::claims::{there, until};
use crate::guests::Through;
use crate::yard::{CLUSTERS, Yard};

const THEIRS: &str = "#cloud-config\nruncmd:\n- [echo, canary-of-the-user]\n";

/// A yard whose cluster gives out this kind of seed, with a template for it.
pub(crate) async fn with_seed(world: &World, seed: &str) -> (Yard, Simulator) {
    let (yard, pve) = Yard::with_template(world).await;
    let change = json!({ "spec": { "proxmox": { "seed": seed, "isoStorage": null } } });
    yard.person.merge(&format!("{CLUSTERS}/pve"), &change).await.unwrap();
    yard.pass(40).await;
    (yard, pve)
}

/// A claim lives from its beginning to its end; the calls to the hypervisor, polls apart.
async fn life(yard: &Yard, pve: &Simulator, name: &str, template: &str) -> Vec<String> {
    let (before, earlier) = (there(pve), calls(yard).len());
    yard.claim(name, &["sleep", "20"], |claim| claim["spec"]["templateRef"]["name"] = json!(template)).await;
    let phases = until(yard, name, "Succeeded", 200).await;
    let last = phases.last().map(String::as_str);
    assert_eq!(last, Some("Succeeded"), "{phases:?} {}", yard.claimed(name).await);
    for phase in ["Provisioning", "Bootstrapping", "Busy", "Terminating"] {
        assert!(phases.iter().any(|seen| seen == phase), "{phase} is missing in {phases:?}");
    }
    assert_eq!(there(pve), before);
    calls(yard).split_off(earlier)
}

/// Calls about VMs, their volumes and seeds: neither the monitor's listings, nor looks at the image, nor polls of tasks.
fn calls(yard: &Yard) -> Vec<String> {
    let watching =
        ["/tasks/", "/network", "/cluster/resources", "/access/", "/version", "/cluster/status", "/9000/config"];
    let calls = yard.world.history().calls;
    let ours = calls.iter().filter(|call| call.to == "pve").map(|call| call.target.clone());
    ours.filter(|target| !watching.iter().any(|word| target.contains(word))).collect()
}

/// The machine needs no other disk than the image's, as in the promise.
fn same_disk(template: &mut Value) {
    template["spec"]["resources"]["disk"] = json!("8Gi");
}

#[test]
fn p33_a_life_with_its_seed_in_the_firmware_ends_well_and_costs_eleven_calls_at_most() {
    World::run(1, async |world| {
        let (yard, pve) = with_seed(&world, "smbios").await;
        yard.template("mine", |template| {
            template["spec"]["cloudInit"] = json!({ "userData": THEIRS });
            same_disk(template);
        })
        .await;
        yard.pass(5).await;
        let calls = life(&yard, &pve, "hello", "mine").await;
        assert!((6..=11).contains(&calls.len()), "{calls:#?}");
        let serials = yard.guests.serials();
        assert!(serials.iter().all(|serial| serial.starts_with("ds=nocloud-net;s=https://bootstrap:8444/v1/nocloud/")));
        let fetched = yard.guests.fetched();
        let files: Vec<&str> = fetched.iter().map(|(file, _)| file.as_str()).collect();
        assert_eq!(files, ["meta-data", "user-data", "vendor-data"], "as cloud-init asks for them");
        assert!(fetched[0].1.contains("\"local-hostname\":\"default-hello\""), "{}", fetched[0].1);
        let whole = merged(THEIRS, "default-hello");
        assert_eq!(fetched[1].1, whole, "the same as on a medium");
        let served = yard.claimed("hello").await["status"]["bootstrap"]["served"].clone();
        assert_eq!(served, json!(files));
    });
}

fn merged(theirs: &str, hostname: &str) -> String {
    let ours = fleet::cloud_init::Ours { hostname: hostname.to_owned(), ..Default::default() };
    fleet::cloud_init::merge(Some(theirs), &ours).unwrap()
}

#[test]
fn p33_a_life_with_a_seed_medium_costs_fourteen_calls_at_most() {
    World::run(2, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        yard.template("same", same_disk).await;
        yard.pass(5).await;
        let calls = life(&yard, &pve, "hello", "same").await;
        assert!((9..=14).contains(&calls.len()), "{calls:#?}");
        assert!(yard.guests.fetched().is_empty());
    });
}

#[test]
fn a_life_with_the_hypervisors_own_seed_drive_ends_well() {
    World::run(3, async |world| {
        let (yard, pve) = with_seed(&world, "native").await;
        yard.template("same", same_disk).await;
        yard.pass(5).await;
        let calls = life(&yard, &pve, "hello", "same").await;
        assert!((6..=11).contains(&calls.len()), "{calls:#?}");
        assert_eq!(yard.guests.serials(), [""], "cloud-init has its drive and fetches nothing");
        assert!(yard.guests.fetched().is_empty());
    });
}

#[test]
fn row_8_a_seed_is_fetched_once_by_its_own_machine_and_holds_no_secret() {
    World::run(4, async |world| {
        let (yard, _) = with_seed(&world, "smbios").await;
        for name in ["one", "two"] {
            yard.claim(name, &["sleep", "500"], |_| {}).await;
            until(&yard, name, "Busy", 200).await;
        }
        let texts: Vec<String> = yard.guests.fetched().into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts.len(), 6);
        for seed in yard.guests.seeds() {
            let token = seed.token.expose_secret();
            assert!(texts.iter().all(|text| !text.contains(token)), "no token is in what cloud-init keeps on a disk");
            assert!(yard.guests.serials().iter().all(|serial| !serial.contains(token)), "nor in its log");
        }
        let claims = [yard.claimed("one").await, yard.claimed("two").await];
        for serial in yard.guests.serials() {
            let name = serial.rsplit('/').nth(1).unwrap();
            assert!(name.len() >= 22, "128 bits: {name}");
            assert!(claims.iter().all(|claim| !claim.to_string().contains(name)), "readers of claims cannot fetch it");
            for address in [[10, 0, 0, 1], [10, 9, 9, 9]] {
                let line = Through { guests: yard.guests.clone(), peer: Peer { address: address.into(), key: None } };
                for file in ["meta-data", "user-data", "vendor-data", "network-config"] {
                    let (code, text) = line.get(&protocol::path::no_cloud(name, file)).await.unwrap();
                    assert_eq!((code, text.as_str()), (404, r#"{"error":"not found"}"#), "{file}");
                }
            }
        }
    });
}

#[test]
fn a_change_of_the_seed_in_the_middle_breaks_no_machine() {
    World::run(5, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        yard.claim("hello", &["sleep", "20"], |_| {}).await;
        until(&yard, "hello", "Provisioning", 60).await;
        let change = json!({ "spec": { "proxmox": { "seed": "smbios" } } });
        yard.person.merge(&format!("{CLUSTERS}/pve"), &change).await.unwrap();
        until(&yard, "hello", "Succeeded", 300).await;
        assert_eq!(yard.phase("hello").await, "Succeeded", "{}", yard.claimed("hello").await);
        yard.pass(120).await;
        assert_eq!(there(&pve), before);
        assert_ne!(yard.claimed("hello").await, Value::Null);
    });
}
