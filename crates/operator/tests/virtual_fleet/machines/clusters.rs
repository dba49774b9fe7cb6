//! Clusters in a world: connected, watched, and honest about it.

use std::time::Duration;

use crate::yard::{CLAIMS, CLUSTERS, SECRET, SECRETS, TOKEN, Yard};
use serde_json::json;
use sim::world::{Direction, Verb, World, across, seeds};

#[test]
fn r1_1_a_cluster_becomes_ready_and_tells_what_it_has() {
    World::run(1, async |world: World| {
        let (yard, _pve) = Yard::with_cluster(&world).await;
        let (status, reason, message) = yard.ready("pve").await;
        assert_eq!((status.as_str(), reason.as_str()), ("True", "ConnectionSuccessful"), "{message}\n{}", world.text());
        let object = yard.person.get(&format!("{CLUSTERS}/pve")).await.unwrap();
        assert_eq!(object["status"]["connectedNodes"], 2);
        assert_eq!(object["status"]["availableResources"]["cpu"], 128);
        assert_eq!(object["metadata"]["finalizers"], json!(["hyperfleet.io/in-use"]));
        assert_eq!(yard.events("pve").await, [("Normal".to_owned(), "ConnectionSuccessful".to_owned())]);
    });
}

#[test]
fn a_cluster_at_rest_costs_no_write_and_few_calls() {
    World::run(1, async |world: World| {
        let (yard, pve) = Yard::with_cluster(&world).await;
        yard.template("small", |_| {}).await;
        yard.pass(240).await;
        let (calls, began) = (pve.calls(&[""], &[]), world.age());
        yard.pass(1_200).await;
        let history = world.history();
        let ours =
            history.calls.iter().filter(|call| call.begun > began && call.to == "kube" && call.deed.verb.writes());
        let writes: Vec<&str> = ours
            .map(|call| call.deed.object.resource.as_str())
            .filter(|resource| !resource.starts_with("leases"))
            .collect();
        assert_eq!(writes, Vec::<&str>::new());
        let per_minute = f64::from(u32::try_from(pve.calls(&[""], &[]) - calls).unwrap()) / 20.0;
        assert!(per_minute <= 3.0, "{per_minute} calls a minute");
    });
}

