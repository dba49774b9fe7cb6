//! Names that cross a boundary: of Kubernetes objects, of things on the hypervisor, of things at the CI platform.
//!
//! Patterns use only what Go's and Rust's regular expressions read alike (no `\d`, `\w`, `\s`, no look-around).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::words::text;

text! {
    /// The name of a Kubernetes object (a DNS subdomain).
    ObjectName {
        length: 1..=253,
        pattern: r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
    }
}

text! {
    /// The name of a Kubernetes namespace (a DNS label).
    NamespaceName { length: 1..=63, pattern: r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" }
}

text! {
    /// A key inside a Secret's data.
    SecretEntry { length: 1..=253, pattern: r"^[-._a-zA-Z0-9]+$" }
}

text! {
    /// A hypervisor node's name, as the hypervisor spells it.
    NodeName { length: 1..=63, pattern: r"^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$" }
}

text! {
    /// A storage's id on the hypervisor.
    StorageName { length: 2..=100, pattern: r"^[a-zA-Z][-._a-zA-Z0-9]*[a-zA-Z0-9]$" }
}

text! {
    /// A network bridge or virtual network on the hypervisor; a Linux interface name, hence 15 characters.
    BridgeName { length: 1..=15, pattern: r"^[a-zA-Z][-._a-zA-Z0-9]*$" }
}

text! {
    /// A resource pool on the hypervisor; nested pools are written `parent/child`.
    ResourcePoolName { length: 1..=190, pattern: r"^[a-zA-Z0-9][-._a-zA-Z0-9]*(/[a-zA-Z0-9][-._a-zA-Z0-9]*){0,2}$" }
}

text! {
    /// The name of an image (a VM template) on the hypervisor.
    ImageName { length: 1..=253, pattern: r"^[a-zA-Z0-9]([-.a-zA-Z0-9]*[a-zA-Z0-9])?$" }
}

text! {
    /// A DNS domain without a trailing dot.
    DomainName {
        length: 1..=253,
        pattern: r"^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?)*$"
    }
}

text! {
    /// An IPv4 or IPv6 address; rules in the schema check the form.
    IpText { length: 2..=45, pattern: r"^[0-9a-fA-F:.]+$" }
}

text! {
    /// An address with its prefix length (`10.0.0.7/24`); rules in the schema check the form.
    CidrText { length: 4..=49, pattern: r"^[0-9a-fA-F:.]+/[0-9]{1,3}$" }
}

text! {
    /// A UUID in its canonical text form.
    UuidText { length: 36..=36, pattern: r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$" }
}

text! {
    /// A SHA-256 digest as 64 lower-case hexadecimal digits.
    Digest { length: 64..=64, pattern: r"^[0-9a-f]{64}$" }
}

text! {
    /// The SHA-256 fingerprint of a certificate, as Proxmox VE shows it: 32 pairs of digits with colons.
    Fingerprint { length: 95..=95, pattern: r"^([0-9a-fA-F]{2}:){31}[0-9a-fA-F]{2}$" }
}

text! {
    /// A base URL: scheme, host, optional port and path; no user, query or fragment.
    BaseUrl { length: 8..=512, pattern: r"^https?://[-a-zA-Z0-9.:\[\]]+(/[-a-zA-Z0-9._~/%]*)?$" }
}

text! {
    /// A runner label at GitHub, Gitea or Forgejo: printable ASCII without blank and comma; case makes no difference.
    RunnerLabel { length: 1..=128, pattern: r"^[!-+\--~]+$" }
}

text! {
    /// A runner tag: a word at GitLab, `key=value` at Buildkite; printable ASCII without blank and comma.
    RunnerTag { length: 1..=255, pattern: r"^[!-+\--~]+$" }
}

text! {
    /// The key of a Buildkite queue.
    QueueName { length: 1..=100, pattern: r"^[-_.a-zA-Z0-9]+$" }
}

/// The id of a VM, unique in its hypervisor cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VmId(pub u32);

impl VmId {
    /// The lowest id Proxmox VE gives to a guest.
    pub const LOWEST: Self = Self(100);
    /// The highest id Proxmox VE accepts.
    pub const HIGHEST: Self = Self(999_999_999);
}

impl fmt::Display for VmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl schemars::JsonSchema for VmId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "VmId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "integer", "minimum": Self::LOWEST.0, "maximum": Self::HIGHEST.0
        })
    }
}
