//! Whether somebody gets a file of the seed that cloud-init fetches.

use std::net::IpAddr;

use api::{BootstrapRecord, BootstrapState, Digest, IpText, MachineClaim, MachineClaimStatus, SeedFile};
use jiff::Timestamp;

use super::{is_over, same};

/// Somebody gets nothing. Why is for logs and metrics, never for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withheld {
    /// It is not the claim's seed.
    Unknown,
    /// The machine has proven itself, or is at its end: it has read what it needs.
    Ended,
    /// It was not fetched in time.
    Expired,
    /// Other files of this seed were fetched from elsewhere.
    Elsewhere,
    /// This file was fetched.
    Served,
}

impl Withheld {
    /// The word in logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown-seed",
            Self::Ended => "ended",
            Self::Expired => "expired",
            Self::Elsewhere => "from-elsewhere",
            Self::Served => "served",
        }
    }
}

/// Decides whether `from` gets `file` of the seed with this hash: the status that must be written before it does.
///
/// Each file is given out once, and all of them to the first who asks for one. An answer that is lost is lost: the machine
/// proves itself all the same, because nothing that it needs for that is in these files.
pub fn serve(
    claim: &MachineClaim,
    seed_hash: &Digest,
    file: SeedFile,
    from: IpAddr,
    now: Timestamp,
) -> Result<MachineClaimStatus, Withheld> {
    let status = claim.status.as_ref().ok_or(Withheld::Unknown)?;
    let record = status.bootstrap.as_ref().ok_or(Withheld::Unknown)?;
    if !record.seed_hash.as_ref().is_some_and(|known| same(known, seed_hash)) {
        return Err(Withheld::Unknown);
    }
    if record.state != BootstrapState::Pending || is_over(claim, now) {
        return Err(Withheld::Ended);
    }
    if now > record.not_after.timestamp() {
        return Err(Withheld::Expired);
    }
    let from = IpText::new(from.to_canonical().to_string());
    if record.served_to.as_ref().is_some_and(|first| *first != from) {
        return Err(Withheld::Elsewhere);
    }
    if record.served.contains(&file) {
        return Err(Withheld::Served);
    }
    let mut served = record.served.clone();
    served.push(file);
    let record = BootstrapRecord { served, served_to: Some(from), ..record.clone() };
    Ok(MachineClaimStatus { bootstrap: Some(record), ..status.clone() })
}
