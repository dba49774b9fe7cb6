//! The examples that the demo applies, as a user finds them in `examples/`, with the addresses and names of its own world.

use std::collections::BTreeSet;

use api::examples;
use serde_json::{Value, json};
use sim::github::{CLIENT_ID, HOOK_SECRET, INSTALLATION_ID, ORGANIZATION, PERSONAL_TOKEN, PUBLIC_REPOSITORY};

/// The examples: an organisation's jobs by queue session, and those of a public repository by webhook.
pub(super) const STORIES: [&str; 2] = ["github-actions", "github-webhook"];

/// The pool that learns of jobs by a queue session, and the one that is told by webhooks.
pub(super) const POOLS: [&str; 2] = ["linux-x64", "forks"];

/// The most machines of each.
const MOST: [u32; 2] = [6, 3];

/// The source whose platform calls us.
pub(super) const CALLER: &str = "ghes";

/// What the simulated hypervisor knows its operator by.
const TOKEN: [&str; 2] = ["op@pve!hf", "11111111-1111-4111-8111-111111111111"];

/// What is particular to this world.
pub(super) struct Places<'a> {
    /// Where the hypervisor is, and its authority.
    pub(super) hypervisor: (&'a str, &'a str),
    /// Where GitHub is, and its authority.
    pub(super) github: (&'a str, &'a str),
    /// The App's private key.
    pub(super) key: &'a str,
    /// How long a machine may take until its agent has proven itself.
    pub(super) bootstrap: &'a str,
}

/// Everything to apply, in order, each object once.
pub(super) fn objects(places: &Places<'_>) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    let told = examples().into_iter().filter(|story| STORIES.contains(&story.name));
    let objects = told.flat_map(|story| story.objects).map(|(_, object)| settled(places, object));
    objects.filter(|object| seen.insert((text(object, "/kind"), text(object, "/metadata/name")))).collect()
}

pub(super) fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// An example with this world's addresses, names and patience; all else is as a reader finds it.
fn settled(places: &Places<'_>, mut object: Value) -> Value {
    let (hypervisor, its_authority) = places.hypervisor;
    let (github, authority) = places.github;
    let trust = |secret: &str| json!({ "caCertificate": { "name": secret, "key": "ca.crt" } });
    match (text(&object, "/kind").as_str(), text(&object, "/metadata/name").as_str()) {
        ("Secret", "proxmox-credentials") => {
            let [id, secret] = TOKEN;
            object["stringData"] = json!({ "tokenId": id, "tokenSecret": secret, "ca.crt": its_authority });
        }
        ("Secret", "github-app-credentials") => {
            object["stringData"] = json!({
                "app-id": CLIENT_ID, "installation-id": INSTALLATION_ID.to_string(), "private-key": places.key,
                "ca.crt": authority,
            });
        }
        ("Secret", "github-credentials") => {
            object["stringData"] =
                json!({ "pat-token": PERSONAL_TOKEN, "webhook-secret": HOOK_SECRET, "ca.crt": authority });
        }
        ("HypervisorCluster", _) => {
            object["spec"]["endpoint"] = json!(hypervisor);
            object["spec"]["defaultStorage"] = json!("disks");
            object["spec"]["nodes"] = json!([{ "name": "pve1" }, { "name": "pve2" }, { "name": "pve3" }]);
            object["spec"]["proxmox"] = json!({
                "vmidRange": { "first": 6000, "last": 6999 }, "pool": "hf", "isoStorage": "shared",
            });
        }
        ("HypervisorMachineTemplate", _) => {
            object["spec"]["template"]["proxmox"] = json!({ "templateName": "debian-12" });
            object["spec"]["resources"] = json!({ "cpu": 2, "memory": "2Gi", "disk": "20Gi" });
        }
        ("RunnerSource", "github") => {
            object["spec"]["url"] = json!(github);
            object["spec"]["tls"] = trust("github-app-credentials");
            object["spec"]["github"]["scope"] = json!({ "organization": ORGANIZATION });
            object["spec"]["github"].as_object_mut().map(|fields| fields.remove("runnerGroup"));
        }
        ("RunnerSource", _) => {
            object["spec"]["url"] = json!(github);
            object["spec"]["github"]["scope"] = json!({ "repository": PUBLIC_REPOSITORY });
            object["spec"]["demand"]["pollInterval"] = json!("5s");
            object["spec"].as_object_mut().map(|fields| fields.remove("budget"));
        }
        ("RunnerPool", name) => {
            let most = POOLS.iter().position(|pool| *pool == name).map_or(1, |at| MOST[at]);
            // Nothing is kept warm: at the end there must be nothing.
            object["spec"]["scaling"] = json!({ "maxReplicas": most, "maxTerminating": most, "scaleDownDelay": "1s" });
            object["spec"]["lifecycle"] = json!({ "bootstrapTimeout": places.bootstrap, "jobTimeout": "10m" });
            object["spec"]["rerunLostJobs"] = json!(true);
        }
        _ => {}
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told() -> Vec<Value> {
        objects(&Places {
            hypervisor: ("https://127.0.0.1:8006", "pem"),
            github: ("https://127.0.0.1:8443", "pem"),
            key: "key",
            bootstrap: "60s",
        })
    }

    #[test]
    fn both_stories_are_told_and_what_they_share_once() {
        let kinds: Vec<String> = told().iter().map(|object| text(object, "/kind")).collect();
        assert_eq!(
            kinds,
            [
                "Secret",
                "HypervisorCluster",
                "HypervisorMachineTemplate",
                "Secret",
                "RunnerSource",
                "RunnerPool",
                "Secret",
                "RunnerSource",
                "RunnerPool",
            ]
        );
        let pools: Vec<String> = told()
            .iter()
            .filter(|object| object["kind"] == "RunnerPool")
            .map(|object| text(object, "/metadata/name"))
            .collect();
        assert_eq!(pools, POOLS);
    }

    #[test]
    fn no_address_of_an_example_is_left() {
        let all = told().iter().map(ToString::to_string).collect::<String>();
        assert!(!all.contains("example"), "{all}");
    }
}
