//! Which addresses we talk to.
//!
//! The operator holds powerful credentials and runs inside a cluster: an endpoint that resolves to the machine itself,
//! to a link-local metadata service or to the cluster's own ranges is refused unless an administrator allows it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Ranges an administrator allows or denies, beside those that are never right by themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    /// Ranges to talk to whatever the other rules say.
    pub allow: Vec<Cidr>,
    /// Ranges of the cluster's pods and services.
    pub deny: Vec<Cidr>,
}

/// An address that the policy does not let us talk to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{address} is {why}: expected an address outside this machine and this cluster; allow it in the operator's settings if it is right"
)]
pub struct AddressRefused {
    /// The address.
    pub address: IpAddr,
    /// What speaks against it.
    pub why: &'static str,
}

impl AddressPolicy {
    /// A policy that lets every address pass: for simulators and tests on this machine.
    pub fn anywhere() -> Self {
        let all = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
        Self { allow: all.map(|network| Cidr { network, prefix: 0 }).to_vec(), deny: Vec::new() }
    }

    /// Lets an address pass, or says what speaks against it.
    pub fn check(&self, address: IpAddr) -> Result<(), AddressRefused> {
        let meant = embedded(address);
        if self.allow.iter().any(|range| range.contains(meant)) {
            return Ok(());
        }
        let why = if meant.is_loopback() {
            "a loopback address"
        } else if is_unspecified(meant) {
            "an unspecified address"
        } else if meant.is_multicast() || meant == IpAddr::V4(Ipv4Addr::BROADCAST) {
            "a multicast or broadcast address"
        } else if is_link_local(meant) {
            "a link-local address"
        } else if self.deny.iter().any(|range| range.contains(meant)) {
            "an address of the cluster"
        } else {
            return Ok(());
        };
        Err(AddressRefused { address, why })
    }
}

/// The IPv4 address that an IPv6 address stands for (mapped, compatible or NAT64), or the address itself.
fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let [a, b, c, d] = [v6.octets()[12], v6.octets()[13], v6.octets()[14], v6.octets()[15]];
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 || low > 1 => IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        _ => address,
    }
}

fn is_unspecified(address: IpAddr) -> bool {
    match address {
        // All of 0.0.0.0/8 reaches this machine on some systems.
        IpAddr::V4(v4) => v4.octets()[0] == 0,
        IpAddr::V6(v6) => v6.is_unspecified(),
    }
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// A range of addresses, such as `10.96.0.0/12`; a single address is a range of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    network: IpAddr,
    prefix: u8,
}

/// The text is no range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no range of addresses: expected one such as 10.96.0.0/12 or fd00::/8")]
pub struct CidrError(String);

impl Cidr {
    /// Whether the address lies in the range.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                high_bits(u128::from(network.to_bits()) << 96, self.prefix)
                    == high_bits(u128::from(address.to_bits()) << 96, self.prefix)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                high_bits(network.to_bits(), self.prefix) == high_bits(address.to_bits(), self.prefix)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

fn high_bits(bits: u128, prefix: u8) -> u128 {
    bits.checked_shr(128 - u32::from(prefix)).unwrap_or(0)
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let wrong = || CidrError(text.to_owned());
        let (network, prefix) = text.trim().split_once('/').map_or((text.trim(), None), |(n, p)| (n, Some(p)));
        let network: IpAddr = network.parse().map_err(|_| wrong())?;
        let longest = if network.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(longest), |prefix| prefix.parse().map_err(|_| wrong()))?;
        if prefix > longest { Err(wrong()) } else { Ok(Self { network, prefix }) }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn policy() -> AddressPolicy {
        AddressPolicy { allow: vec!["127.0.0.2".parse().unwrap()], deny: vec!["10.96.0.0/12".parse().unwrap()] }
    }

    #[rstest]
    #[case("192.0.2.10", None)]
    #[case("2001:db8::10", None)]
    #[case("10.95.255.255", None)]
    #[case("127.0.0.2", None)]
    #[case("::ffff:127.0.0.2", None)]
    #[case("127.0.0.1", Some("a loopback address"))]
    #[case("::1", Some("a loopback address"))]
    #[case("::ffff:127.0.0.1", Some("a loopback address"))]
    #[case("::7f00:1", Some("a loopback address"))]
    #[case("64:ff9b::7f00:1", Some("a loopback address"))]
    #[case("169.254.169.254", Some("a link-local address"))]
    #[case("fe80::1", Some("a link-local address"))]
    #[case("0.0.0.0", Some("an unspecified address"))]
    #[case("0.1.2.3", Some("an unspecified address"))]
    #[case("::", Some("an unspecified address"))]
    #[case("224.0.0.1", Some("a multicast or broadcast address"))]
    #[case("255.255.255.255", Some("a multicast or broadcast address"))]
    #[case("ff02::1", Some("a multicast or broadcast address"))]
    #[case("10.96.0.1", Some("an address of the cluster"))]
    #[case("10.111.255.255", Some("an address of the cluster"))]
    fn an_address_passes_or_is_refused_with_the_reason(#[case] address: &str, #[case] why: Option<&str>) {
        let refused = policy().check(address.parse().unwrap()).err();
        assert_eq!(refused.map(|refused| refused.why), why);
    }

    #[test]
    fn a_range_must_make_sense() {
        for text in ["", "10.0.0.0/33", "fd00::/129", "10.0.0.0/x", "localhost"] {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
        assert_eq!("fd00::/8".parse::<Cidr>().unwrap().to_string(), "fd00::/8");
    }

    #[test]
    fn anywhere_is_anywhere() {
        for address in ["127.0.0.1", "::1", "169.254.169.254", "192.0.2.1"] {
            assert_eq!(AddressPolicy::anywhere().check(address.parse().unwrap()), Ok(()));
        }
    }
}
