//! What cloud-init reads on a machine, whichever way it gets there.

use std::fmt::Write as _;

use api::{Allocation, HypervisorCluster, HypervisorMachineTemplate, MachineClaim};
use fleet::cloud_init::{self, Ours};
use kube::ResourceExt;
use providers::hex;
use serde_json::json;
use sha2::{Digest, Sha256};

/// The longest host name.
const LABEL: usize = 63;

/// The name of a claim's machine: its namespace and name, cut and told apart by a hash where that is too long.
pub(crate) fn hostname(claim: &MachineClaim) -> String {
    let whole = format!("{}-{}", claim.namespace().unwrap_or_default(), claim.name_any());
    let plain: String = whole.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    if plain == whole && plain.len() <= LABEL {
        return plain;
    }
    let mut name: String = plain.chars().take(LABEL - 9).collect();
    let _ = write!(name, "-{}", hex::encode(&Sha256::digest(whole)[..4]));
    name
}

/// Who the machine is.
pub(crate) fn identity(claim: &MachineClaim, allocation: &Allocation) -> String {
    json!({ "instance-id": allocation.id.as_str(), "local-hostname": hostname(claim) }).to_string()
}

/// What the machine should do; the message if the template's own cloud-init cannot be merged.
pub(crate) fn instructions(
    claim: &MachineClaim,
    template: &HypervisorMachineTemplate,
    cluster: &HypervisorCluster,
) -> Result<String, String> {
    let hostname = hostname(claim);
    let fqdn = cluster.spec.dns.as_ref().map(|dns| format!("{hostname}.{}", dns.domain.as_str()));
    let ours = Ours { hostname, fqdn, ..Ours::default() };
    let theirs = template.spec.cloud_init.as_ref().map(|theirs| theirs.user_data.as_str());
    cloud_init::merge(theirs, &ours).map_err(|refusal| refusal.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(namespace: &str, name: &str) -> String {
        let spec = json!({ "templateRef": { "name": "t" }, "workload": { "command": { "argv": ["true"] } } });
        let mut claim = MachineClaim::new(name, serde_json::from_value(spec).unwrap());
        claim.metadata.namespace = Some(namespace.to_owned());
        hostname(&claim)
    }

    #[test]
    fn a_host_name_is_one_label_and_never_that_of_another_claim() {
        assert_eq!(named("ci", "hello"), "ci-hello");
        let long = "a".repeat(200);
        for (namespace, name) in [("ci", long.as_str()), ("ci", "has.dots")] {
            let name = named(namespace, name);
            assert!(name.len() <= LABEL && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name}");
        }
        assert_ne!(named("ci", "has.dots"), named("ci", "has-dots"));
        assert_ne!(named("ci", &format!("{long}x")), named("ci", &format!("{long}y")));
    }
}
