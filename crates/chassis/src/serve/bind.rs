//! Where a server listens.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// An address to listen on, written as other operators do: `:8443`, `127.0.0.1:8443`, `[::1]:8443`, or `0` for off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    /// Not at all.
    Off,
    /// On every address of the machine.
    Any(u16),
    /// On this one.
    At(SocketAddr),
}

impl Bind {
    /// The port, unless off; 0 lets the system choose.
    pub const fn port(self) -> Option<u16> {
        match self {
            Self::Off => None,
            Self::Any(port) => Some(port),
            Self::At(address) => Some(address.port()),
        }
    }

    /// What to try in turn: both protocols at once, or the old one alone where there is no IPv6.
    pub(super) fn candidates(self) -> Vec<SocketAddr> {
        match self {
            Self::Off => Vec::new(),
            Self::Any(port) => vec![(Ipv6Addr::UNSPECIFIED, port).into(), (Ipv4Addr::UNSPECIFIED, port).into()],
            Self::At(address) => vec![address],
        }
    }
}

impl FromStr for Bind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.strip_prefix(':') {
            _ if text == "0" => Ok(Self::Off),
            Some(port) => port.parse().map(Self::Any).map_err(drop),
            None => text.parse().map(Self::At).map_err(drop),
        }
    }
}

impl fmt::Display for Bind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("0"),
            Self::Any(port) => write!(f, ":{port}"),
            Self::At(address) => write!(f, "{address}"),
        }
    }
}
