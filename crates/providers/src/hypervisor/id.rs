//! Names of things on a hypervisor, each its own type, so that none is taken for another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The text is no valid name of its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no {kind}: expected {expected}")]
pub struct IdError {
    pub(super) kind: &'static str,
    pub(super) text: String,
    pub(super) expected: &'static str,
}

/// A string that holds what its grammar allows.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $expected:literal, $valid:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The text, as the hypervisor spells it.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                let valid: fn(&str) -> bool = $valid;
                if valid(&text) { Ok(Self(text)) } else { Err(IdError { kind: $kind, text, expected: $expected }) }
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// A node of the hypervisor.
    NodeName, "node name", "letters, digits and inner hyphens", is_label
);
name!(
    /// A storage of the hypervisor.
    StorageName, "storage name", "a letter, then letters, digits, '-', '_' or '.', ending in a letter or digit", |text| {
        text.len() > 1 && text.starts_with(|c: char| c.is_ascii_alphabetic()) && ends_plain(text) && is_word(text)
    }
);
name!(
    /// A resource pool, nested ones with '/'.
    PoolName, "resource pool name", "letters, digits, '-', '_' or '.', levels joined by '/'", |text| {
        text.split('/').all(is_word)
    }
);
name!(
    /// A bridge or virtual network.
    BridgeName, "bridge name", "letters, digits, '-', '_' or '.'", is_word
);
name!(
    /// The name of a VM, which is its host name.
    VmName, "VM name", "labels of letters, digits and inner hyphens, joined by '.'", |text| {
        text.split('.').all(is_label)
    }
);
name!(
    /// The id of one allocation: chosen by us for one VM of one claim, never used again.
    AllocationId, "allocation id", "1 to 63 letters, digits, '-', '_' or '.', beginning with a letter or digit", |text| {
        text.len() <= 63 && starts_plain(text) && is_word(text)
    }
);
name!(
    /// One installation of the operator, so that several can share a hypervisor.
    OperatorId, "operator id", "1 to 63 letters, digits, '-', '_' or '.', beginning with a letter or digit", |text| {
        text.len() <= 63 && starts_plain(text) && is_word(text)
    }
);
name!(
    /// The cluster that a VM is on, by a name that stays the same for the cluster's life.
    ClusterId, "cluster id", "1 to 63 letters, digits, '-', '_' or '.', beginning with a letter or digit", |text| {
        text.len() <= 63 && starts_plain(text) && is_word(text)
    }
);
name!(
    /// A UUID in lower case.
    Uuid, "UUID", "32 lower-case hexadecimal digits in groups of 8, 4, 4, 4 and 12", |text| {
        let groups: Vec<usize> = text.split('-').map(str::len).collect();
        groups == [8, 4, 4, 4, 12] && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b'-'))
    }
);
name!(
    /// The fingerprint of a VM's settings at one moment: a change with an old one is refused.
    Digest, "digest", "1 to 64 letters and digits", |text| {
        (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric())
    }
);
name!(
    /// A task on the hypervisor, in its own spelling: kept and given back, never read.
    TaskRef, "task reference", "1 to 255 printable characters without blanks", |text| {
        (1..=255).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
    }
);
name!(
    /// A volume on a storage, as `storage:name`.
    VolumeId, "volume id", "a storage name, ':' and a path without blanks or '..'", |text| {
        let plain = text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'?' | b'#' | b'%' | b'\\'));
        let (storage, path) = text.split_once(':').unwrap_or_default();
        plain && StorageName::from_str(storage).is_ok() && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
    }
);

impl VolumeId {
    /// The storage it is on.
    pub fn storage(&self) -> StorageName {
        let (storage, _) = self.0.split_once(':').expect("a volume id holds a colon");
        StorageName(storage.to_owned())
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn is_label(text: &str) -> bool {
    starts_plain(text) && ends_plain(text) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn starts_plain(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn ends_plain(text: &str) -> bool {
    text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_what_their_grammar_allows() {
        assert!("pve1".parse::<NodeName>().is_ok());
        assert!("pve_1".parse::<NodeName>().is_err());
        assert!("-pve".parse::<NodeName>().is_err());
        assert!("local-lvm".parse::<StorageName>().is_ok());
        assert!("x".parse::<StorageName>().is_err());
        assert!("../x".parse::<StorageName>().is_err());
        assert!("a/b/c".parse::<PoolName>().is_ok());
        assert!("a//c".parse::<PoolName>().is_err());
        assert!("runner-1.ci".parse::<VmName>().is_ok());
        assert!("under_score".parse::<VmName>().is_err());
        assert_eq!(
            "a b".parse::<AllocationId>().unwrap_err().to_string(),
            "\"a b\" is no allocation id: expected 1 to 63 letters, digits, '-', '_' or '.', beginning with a letter or digit"
        );
    }

    #[test]
    fn a_volume_id_cannot_leave_its_storage() {
        let volume: VolumeId = "store:9000/base-9000-disk-0.qcow2/101/vm-101-disk-0.qcow2".parse().unwrap();
        assert_eq!(volume.storage().as_str(), "store");
        for text in ["store", "store:", "store:a/../b", "store:a b", "store:a?x", ":x", "store:/etc"] {
            assert!(text.parse::<VolumeId>().is_err(), "{text}");
        }
    }
}
