//! One cluster and one template for several teams.

use serde_json::{Value, json};

use super::Story;
use super::parts::{debian_template, in_namespace, namespace, object, proxmox_cluster, proxmox_secret};

/// Administrators own cluster and template in one namespace; teams use them from theirs.
pub(super) fn shared_cluster() -> Story {
    let granted = json!({ "matchLabels": { "hyperfleet.example.com/machines": "yes" } });
    let grant = |mut object: Value| {
        object["spec"]["allowedNamespaces"] = granted.clone();
        in_namespace("hypervisors", object)
    };
    let mut template = grant(debian_template());
    template["spec"]["allowedNamespaces"] = json!({ "matchExpressions": [
        { "key": "kubernetes.io/metadata.name", "operator": "In", "values": ["team-a", "team-b"] },
        { "key": "hyperfleet.example.com/machines", "operator": "Exists" },
    ] });
    let claim = object(
        "MachineClaim",
        "build",
        &json!({
            "templateRef": { "name": "debian-12", "namespace": "hypervisors" },
            "workload": { "command": { "argv": ["/usr/bin/make", "all"] } },
        }),
    );
    Story::new(
        "shared-cluster",
        "Administrators keep the hypervisor and its credentials in one namespace and grant a template to others; teams \
         use it without ever seeing a Secret.",
        vec![
            namespace("hypervisors", &json!({})),
            namespace("team-a", &json!({ "hyperfleet.example.com/machines": "yes" })),
            in_namespace("hypervisors", proxmox_secret()),
            grant(proxmox_cluster()),
            template,
            in_namespace("team-a", claim),
        ],
    )
}