#[test]
fn p1_an_outage_is_noticed_and_so_is_its_end() {
    across(&seeds(1, 8), |seed| {
        World::run(seed, async |world: World| {
            let (yard, _pve) = Yard::with_cluster(&world).await;
            yard.pass(world.dice("start").between(Duration::from_mins(1), Duration::from_mins(7)).as_secs()).await;
            assert_eq!(yard.ready("pve").await.0, "True", "{}", world.text());
            world.partition("operator", "pve", Direction::Both);
            // One period until the next look, two looks without an answer, and the pause between them.
            yard.pass(30 + 10 + 6 + 10 + 1).await;
            let (status, reason, message) = yard.ready("pve").await;
            assert_eq!((status.as_str(), reason.as_str()), ("False", "Unreachable"), "{message}\n{}", world.text());
            assert!(yard.metrics().contains(r#"hyperfleet_cluster_up{cluster="default/pve"} 0"#));
            yard.pass(world.dice("length").between(Duration::from_secs(1), Duration::from_mins(10)).as_secs()).await;
            world.heal("operator", "pve");
            // The longest pause between two looks.
            yard.pass(6 * 60 + 5).await;
            assert_eq!(yard.ready("pve").await.0, "True", "{}", world.text());
        });
    });
}

#[test]
fn p1_r1_5_a_new_secret_is_used_without_a_restart() {
    World::run(1, async |world: World| {
        let (yard, pve) = Yard::with_cluster(&world).await;
        let renewed = pve.renew_secret(TOKEN).unwrap();
        yard.pass(60).await;
        let (status, reason, _) = yard.ready("pve").await;
        assert_eq!((status.as_str(), reason.as_str()), ("False", "AuthenticationFailed"), "{}", world.text());
        yard.person.merge(&format!("{SECRETS}/pve"), &json!({ "stringData": { "secret": renewed } })).await.unwrap();
        yard.pass(60).await;
        assert_eq!(yard.ready("pve").await.0, "True", "{}", world.text());
    });
}

/// What Proxmox VE wants of somebody who makes machines with seed images.
const PRIVILEGES: &[&str] = &[
    "VM.Allocate",
    "VM.Audit",
    "VM.Config.CDROM",
    "VM.Config.CPU",
    "VM.Config.Cloudinit",
    "VM.Config.Disk",
    "VM.Config.HWType",
    "VM.Config.Memory",
    "VM.Config.Network",
    "VM.Config.Options",
    "VM.PowerMgmt",
    "Datastore.Allocate",
    "Datastore.AllocateSpace",
    "Datastore.AllocateTemplate",
    "Datastore.Audit",
    "SDN.Use",
];

#[test]
fn p28_every_missing_privilege_is_named_with_the_command_that_grants_it() {
    for privilege in PRIVILEGES {
        World::run(1, async |world: World| {
            let yard = Yard::new(&world);
            let pve = yard.hypervisor("pve");
            yard.secret("pve", TOKEN, SECRET).await;
            assert!(pve.revoke(privilege), "{privilege}");
            yard.cluster("pve", |_| {}).await;
            yard.pass(20).await;
            let (status, reason, message) = yard.ready("pve").await;
            assert_eq!(
                (status.as_str(), reason.as_str()),
                ("False", "InsufficientPrivileges"),
                "{privilege}: {message}"
            );
            assert!(message.contains(privilege) && message.contains("pveum acl modify"), "{privilege}: {message}");
        });
    }
}

#[test]
fn a_privilege_that_is_taken_away_later_is_noticed_at_the_next_check() {
    World::run(1, async |world: World| {
        let (yard, pve) = Yard::with_cluster(&world).await;
        assert_eq!(yard.ready("pve").await.0, "True");
        assert!(pve.revoke("VM.PowerMgmt"));
        yard.pass(5 * 60 + 31).await;
        assert_eq!(yard.ready("pve").await.1, "InsufficientPrivileges");
    });
}

/// A monitor that ended with the lease was never started again: the connection still stood.
#[test]
fn a_leader_that_comes_back_watches_again() {
    World::run(1, async |world: World| {
        let (yard, pve) = Yard::with_cluster(&world).await;
        world.partition("operator", "kube", Direction::Both);
        yard.pass(120).await;
        let calls = pve.calls(&[""], &[]);
        yard.pass(300).await;
        assert_eq!(pve.calls(&[""], &[]), calls, "who does not lead asks nothing");
        world.heal("operator", "kube");
        yard.pass(90).await;
        world.partition("operator", "pve", Direction::Both);
        yard.pass(60).await;
        assert_eq!(yard.ready("pve").await.1, "Unreachable", "{}", world.text());
    });
}

/// What a cluster needs was asked for as it was when it was connected.
#[test]
fn a_changed_use_is_checked_at_once_and_loses_nothing() {
    World::run(1, async |world: World| {
        let yard = Yard::new(&world);
        yard.hypervisor("pve");
        yard.secret("pve", "min@pve!tk", SECRET).await;
        yard.cluster("pve", |object| object["spec"]["proxmox"]["seed"] = json!("smbios")).await;
        yard.template("small", |_| {}).await;
        yard.pass(60).await;
        assert_eq!(yard.ready("pve").await.0, "True", "{:?}", yard.ready("pve").await);
        let change = json!({ "spec": { "defaultNetwork": "vmbr1" } });
        yard.person.merge(&format!("{CLUSTERS}/pve"), &change).await.unwrap();
        yard.pass(5).await;
        let (_, reason, message) = yard.ready("pve").await;
        assert_eq!(reason, "InsufficientPrivileges", "{message}");
        assert!(message.contains("vmbr1"), "{message}");
        let object = yard.person.get(&format!("{CLUSTERS}/pve")).await.unwrap();
        assert_eq!(object["status"]["connectedNodes"], 2);
        assert!(yard.events("small").await.iter().all(|(_, reason)| reason != "TemplateNotFound"));
    });
}

/// Proxmox refused every clone, and nobody had said why before.
#[test]
fn what_a_clone_takes_where_its_image_is_is_asked_for_before_any_machine() {
    for (linked, storage_is_named) in [(true, true), (false, false)] {
        World::run(1, async |world: World| {
            let yard = Yard::new(&world);
            let pve = yard.hypervisor("pve");
            pve.put_setting(9000, "scsi0", "tank:base-9000-disk-0,size=8G");
            pve.put_setting(9000, "net0", "virtio=BC:24:11:16:0F:29,bridge=vmbr1");
            yard.secret("pve", "min@pve!tk", SECRET).await;
            yard.template("small", |object| {
                object["spec"]["template"]["proxmox"]["linkedClone"] = json!(linked);
            })
            .await;
            yard.cluster("pve", |object| object["spec"]["proxmox"]["seed"] = json!("smbios")).await;
            yard.pass(60).await;
            let (_, reason, message) = yard.ready("pve").await;
            assert_eq!(reason, "InsufficientPrivileges", "{message}");
            assert!(message.contains("SDN.Use on /sdn/zones/localnetwork/vmbr1"), "{message}");
            let named = message.contains("Datastore.AllocateSpace on /storage/tank");
            assert_eq!(named, storage_is_named, "{message}");
        });
    }
}

#[test]
fn an_unverified_certificate_is_a_warning() {
    World::run(1, async |world: World| {
        let yard = Yard::new(&world);
        yard.hypervisor("pve");
        yard.secret("pve", TOKEN, SECRET).await;
        yard.cluster("pve", |object| object["spec"]["tls"] = json!({ "insecureSkipVerify": true })).await;
        yard.pass(60).await;
        assert_eq!(yard.ready("pve").await.1, "ConnectionInsecure");
        assert!(yard.metrics().contains(r#"hyperfleet_cluster_tls_insecure{cluster="default/pve"} 1"#));
        assert_eq!(yard.events("pve").await, [("Warning".to_owned(), "ConnectionInsecure".to_owned())]);
    });
}

#[test]
fn a_deleted_cluster_goes_when_nothing_is_on_it() {
    World::run(1, async |world: World| {
        let (yard, pve) = Yard::with_cluster(&world).await;
        let page = yard.metrics();
        assert!(page.contains(r#"hyperfleet_cluster_up{cluster="default/pve"} 1"#), "{page}");
        assert!(page.contains(r#"hyperfleet_cluster_tls_insecure{cluster="default/pve"} 0"#), "{page}");
        yard.person.delete(&format!("{CLUSTERS}/pve")).await.unwrap();
        yard.pass(5).await;
        assert!(!yard.metrics().contains(r#"{cluster="default/pve"}"#), "{}", yard.metrics());
        assert_eq!(yard.person.get(&format!("{CLUSTERS}/pve")).await.unwrap_err().code, 404);
        let calls = pve.calls(&[""], &[]);
        yard.pass(600).await;
        assert_eq!(pve.calls(&[""], &[]), calls, "nobody asks a hypervisor that was given up");
    });
}

#[test]
fn nodes_that_go_into_maintenance_are_told() {
    World::run(1, async |world: World| {
        let (yard, pve) = Yard::with_cluster(&world).await;
        let maintenance = async || {
            let object = yard.person.get(&format!("{CLUSTERS}/pve")).await.unwrap();
            object["status"]["nodes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|node| node["maintenance"] == true)
                .collect::<Vec<_>>()
        };
        assert_eq!(maintenance().await, [false, false]);
        assert!(pve.maintain("pve2", true));
        yard.pass(45).await;
        assert_eq!(maintenance().await, [false, true], "{}", world.text());
    });
}

#[test]
fn a_pool_or_a_storage_that_does_not_exist_is_told() {
    World::run(1, async |world: World| {
        let (yard, pve) = Yard::with_cluster(&world).await;
        assert!(pve.switch_storage("disks", false));
        yard.pass(45).await;
        let (status, _, message) = yard.ready("pve").await;
        assert_eq!(status, "True", "linked clones need no default storage");
        assert!(message.contains("spec.defaultStorage names disks"), "{message}");
        assert!(pve.switch_storage("disks", true));
        yard.pass(45).await;
        assert_eq!(yard.ready("pve").await.2, "connected to version 9.2.11");
        yard.person
            .merge(&format!("{CLUSTERS}/pve"), &json!({ "spec": { "proxmox": { "pool": "none" } } }))
            .await
            .unwrap();
        yard.pass(10).await;
        let (status, reason, message) = yard.ready("pve").await;
        assert_eq!((status.as_str(), reason.as_str()), ("False", "PoolNotFound"), "{message}");
        assert!(message.contains("pveum pool add none"), "{message}");
    });
}

/// To a cluster it makes no difference what its claims do, and every look at it reads its Secret.
#[test]
fn claims_that_live_their_lives_do_not_bother_their_cluster() {
    World::run(1, async |world: World| {
        let (yard, _pve) = Yard::with_template(&world).await;
        let began = world.age();
        for number in 0..50 {
            let lifecycle = json!({ "ttl": "0s" });
            yard.claim(&format!("c{number}"), &["sleep", "5"], |claim| claim["spec"]["lifecycle"] = lifecycle).await;
        }
        let mut minutes = 0;
        while yard.person.get(CLAIMS).await.unwrap()["items"] != json!([]) && minutes < 20 {
            yard.pass(60).await;
            minutes += 1;
        }
        assert!(minutes < 20, "they do not end");
        let reads = |name: &str| {
            let history = world.history();
            let read = history.calls.iter().filter(|call| call.begun > began && call.sender.actor == "operator");
            read.filter(|call| call.deed.verb == Verb::Get && call.deed.object.name == name).count()
        };
        let passes = reads("pve");
        assert!(passes <= minutes * 2 + 3, "{passes} looks at the cluster in {minutes} minutes");
    });
}

/// With another key every machine would look like somebody else's: nothing is made up in its place.
#[test]
fn a_lost_ownership_key_is_told_and_not_replaced() {
    World::run(1, async |world: World| {
        let (yard, _pve) = Yard::with_cluster(&world).await;
        yard.claim_with_a_machine("left", "pve").await;
        world.crash("operator");
        yard.person.delete(&format!("{SECRETS}/hyperfleet-ownership")).await.unwrap();
        world.restart("operator");
        yard.pass(60).await;
        let (status, reason, message) = yard.ready("pve").await;
        assert_eq!((status.as_str(), reason.as_str()), ("False", "OwnershipKeyLost"), "{message}");
        assert_eq!(yard.person.get(&format!("{SECRETS}/hyperfleet-ownership")).await.unwrap_err().code, 404);
        yard.person.delete(&format!("{CLUSTERS}/pve")).await.unwrap();
        yard.pass(60).await;
        let (status, _, message) = yard.condition("pve", "InUse").await;
        assert!(status == "True" && message.contains("default/left"), "{message}");
    });
}
