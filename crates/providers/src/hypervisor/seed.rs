//! How a fresh VM learns who it is.
//!
//! Exactly one seed reaches a VM: a small `NoCloud` image of ours, an address in the firmware's serial number, or the
//! hypervisor's own seed drive. Its text may hold a single-use token, so what may hold one shows nothing when printed.

mod iso;

use std::net::IpAddr;

use secrecy::{ExposeSecret, SecretString};

use super::error::Error;
use super::object::Object;

/// How a VM finds its seed; part of a [`super::Shape`].
#[derive(Clone, Debug)]
pub enum Seed {
    /// On the image that was staged for it; the hypervisor's own seed drive is removed.
    Iso,
    /// At the address in the firmware's serial number; the hypervisor's own seed drive is removed.
    Smbios {
        /// Where the guest fetches its files from; ends in '/'.
        url: SecretString,
    },
    /// On the hypervisor's own seed drive.
    Native(Native),
}

/// The files of a `NoCloud` seed.
#[derive(Clone, Debug)]
pub struct NoCloud {
    /// `user-data`.
    pub user_data: SecretString,
    /// `meta-data`.
    pub meta_data: String,
    /// `network-config`, unless the guest asks DHCP.
    pub network_config: Option<String>,
    /// `hyperfleet.json`, which cloud-init does not know and therefore never copies to the disk.
    pub agent: Option<SecretString>,
}

/// The file for our agent.
const AGENT: &str = "hyperfleet.json";

impl NoCloud {
    /// An ISO 9660 image with these files, label `cidata`.
    pub fn image(&self) -> Vec<u8> {
        let mut files: Vec<(&str, &[u8])> = Vec::new();
        files.extend(self.agent.as_ref().map(|text| (AGENT, text.expose_secret().as_bytes())));
        files.push(("meta-data", self.meta_data.as_bytes()));
        files.extend(self.network_config.as_ref().map(|text| ("network-config", text.as_bytes())));
        files.push(("user-data", self.user_data.expose_secret().as_bytes()));
        iso::image("cidata", &files)
    }
}

/// What the hypervisor's own seed drive can say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Native {
    /// The user to log in as.
    pub user: Option<String>,
    /// Public keys that may log in.
    pub ssh_keys: Vec<String>,
    /// The address of the first device.
    pub address: Address,
    /// Name servers.
    pub nameservers: Vec<IpAddr>,
    /// The domain that short names are looked up in.
    pub search_domain: Option<String>,
}

/// How a device gets its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Address {
    /// From DHCP.
    #[default]
    Dhcp,
    /// This one.
    Static {
        /// The address.
        address: IpAddr,
        /// Bits of its network.
        prefix: u8,
        /// Where other networks are reached.
        gateway: Option<IpAddr>,
    },
}

/// The words that make cloud-init fetch its seed from `url`.
///
/// `nocloud-net`, never `nocloud`: the shorter word makes some distributions wait for a disk for ever.
pub(super) fn serial(url: &SecretString, object: Object) -> Result<SecretString, Error> {
    let address = url.expose_secret();
    let is_web = address.starts_with("http://") || address.starts_with("https://");
    if !is_web || !address.ends_with('/') || address.contains(|c: char| c.is_whitespace() || c == ';') {
        let says = "the seed's address must begin with http:// or https://, end in '/' and hold no blanks or ';'";
        return Err(Error::invalid(object, "seed", says));
    }
    Ok(format!("ds=nocloud-net;s={address}").into())
}
