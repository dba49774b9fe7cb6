//! What a machine is told on its seed.

use std::fmt::Write as _;

use api::{Allocation, BootstrapRecord, MachineClaim};
use fleet::cloud_init::{self, Ours};
use kube::ResourceExt;
use providers::hex;
use providers::hypervisor::{AllocationId, NoCloud};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::supply::Supply;

/// The longest host name.
const LABEL: usize = 63;

/// The name of a claim's machine: its namespace and name, cut and told apart by a hash where that is too long.
pub(super) fn hostname(claim: &MachineClaim) -> String {
    let whole = format!("{}-{}", claim.namespace().unwrap_or_default(), claim.name_any());
    let plain: String = whole.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    if plain == whole && plain.len() <= LABEL {
        return plain;
    }
    let mut name: String = plain.chars().take(LABEL - 9).collect();
    let _ = write!(name, "-{}", hex::encode(&Sha256::digest(whole)[..4]));
    name
}

/// The files of a machine's seed; the message if the template's own cloud-init cannot be merged.
pub(super) fn files(
    claim: &MachineClaim,
    allocation: &Allocation,
    record: &BootstrapRecord,
    supply: &Supply,
) -> Result<NoCloud, String> {
    let hostname = hostname(claim);
    let dns = supply.cluster.spec.dns.as_ref();
    let fqdn = dns.map(|dns| format!("{hostname}.{}", dns.domain.as_str()));
    let ours = Ours { hostname: hostname.clone(), fqdn, ..Ours::default() };
    let theirs = supply.template.spec.cloud_init.as_ref().map(|theirs| theirs.user_data.as_str());
    let user_data = cloud_init::merge(theirs, &ours).map_err(|refusal| refusal.to_string())?;
    let id: AllocationId = allocation.id.as_str().parse().map_err(|error| format!("status.allocation.id: {error}"))?;
    let seed = protocol::Seed {
        version: protocol::VERSION,
        url: supply.invitation.url.clone(),
        authority: supply.invitation.authority.clone(),
        id: record.id.as_str().to_owned(),
        token: supply.site.token(&id, record.id.as_str()),
        machine: allocation.id.as_str().to_owned(),
        agent: supply.template.spec.attestation.agent_sha256.as_ref().map(|pin| pin.as_str().to_owned()),
    };
    let seed = serde_json::to_string(&seed).map_err(|error| error.to_string())?;
    Ok(NoCloud {
        user_data: user_data.into(),
        meta_data: json!({ "instance-id": allocation.id.as_str(), "local-hostname": hostname }).to_string(),
        network_config: network(allocation, supply),
        agent: Some(seed.into()),
    })
}

/// A static address; JSON is YAML.
fn network(allocation: &Allocation, supply: &Supply) -> Option<String> {
    let (address, settings) = (allocation.address.as_ref()?, supply.template.spec.network.static_config.as_ref()?);
    let servers: Vec<&str> =
        supply.cluster.spec.dns.iter().flat_map(|dns| &dns.servers).map(api::IpText::as_str).collect();
    let device = json!({
        "match": { "name": "e*" },
        "addresses": [address.as_str()],
        "routes": [{ "to": "default", "via": settings.gateway.as_str() }],
        "nameservers": { "addresses": servers },
    });
    Some(json!({ "version": 2, "ethernets": { "first": device } }).to_string())
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
