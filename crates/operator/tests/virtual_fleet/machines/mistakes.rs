//! What people get wrong about claims, and what they are told.

use serde_json::{Value, json};
use sim::world::World;

use super::claims::until;
use crate::yard::{CLAIMS, CLUSTERS, TEMPLATES, Yard};

type Change = fn(&mut Value);

/// A change to the template, one to the claim, the reason, and words of the message.
const MISTAKES: &[(&str, Change, Change, &str, &[&str])] = &[
    (
        "a template that does not exist",
        |_| {},
        |claim| claim["spec"]["templateRef"]["name"] = json!("smal"),
        "TemplateMissing",
        &["default/smal does not exist", "name another"],
    ),
    (
        "a template of somebody else",
        |_| {},
        |claim| claim["spec"]["templateRef"] = json!({ "name": "small", "namespace": "kube-system" }),
        "TemplateMissing",
        &["kube-system/small does not exist"],
    ),
    (
        "an image that is none",
        |template| template["spec"]["template"]["proxmox"] = json!({ "templateId": 4711 }),
        |_| {},
        "TemplateNotValid",
        &["default/own is not valid", "VMID 4711"],
    ),
    (
        "more memory than any node has",
        |template| template["spec"]["resources"]["memory"] = json!("4Ti"),
        |_| {},
        "TemplateNotValid",
        &["resources.memory is 4Ti", "ask for less"],
    ),
    (
        "a disk that is smaller than the image",
        |template| template["spec"]["resources"]["disk"] = json!("1Gi"),
        |_| {},
        "TemplateNotValid",
        &["resources.disk is 1Gi", "disks only grow"],
    ),
    (
        "a bridge that does not exist",
        |template| template["spec"]["network"] = json!({ "bridge": "vmbr9" }),
        |_| {},
        "TemplateNotValid",
        &["network.bridge vmbr9", "there are:"],
    ),
    (
        "a node that the cluster does not name",
        |template| template["spec"]["placement"] = json!({ "nodes": ["pve7"] }),
        |_| {},
        "TemplateNotValid",
        &["placement.nodes names pve7"],
    ),
    (
        "user data that writes where only we may",
        |template| {
            template["spec"]["cloudInit"] =
                json!({ "userData": "#cloud-config\nwrite_files: [{ path: /etc/hyperfleet/x, content: a }]\n" });
        },
        |_| {},
        "TemplateNotValid",
        &["/etc/hyperfleet"],
    ),
];

#[test]
fn a_claim_says_what_it_waits_for_and_what_to_do() {
    World::run(1, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        for (number, (what, template, claim, reason, words)) in MISTAKES.iter().enumerate() {
            let own = format!("own{number}");
            yard.template("own", template).await;
            yard.pass(5).await;
            yard.claim(&own, &["sleep", "1"], |object| {
                object["spec"]["templateRef"]["name"] = json!("own");
                claim(object);
            })
            .await;
            yard.pass(5).await;
            let (status, said, message) = yard.claim_condition(&own, "Provisioning").await;
            assert_eq!((status.as_str(), said.as_str()), ("False", *reason), "{what}: {message}");
            for word in *words {
                assert!(message.contains(word), "{what}: {word:?} is missing in {message:?}");
            }
            assert_eq!(yard.phase(&own).await, "Pending", "{what}");
            yard.person.delete(&format!("{CLAIMS}/{own}")).await.unwrap();
            yard.pass(5).await;
            yard.person.delete(&format!("{TEMPLATES}/own")).await.unwrap();
            yard.pass(5).await;
        }
        assert_eq!(pve.calls(&["/clone"], &[]), 0, "nothing was made");
    });
}

#[test]
fn a_template_that_a_seed_cannot_carry_says_what_to_change() {
    World::run(2, async |world| {
        let (yard, _) = Yard::with_template(&world).await;
        let cases = [
            ("native", "cloudInit", json!({ "cloudInit": { "userData": "#cloud-config\n{}\n" } }), "iso or smbios"),
            (
                "smbios",
                "network.staticConfig",
                json!({ "network": { "mode": "static", "staticConfig": { "addresses": ["10.0.0.7/24"], "gateway": "10.0.0.1" } } }),
                "use DHCP",
            ),
        ];
        for (seed, field, part, remedy) in cases {
            let change = json!({ "spec": { "proxmox": { "seed": seed, "isoStorage": null } } });
            yard.person.merge(&format!("{CLUSTERS}/pve"), &change).await.unwrap();
            yard.template(seed, |template| {
                for (key, value) in part.as_object().unwrap() {
                    template["spec"][key] = value.clone();
                }
            })
            .await;
            yard.pass(60).await;
            let (status, reason, message) = yard.valid(seed).await;
            assert_eq!((status.as_str(), reason.as_str()), ("False", "ValidationFailed"), "{message}");
            assert!(message.contains(field) && message.contains(remedy), "{message}");
            let claim = format!("waits-for-{seed}");
            yard.claim(&claim, &["sleep", "1"], |claim| claim["spec"]["templateRef"]["name"] = json!(seed)).await;
            yard.pass(40).await;
            let (_, _, message) = yard.claim_condition(&claim, "Provisioning").await;
            assert!(message.contains(field), "the claim says it too: {message}");
        }
    });
}

#[test]
fn a_range_without_a_free_number_and_nodes_without_room_are_waited_for() {
    World::run(3, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        pve.crowd(6000..6100, "pve1");
        yard.pass(45).await;
        yard.claim("waits", &["sleep", "1"], |_| {}).await;
        yard.pass(5).await;
        let (_, reason, message) = yard.claim_condition("waits", "Provisioning").await;
        assert_eq!(reason, "NoFreeVMID");
        assert!(message.contains("widen vmidRange"), "{message}");
        pve.disperse(6000..6100);
        until(&yard, "waits", "Succeeded", 300).await;
        assert_eq!(yard.phase("waits").await, "Succeeded");
        let cordon =
            json!({ "spec": { "nodes": [{ "name": "pve1", "cordon": true }, { "name": "pve2", "cordon": true }] } });
        yard.person.merge(&format!("{CLUSTERS}/pve"), &cordon).await.unwrap();
        yard.pass(5).await;
        yard.claim("stays", &["sleep", "1"], |_| {}).await;
        yard.pass(5).await;
        let (_, reason, message) = yard.claim_condition("stays", "Provisioning").await;
        assert_eq!(reason, "NoNodeFits");
        assert!(message.contains("pve1 is cordoned") && message.contains("pve2 is cordoned"), "{message}");
    });
}
