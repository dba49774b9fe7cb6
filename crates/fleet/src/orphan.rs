//! Which machines nobody remembers, and whether they may go.
//!
//! ```text
//!   listed twice, of no claim ─▶ a look: ours? ─▶ five minutes ─▶ a look: still? ─▶ remove
//!                                   │                                      │
//!                               let it be                 too many at once: a storm, remove none
//! ```
//!
//! Claims that are lost look like machines that are not needed any more. Few of them are believed; many are a [`Storm`],
//! in which nothing goes until the claims are back or an administrator has said how many machines they are. What is
//! known between two listings stands in [`Search`]; the shell looks, asks the API server once more and removes.

mod search;

use std::fmt;

use api::VmId;
use api::registry::annotation::CONFIRM_ORPHANS;
use jiff::{SignedDuration, Timestamp};

pub use search::{Census, Row, Search, Sight};

/// How long a machine must have been without a claim.
pub const GRACE: SignedDuration = SignedDuration::from_mins(5);

/// How many looks must have found it so.
pub const LOOKS: u32 = 2;

/// Orphans that are believed however few machines there are.
const FEW: usize = 3;

/// A machine of ours whose allocation no claim has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// The machine.
    pub vm: VmId,
    /// The allocation that its record names.
    pub allocation: String,
    /// When it was first seen without a claim.
    pub since: Timestamp,
    /// How many looks in a row found it so.
    pub looks: u32,
    /// Not to be removed before this moment: an attempt has failed.
    pub not_before: Timestamp,
    /// Whether an administrator has said that it may go.
    pub confirmed: bool,
}

/// What is known of the machines on one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Machines of ours that no claim has.
    pub suspects: Vec<Suspect>,
    /// Machines that no claim has and nobody has looked at: they may be ours.
    pub unseen: usize,
    /// Machines of ours that claims have.
    pub claimed: usize,
    /// All claims that there are, wherever their machines may be.
    pub claims: usize,
    /// How many orphans an administrator has confirmed.
    pub confirmed: Option<usize>,
}

/// What may happen to the machines that nobody remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// These may be removed now.
    pub remove: Vec<Suspect>,
    /// Why none of the others is.
    pub storm: Option<Storm>,
    /// Whether an administrator has confirmed all of them.
    pub confirmed: bool,
}

/// More machines look orphaned than can be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storm {
    /// How many look orphaned.
    pub orphans: usize,
    /// How many of ours there are.
    pub machines: usize,
    /// Whether there is any claim at all.
    pub claims: bool,
    /// Whether a confirmation was there before the storm was.
    pub stale: bool,
}

/// What a cluster says about its orphans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Outlook {
    /// Not every machine has been looked at yet.
    #[default]
    Unknown,
    /// Nothing stands in the way of what has to go.
    Calm,
    /// Too many to be believed.
    Storm(Storm),
}

/// Decides what may be removed.
pub fn judge(observed: &Observed, now: Timestamp) -> Verdict {
    let Observed { suspects, unseen, claimed, claims, confirmed } = observed;
    let doubtful: Vec<&Suspect> = suspects.iter().filter(|suspect| !suspect.confirmed).collect();
    let (orphans, machines) = (doubtful.len(), claimed + suspects.len());
    let ripe = |suspect: &&Suspect| suspect.is_ripe() && suspect.is_old(now);
    let lost = *claims == 0 && doubtful.iter().any(ripe);
    if !(lost || is_too_many(orphans, machines)) {
        // Those that nobody has looked at could make it a storm.
        let known = *claims > 0 && !is_too_many(orphans + unseen, machines + unseen);
        let remove = due(suspects, now, |suspect| suspect.confirmed || known);
        return Verdict { remove, storm: None, confirmed: false };
    }
    if *confirmed == Some(orphans) {
        return Verdict { remove: due(suspects, now, |_| true), storm: None, confirmed: true };
    }
    let storm = Storm { orphans, machines, claims: *claims > 0, stale: false };
    Verdict { remove: due(suspects, now, |suspect| suspect.confirmed), storm: Some(storm), confirmed: false }
}

/// More than a quarter, and more than a few.
const fn is_too_many(orphans: usize, machines: usize) -> bool {
    orphans > FEW && orphans.saturating_mul(4) > machines
}

fn due(suspects: &[Suspect], now: Timestamp, allowed: impl Fn(&Suspect) -> bool) -> Vec<Suspect> {
    let due = |suspect: &&Suspect| suspect.is_ripe() && suspect.is_old(now) && suspect.not_before <= now;
    suspects.iter().filter(due).filter(|suspect| allowed(suspect)).cloned().collect()
}

impl Suspect {
    /// Whether it was looked at often enough.
    const fn is_ripe(&self) -> bool {
        self.looks >= LOOKS
    }

    /// Whether it has been without a claim for long enough.
    fn is_old(&self, now: Timestamp) -> bool {
        now.duration_since(self.since) >= GRACE
    }
}

impl fmt::Display for Storm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { orphans, machines, claims, stale } = self;
        write!(f, "{orphans} of {machines} machines here have no MachineClaim")?;
        f.write_str(if *claims {
            ", which are too many at once to be believed, so that none of them is removed. "
        } else {
            ", and there is no MachineClaim at all, as if they had been lost, so that no machine is removed. "
        })?;
        f.write_str("If claims were lost, restore them with their status, and the machines are theirs again. ")?;
        if *stale {
            return write!(
                f,
                "If the machines are really not needed: the annotation {CONFIRM_ORPHANS} was here before; remove it, then \
                 set it to \"{orphans}\""
            );
        }
        write!(f, "If the machines are really not needed, set the annotation {CONFIRM_ORPHANS}: \"{orphans}\" here")
    }
}

#[cfg(test)]
mod tests;
