//! The network of a machine.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::names::{BridgeName, CidrText, IpText};
use crate::words::words;

/// The network of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("(self.mode == 'static') == has(self.staticConfig)")
    .message("staticConfig is required when mode is static, and must be left out otherwise")
    .field_path(".staticConfig"))]
pub struct Network {
    /// How a machine gets its address: `dhcp`, or `static` from the list in `staticConfig`.
    #[serde(default = "default_mode")]
    pub mode: NetworkMode,
    /// Bridge or virtual network; left out, the cluster's `defaultNetwork`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bridge: Option<BridgeName>,
    /// VLAN tag, 1 to 4094.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4094))]
    pub vlan: Option<u16>,
    /// Addresses to give out; required when `mode` is `static`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub static_config: Option<StaticConfig>,
}

words! {
    /// How a machine gets its address.
    NetworkMode {
        /// From a DHCP server.
        Dhcp = "dhcp",
        /// From the template's own list.
        Static = "static",
    }
}

/// Addresses a template gives out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct StaticConfig {
    /// Addresses with prefix length, one per machine; no more machines exist at once than there are addresses.
    #[schemars(length(min = 1, max = 256))]
    #[x_kube(
        merge_strategy = ListMerge::Set,
        validation = Rule::new("self.all(address, isCIDR(address))")
            .message("addresses must be IP addresses with prefix length, such as 10.0.0.7/24")
    )]
    pub addresses: Vec<CidrText>,
    /// Address of the gateway.
    #[x_kube(validation = Rule::new("isIP(self)").message("gateway must be an IP address, such as 10.0.0.1"))]
    pub gateway: IpText,
}

impl Default for Network {
    fn default() -> Self {
        Self { mode: default_mode(), bridge: None, vlan: None, static_config: None }
    }
}

fn default_mode() -> NetworkMode {
    NetworkMode::Dhcp
}
