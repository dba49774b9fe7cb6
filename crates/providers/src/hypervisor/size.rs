//! Amounts of memory and disk.

use std::fmt;

use serde::{Deserialize, Serialize};

const KIB: u64 = 1024;

/// An amount in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Bytes(pub u64);

/// An amount in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Mib(pub u32);

/// An amount in GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Gib(pub u32);

impl From<Mib> for Bytes {
    fn from(Mib(mib): Mib) -> Self {
        Self(u64::from(mib) * KIB * KIB)
    }
}

impl From<Gib> for Bytes {
    fn from(Gib(gib): Gib) -> Self {
        Self(u64::from(gib) * KIB * KIB * KIB)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GiB", KIB * KIB * KIB), ("MiB", KIB * KIB), ("KiB", KIB)];
        match units.into_iter().find(|(_, unit)| self.0 >= *unit && self.0.is_multiple_of(*unit)) {
            Some((name, unit)) => write!(f, "{} {name}", self.0 / unit),
            None => write!(f, "{} bytes", self.0),
        }
    }
}
