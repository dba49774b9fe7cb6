//! Whose VM it is.
//!
//! The clone call writes a record into the new VM's description: a line for people and a line for us, signed with a key
//! that only this installation holds and bound to the VM's number, its allocation and its cluster. A person may add
//! notes around it; a copy of the VM, another operator's VM and a forgery are told apart in [`Mark`]. [`Proof`] can only
//! come out of a verified record, and nothing but a [`Proof`] makes a [`super::Seen`], without which no VM is changed.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use sha2::Sha256;

use super::id::{AllocationId, ClusterId, OperatorId};
use super::number::VmId;
use crate::hex;

/// What our line begins with; the number is the version of its form.
const PREFIX: &str = "hyperfleet-owner: v1 ";
/// What our line of any version begins with.
const ANY_VERSION: &str = "hyperfleet-owner: ";
/// Keeps signatures of other records, should there ever be any, from being taken for these.
const PURPOSE: &[u8] = b"hyperfleet vm owner v1";
/// The same for tokens.
const TOKEN: &[u8] = b"hyperfleet bootstrap token v1";
/// The same for the names of seeds.
const SEED: &[u8] = b"hyperfleet seed name v1";
/// Characters of a person's line that are kept.
const NOTE: usize = 400;

/// Signs and verifies ownership records for one operator on one cluster.
#[derive(Clone)]
pub struct Keyring {
    operator: OperatorId,
    cluster: ClusterId,
    key: SecretSlice<u8>,
}

/// A record of ours that holds for this VM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    vm: VmId,
    allocation: AllocationId,
}

/// Why a VM is not ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It has no record.
    Unmarked,
    /// Its record has a form we do not know.
    Unreadable,
    /// Its record is of another operator.
    OtherOperator(OperatorId),
    /// Its record is of a VM on another cluster.
    OtherCluster(ClusterId),
    /// Its record is of another VM: somebody copied ours.
    CopyOf(VmId),
    /// Its record names us but was not written by us.
    Forged,
    /// It is ours, but of another allocation than expected.
    OtherAllocation(AllocationId),
    /// It was ours until somebody turned it into an image.
    Converted,
}

/// The fields of a record before anything is believed.
struct Claimed {
    operator: OperatorId,
    cluster: ClusterId,
    allocation: AllocationId,
    vm: VmId,
    signature: Vec<u8>,
}

impl Keyring {
    /// A keyring for `operator` on `cluster`; the key should have 32 random bytes.
    pub fn new(operator: OperatorId, cluster: ClusterId, key: SecretSlice<u8>) -> Self {
        Self { operator, cluster, key }
    }

    /// The description that marks `vm` as ours, opening with a line for people.
    pub fn describe(&self, vm: VmId, allocation: &AllocationId, note: &str) -> String {
        let note: String = note.chars().map(|c| if c.is_control() { ' ' } else { c }).take(NOTE).collect();
        let Self { operator, cluster, .. } = self;
        let signature = hex::encode(&self.signature(vm, allocation).finalize().into_bytes());
        format!(
            "{}\n\n{PREFIX}operator={operator} cluster={cluster} allocation={allocation} vmid={vm} signature={signature}",
            note.trim()
        )
    }

    /// What the description says about `vm`. Notes around the record do not matter; of several records one that holds
    /// is enough.
    pub fn verify(&self, description: &str, vm: VmId) -> Result<Proof, Mark> {
        let mut why = Mark::Unmarked;
        for line in description.lines().map(str::trim).filter(|line| line.starts_with(ANY_VERSION)) {
            match self.verify_line(line, vm) {
                Ok(proof) => return Ok(proof),
                Err(mark) if why == Mark::Unmarked => why = mark,
                Err(_) => {}
            }
        }
        Err(why)
    }

