//! Numbers that tell VMs and their network devices apart.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::id::{IdError, NodeName};
use crate::hex;

/// The number of a VM, unique in its cluster while it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct VmId(u32);

impl VmId {
    /// The lowest number a VM can have.
    pub const MIN: Self = Self(100);
    /// The highest number a VM can have.
    pub const MAX: Self = Self(999_999_999);

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for VmId {
    type Error = IdError;

    fn try_from(number: u32) -> Result<Self, IdError> {
        let id = Self(number);
        if (Self::MIN..=Self::MAX).contains(&id) {
            return Ok(id);
        }
        Err(IdError { kind: "VMID", text: number.to_string(), expected: "a number from 100 to 999999999" })
    }
}

impl FromStr for VmId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let wrong = IdError { kind: "VMID", text: text.to_owned(), expected: "a number from 100 to 999999999" };
        text.parse::<u32>().ok().and_then(|number| Self::try_from(number).ok()).ok_or(wrong)
    }
}

impl From<VmId> for u32 {
    fn from(id: VmId) -> Self {
        id.0
    }
}

impl fmt::Display for VmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A range of VMIDs, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmIdRange {
    /// The lowest.
    pub first: VmId,
    /// The highest.
    pub last: VmId,
}

impl VmIdRange {
    /// Whether the id lies in the range.
    pub fn contains(self, id: VmId) -> bool {
        (self.first..=self.last).contains(&id)
    }

    /// Every id of the range, from the lowest.
    pub fn ids(self) -> impl Iterator<Item = VmId> {
        (self.first.0..=self.last.0).map(VmId)
    }
}

/// A VM and the node it was last known on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VmRef {
    /// Its number.
    pub id: VmId,
    /// Its node.
    pub node: NodeName,
}

impl fmt::Display for VmRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VM {} on node {}", self.id, self.node)
    }
}

/// The hardware address of a network device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mac([u8; 6]);

impl FromStr for Mac {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let wrong =
            || IdError { kind: "MAC address", text: text.to_owned(), expected: "six pairs such as BC:24:11:00:00:01" };
        let are_pairs = text.split(':').all(|pair| pair.len() == 2);
        let bytes = hex::decode(&text.replace(':', "")).filter(|_| are_pairs).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(wrong)
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.0.iter().map(|byte| format!("{byte:02X}")).collect();
        f.write_str(&pairs.join(":"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vmid_has_its_bounds() {
        assert!("99".parse::<VmId>().is_err());
        assert!("1000000000".parse::<VmId>().is_err());
        assert_eq!("100".parse::<VmId>(), Ok(VmId::MIN));
        assert_eq!(serde_json::from_str::<VmId>("101").unwrap().get(), 101);
        assert!(serde_json::from_str::<VmId>("7").is_err());
    }

    #[test]
    fn a_mac_reads_back() {
        let mac: Mac = "bc:24:11:16:0f:29".parse().unwrap();
        assert_eq!(mac.to_string(), "BC:24:11:16:0F:29");
        assert!("bc:24:11:16:0f".parse::<Mac>().is_err());
        assert!("bc:24:11:16:0f:29:00".parse::<Mac>().is_err());
    }
}
