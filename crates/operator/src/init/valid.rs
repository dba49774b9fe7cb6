//! Whether flags can come to something, found out before anything is done: the objects they make are judged as an API server
//! would, and what is wrong is told by its flag.

use std::collections::BTreeSet;

use anyhow::{Context, bail};
use api::Violation;
use providers::http::{Client, ConnectError, Endpoint, Trust};
use providers::hypervisor::NodeName;
use serde_json::Value;

use super::names::is_label;
use super::platform::Login;
use super::{Wish, manifests};

/// Kind and field of an object, the flag it is from, and what is expected there.
const FLAGS: &[(&str, &str, &str, &str)] = &[
    ("HypervisorCluster", "spec.endpoint", "--endpoint", "an address such as https://pve.example.com:8006"),
    ("HypervisorCluster", "spec.tls.fingerprint", "--fingerprint", "what `pvenode cert info` shows"),
    ("HypervisorCluster", "spec.nodes", "--node", "at most 64 names of nodes"),
    ("HypervisorCluster", "spec.defaultStorage", "--storage", "a storage such as local-lvm"),
    ("HypervisorCluster", "spec.defaultNetwork", "--bridge", "a bridge such as vmbr0"),
    ("HypervisorCluster", "spec.proxmox.isoStorage", "--iso-storage", "a storage such as local"),
    ("HypervisorCluster", "spec.proxmox.pool", "--pool", "a resource pool such as hyperfleet"),
    ("HypervisorCluster", "spec.proxmox.vmidRange", "--vmid-range", "a range such as 100000-109999"),
    ("HypervisorMachineTemplate", "spec.template", "--image", "a VMID such as 9000"),
    ("HypervisorMachineTemplate", "spec.resources.cpu", "--cpu", "a number of processors such as 2"),
    ("HypervisorMachineTemplate", "spec.resources.memory", "--memory", "a size such as 4Gi"),
    ("HypervisorMachineTemplate", "spec.resources.disk", "--disk", "a size such as 32Gi"),
    ("RunnerSource", "spec", "--ci", "an address such as https://github.com/ORGANIZATION"),
    ("RunnerPool", "spec.labels", "--label", "words such as linux, each once"),
];

/// Says what is wrong with any flag; the nodes and the credentials that are not known yet make no difference.
pub(super) fn check(wish: &Wish) -> anyhow::Result<()> {
    if !is_label(&wish.namespace) {
        bail!("--namespace: {:?} is no namespace: give a to z, 0 to 9 and -, such as ci", wish.namespace);
    }
    let trust = wish.trust.clone().unwrap_or(Trust::System);
    let names: Vec<&str> = wish.nodes.iter().map(NodeName::as_str).collect();
    let nodes: Vec<Value> =
        if names.is_empty() { vec![manifests::node("node")] } else { names.into_iter().map(manifests::node).collect() };
    let mut objects = manifests::hypervisor(wish, &trust, &nodes).values();
    if let Some(ci) = &wish.ci {
        objects.extend(manifests::source(wish, ci, &Login::Token(String::new().into())).values());
    }
    let wrong: Vec<String> = objects.iter().flat_map(judged).collect();
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n       "));
    }
    let ci = wish.ci.as_ref().map(|ci| ("--ci", "--ci-ca-file", ci.url.as_str(), &ci.trust));
    [("--endpoint", "--ca-file", wish.endpoint.as_str(), &trust)].into_iter().chain(ci).try_for_each(
        |(flag, file, url, trust)| {
            let endpoint = Endpoint::https(url, trust.clone(), wish.policy.clone()).context(flag)?;
            match Client::connect("init", &endpoint) {
                Err(error @ ConnectError::Bundle(_)) => bail!("{file}: {error}"),
                // Whether anybody is there is found out when somebody has to be.
                Ok(_) | Err(ConnectError::Address(_) | ConnectError::Roots(_) | ConnectError::Tls(_)) => Ok(()),
            }
        },
    )
}

/// What an API server would say of an object: once a field, since what is no value at all breaks every rule for it.
fn judged(object: &Value) -> Vec<String> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let Err(refusal) = api::admit(object, None) else { return Vec::new() };
    let mut fields = BTreeSet::new();
    let first = refusal.violations().iter().filter(|violation| fields.insert(&violation.field));
    first.map(|violation| told(kind, violation)).collect()
}

fn told(kind: &str, violation: &Violation) -> String {
    let Violation { field, message, cause: _ } = violation;
    let within =
        |path: &str| field == path || field.strip_prefix(path).is_some_and(|rest| rest.starts_with(['.', '[']));
    match FLAGS.iter().find(|(of, path, ..)| *of == kind && within(path)) {
        Some((_, _, flag, expected)) => format!("{flag}: expected {expected} ({message})"),
        None => format!("{field} of the {kind}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_wrong_with_an_object_is_told_by_its_flag() {
        let template = json!({
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "HypervisorMachineTemplate",
            "metadata": { "name": "machines" },
            "spec": {
                "hypervisorClusterRef": { "name": "pve" }, "template": { "proxmox": { "templateId": 9000 } },
                "resources": { "cpu": 2, "memory": "4GB", "disk": "32Gi" },
            },
        });
        let told = judged(&template);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("--memory: expected a size such as 4Gi ("), "{told:?}");
    }
}