    fn verify_line(&self, line: &str, vm: VmId) -> Result<Proof, Mark> {
        let claimed = Claimed::parse(line).ok_or(Mark::Unreadable)?;
        if claimed.operator != self.operator {
            return Err(Mark::OtherOperator(claimed.operator));
        }
        if claimed.cluster != self.cluster {
            return Err(Mark::OtherCluster(claimed.cluster));
        }
        let signature = self.signature(claimed.vm, &claimed.allocation);
        // Takes the same time wherever the signatures differ.
        signature.verify_slice(&claimed.signature).map_err(|_| Mark::Forged)?;
        if claimed.vm != vm {
            return Err(Mark::CopyOf(claimed.vm));
        }
        Ok(Proof { vm, allocation: claimed.allocation })
    }

    /// The token by which a VM's agent proves itself: known to whoever holds the key, and to the VM.
    ///
    /// It is worked out, not drawn: a process that comes after a crash finds the same one, and nothing has to be kept.
    pub fn token(&self, allocation: &AllocationId, bootstrap: &str) -> SecretString {
        let fields = [TOKEN, self.cluster.as_str().as_bytes(), allocation.as_str().as_bytes(), bootstrap.as_bytes()];
        hex::encode(&self.sealed(&fields).finalize().into_bytes()).into()
    }

    /// The name under which a VM's cloud-init fetches its files, which nobody can guess: 128 bits. Worked out as the token
    /// is, and of no use to whoever wants to know that.
    pub fn seed_name(&self, allocation: &AllocationId, bootstrap: &str) -> SecretString {
        let fields = [SEED, self.cluster.as_str().as_bytes(), allocation.as_str().as_bytes(), bootstrap.as_bytes()];
        let sealed = self.sealed(&fields).finalize().into_bytes();
        URL_SAFE_NO_PAD.encode(&sealed[..16]).into()
    }

    fn signature(&self, vm: VmId, allocation: &AllocationId) -> Hmac<Sha256> {
        let number = vm.get().to_be_bytes();
        let fields: [&[u8]; 5] = [
            PURPOSE,
            self.operator.as_str().as_bytes(),
            self.cluster.as_str().as_bytes(),
            allocation.as_str().as_bytes(),
            &number,
        ];
        self.sealed(&fields)
    }

    fn sealed(&self, fields: &[&[u8]]) -> Hmac<Sha256> {
        let mut hmac = Hmac::<Sha256>::new_from_slice(self.key.expose_secret()).expect("HMAC takes keys of any length");
        for field in fields {
            // Length first, so that no two different records are the same bytes.
            hmac.update(&(field.len() as u64).to_be_bytes());
            hmac.update(field);
        }
        hmac
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring")
            .field("operator", &self.operator)
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

impl Proof {
    /// The VM that is ours.
    pub const fn vm(&self) -> VmId {
        self.vm
    }

    /// The allocation it was made for.
    pub const fn allocation(&self) -> &AllocationId {
        &self.allocation
    }
}

impl Claimed {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix(PREFIX)?.split_ascii_whitespace();
        let mut field = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=');
        let operator = field("operator")?.parse().ok()?;
        let cluster = field("cluster")?.parse().ok()?;
        let allocation = field("allocation")?.parse().ok()?;
        let vm = field("vmid")?.parse().ok()?;
        let signature = hex::decode(field("signature")?)?;
        Some(Self { operator, cluster, allocation, vm, signature })
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unmarked => f.write_str("it has no ownership record"),
            Self::Unreadable => f.write_str("its ownership record has an unknown form"),
            Self::OtherOperator(operator) => write!(f, "it belongs to operator {operator}"),
            Self::OtherCluster(cluster) => write!(f, "its ownership record is of cluster {cluster}"),
            Self::CopyOf(vm) => write!(f, "it is a copy of VM {vm}"),
            Self::Forged => f.write_str("its ownership record is not signed by this operator"),
            Self::OtherAllocation(allocation) => write!(f, "it was made for allocation {allocation}"),
            Self::Converted => f.write_str("it has been turned into an image"),
        }
    }
}

#[cfg(test)]
mod tests;
