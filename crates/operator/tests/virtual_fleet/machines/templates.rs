//! Templates in a world: held against a hypervisor whose images come and go.

use serde_json::json;
use sim::world::World;

use crate::yard::{CLAIMS, SECRET, TEMPLATES, TOKEN, Yard};

#[test]
fn r2_1_a_template_is_valid_when_the_hypervisor_has_what_it_names() {
    World::run(1, async |world: World| {
        let (yard, _pve) = Yard::with_cluster(&world).await;
        yard.template("small", |object| object["spec"]["placement"] = json!({ "nodes": ["pve1"] })).await;
        yard.pass(10).await;
        let (status, reason, message) = yard.valid("small").await;
        assert_eq!((status.as_str(), reason.as_str()), ("True", "ValidationSucceeded"), "{message}\n{}", world.text());
        assert_eq!(message, "machines are linked clones of image 9000, on pve1");
        let object = yard.person.get(&format!("{TEMPLATES}/small")).await.unwrap();
        assert_eq!(object["status"]["templateAvailable"], true);
        assert_eq!(object["status"]["image"]["disk"], "8Gi");
        assert_eq!(yard.events("small").await, [("Normal".to_owned(), "ValidationSucceeded".to_owned())]);
    });
}

#[test]
fn p4_a_name_that_several_images_have_is_not_guessed() {
    World::run(1, async |world: World| {
        let (yard, _pve) = Yard::with_cluster(&world).await;
        yard.template("by-name", |object| {
            object["spec"]["template"]["proxmox"] = json!({ "templateName": "debian-12" });
        })
        .await;
        yard.pass(10).await;
        let (_, reason, message) = yard.valid("by-name").await;
        assert_eq!(reason, "AmbiguousTemplateName", "{message}");
        assert!(message.contains("9000 on pve1, 9001 on pve2"), "{message}");
    });
}

#[test]
fn p3_r2_5_images_that_disappear_and_return_are_followed() {
    World::run(1, async |world: World| {
        let (yard, pve) = Yard::with_cluster(&world).await;
        yard.template("small", |_| {}).await;
        yard.pass(10).await;
        assert_eq!(yard.valid("small").await.0, "True");
        assert!(pve.hide(9000));
        yard.pass(5 * 60 + 31).await;
        let (_, reason, message) = yard.valid("small").await;
        assert_eq!(reason, "TemplateNotFound", "{message}");
        let object = yard.person.get(&format!("{TEMPLATES}/small")).await.unwrap();
        assert_eq!((&object["status"]["templateAvailable"], &object["status"]["image"]), (&json!(false), &json!(null)));
        assert!(pve.show(9000));
        yard.pass(5 * 60 + 31).await;
        assert_eq!(yard.valid("small").await.0, "True", "{}", world.text());
    });
}

#[test]
fn a_template_waits_for_its_cluster_and_hears_of_it_at_once() {
    World::run(1, async |world: World| {
        let yard = Yard::new(&world);
        yard.hypervisor("pve");
        yard.template("early", |_| {}).await;
        yard.pass(10).await;
        assert_eq!(yard.valid("early").await.1, "ClusterNotFound");
        yard.cluster("pve", |_| {}).await;
        yard.pass(10).await;
        let (_, reason, message) = yard.valid("early").await;
        assert_eq!(reason, "ClusterNotReady");
        assert!(message.contains("Secret pve does not exist"), "{message}");
        yard.secret("pve", TOKEN, SECRET).await;
        yard.pass(60).await;
        assert_eq!(yard.valid("early").await.0, "True", "{}", world.text());
    });
}

#[test]
fn a_cluster_of_another_namespace_needs_a_grant() {
    World::run(1, async |world: World| {
        let (yard, _pve) = Yard::with_cluster(&world).await;
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "team", "labels": { "tier": "ci" } } });
        yard.person.create("/api/v1/namespaces", &namespace).await.unwrap();
        let home = TEMPLATES.replace("/default/", "/team/");
        let template = json!({
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "HypervisorMachineTemplate", "metadata": { "name": "theirs" },
            "spec": {
                "hypervisorClusterRef": { "name": "pve", "namespace": "default" },
                "template": { "proxmox": { "templateId": 9000 } },
                "resources": { "cpu": 2, "memory": "4Gi", "disk": "20Gi" },
            },
        });
        yard.person.create(&home, &template).await.unwrap();
        yard.pass(10).await;
        let reason = async || {
            let object = yard.person.get(&format!("{home}/theirs")).await.unwrap();
            object["status"]["conditions"][0]["reason"].as_str().unwrap_or_default().to_owned()
        };
        assert_eq!(reason().await, "NotGranted");
        let grant = json!({ "spec": { "allowedNamespaces": { "matchLabels": { "tier": "ci" } } } });
        yard.person.merge(&format!("{}/pve", crate::yard::CLUSTERS), &grant).await.unwrap();
        yard.pass(10).await;
        assert_eq!(reason().await, "ValidationSucceeded", "{}", world.text());
    });
}

#[test]
fn a_template_in_use_stays_until_its_claims_are_gone() {
    World::run(1, async |world: World| {
        let (yard, _pve) = Yard::with_cluster(&world).await;
        yard.template("some", |_| {}).await;
        yard.claim_with_a_machine("user", "pve").await;
        yard.pass(10).await;
        yard.person.delete(&format!("{TEMPLATES}/some")).await.unwrap();
        yard.pass(10).await;
        let object = yard.person.get(&format!("{TEMPLATES}/some")).await.unwrap();
        let in_use =
            object["status"]["conditions"].as_array().unwrap().iter().find(|found| found["type"] == "InUse").unwrap();
        assert!(in_use["message"].as_str().unwrap().contains("MachineClaim default/user"), "{in_use}");
        yard.person.delete(&format!("{CLAIMS}/user")).await.unwrap();
        yard.pass(10).await;
        assert_eq!(yard.person.get(&format!("{TEMPLATES}/some")).await.unwrap_err().code, 404);
    });
}
