//! What a machine is told before it has said anything, on a medium of ours or in its firmware.

use std::net::IpAddr;

use api::{Allocation, BootstrapRecord, MachineClaim};
use providers::hypervisor::{Address, AllocationId, Native, NoCloud, Seed};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::supply::Supply;
use crate::seed::{identity, instructions};

/// Whose seed it is.
pub(super) struct Seeds<'a> {
    pub(super) claim: &'a MachineClaim,
    pub(super) allocation: &'a Allocation,
    pub(super) record: &'a BootstrapRecord,
    pub(super) supply: &'a Supply,
}

impl Seeds<'_> {
    /// The files of a seed medium; the message if the template's own cloud-init cannot be merged.
    pub(super) fn files(&self) -> Result<NoCloud, String> {
        let Self { claim, allocation, supply, .. } = *self;
        let seed = serde_json::to_string(&self.seed(supply.invitation.authority.clone())?);
        Ok(NoCloud {
            user_data: instructions(claim, &supply.template, &supply.cluster)?.into(),
            meta_data: identity(claim, allocation),
            network_config: self.network(),
            agent: Some(seed.map_err(|error| error.to_string())?.into()),
        })
    }

    /// How the guest finds its seed, and the line for the agent where that is in the firmware.
    pub(super) fn way(&self) -> Result<(Seed, Option<SecretString>), String> {
        match self.supply.seed() {
            api::Seed::Iso => Ok((Seed::Iso, None)),
            api::Seed::Smbios => {
                let name = self.supply.site.seed_name(&self.id()?, self.record.id.as_str());
                let path = protocol::path::no_cloud(name.expose_secret(), "");
                let url = format!("{}{path}", self.supply.invitation.url).into();
                Ok((Seed::Smbios { url }, Some(self.letter()?)))
            }
            api::Seed::Native => Ok((Seed::Native(self.native()), Some(self.letter()?))),
        }
    }

    fn letter(&self) -> Result<SecretString, String> {
        let seed = self.seed(self.supply.invitation.pin.clone())?;
        let says = "bootstrap.advertise cannot stand in a firmware: use a plain host name or address";
        protocol::engrave(&seed).ok_or_else(|| says.to_owned())
    }

    fn seed(&self, authority: String) -> Result<protocol::Seed, String> {
        let id = self.record.id.as_str();
        Ok(protocol::Seed {
            version: protocol::VERSION,
            url: self.supply.invitation.url.clone(),
            authority,
            id: id.to_owned(),
            token: self.supply.site.token(&self.id()?, id),
            machine: self.allocation.id.as_str().to_owned(),
            agent: self.supply.template.spec.attestation.agent_sha256.as_ref().map(|pin| pin.as_str().to_owned()),
        })
    }

    fn id(&self) -> Result<AllocationId, String> {
        self.allocation.id.as_str().parse().map_err(|error| format!("status.allocation.id: {error}"))
    }

    /// A static address; JSON is YAML.
    fn network(&self) -> Option<String> {
        let settings = self.supply.template.spec.network.static_config.as_ref()?;
        let device = json!({
            "match": { "name": "e*" },
            "addresses": [self.allocation.address.as_ref()?.as_str()],
            "routes": [{ "to": "default", "via": settings.gateway.as_str() }],
            "nameservers": { "addresses": self.servers() },
        });
        Some(json!({ "version": 2, "ethernets": { "first": device } }).to_string())
    }

    fn servers(&self) -> Vec<&str> {
        self.supply.cluster.spec.dns.iter().flat_map(|dns| &dns.servers).map(api::IpText::as_str).collect()
    }

    /// The same in the hypervisor's words.
    fn native(&self) -> Native {
        let settings = self.supply.template.spec.network.static_config.as_ref();
        let address = self.allocation.address.as_ref().and_then(|address| {
            let (address, prefix) = address.as_str().split_once('/')?;
            let gateway: Option<IpAddr> = settings.and_then(|settings| settings.gateway.as_str().parse().ok());
            Some(Address::Static { address: address.parse().ok()?, prefix: prefix.parse().ok()?, gateway })
        });
        Native {
            address: address.unwrap_or_default(),
            nameservers: self.servers().iter().filter_map(|server| server.parse().ok()).collect(),
            search_domain: self.supply.cluster.spec.dns.as_ref().map(|dns| dns.domain.as_str().to_owned()),
            ..Native::default()
        }
    }
}
