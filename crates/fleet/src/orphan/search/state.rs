//! What is known of one machine that no claim has.

use std::time::Duration;

use api::VmId;
use jiff::{SignedDuration, Timestamp};
use reconcile::Backoff;

use crate::orphan::{GRACE, LOOKS, Suspect};

/// How long it holds that a machine is not ours.
const HOLDS: SignedDuration = SignedDuration::from_hours(1);

/// When a machine of which nothing could be told is looked at again.
const UNCLEAR: SignedDuration = SignedDuration::from_mins(5);

/// Removals that fail are repeated.
const BACKOFF: Backoff =
    Backoff { initial: Duration::from_secs(30), factor: 2.0, max: Duration::from_mins(10), jitter: 0.2 };

/// A machine that a listing shows and no claim has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The machine.
    pub vm: VmId,
    /// Everything by which a listing tells one machine from another under the same number.
    pub face: String,
    /// Whether it is tagged as ours, which proves nothing and says where to look first.
    pub tagged: bool,
}

/// What a look found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// A machine of ours, made for this allocation.
    Ours(String),
    /// A machine that is not ours.
    Foreign,
    /// No machine.
    Gone,
    /// It cannot be told now.
    Unknown,
}

#[derive(Clone, Debug)]
pub(super) enum State {
    /// Nobody has looked at it; listed that often.
    New(u32),
    /// It could not be told whose it is.
    Unclear { at: Timestamp },
    /// It is not ours.
    Foreign { at: Timestamp },
    /// It is ours, and a claim has its allocation.
    Claimed(String),
    /// It is ours, and no claim has it.
    Suspect { suspect: Suspect, failures: u32 },
}

impl State {
    /// The same machine is listed again.
    pub(super) fn listed(self, held: impl Fn(&str) -> bool) -> Self {
        match self {
            Self::New(listings) => Self::New(listings.saturating_add(1)),
            Self::Suspect { suspect, .. } if held(&suspect.allocation) => Self::Claimed(suspect.allocation),
            // Its claim has gone: it counts from the start again.
            Self::Claimed(allocation) if !held(&allocation) => Self::New(LOOKS),
            other @ (Self::Unclear { .. } | Self::Foreign { .. } | Self::Claimed(_) | Self::Suspect { .. }) => other,
        }
    }

    /// A look was taken; nothing, if there is no machine.
    pub(super) fn seen(self, vm: VmId, sight: Sight, now: Timestamp) -> Option<Self> {
        Some(match (sight, self) {
            (Sight::Gone, _) => return None,
            (Sight::Foreign, _) => Self::Foreign { at: now },
            (Sight::Unknown, Self::Suspect { suspect, failures }) => {
                Self::Suspect { suspect: Suspect { not_before: later(now, UNCLEAR), ..suspect }, failures }
            }
            (Sight::Unknown, Self::New(_) | Self::Unclear { .. } | Self::Foreign { .. } | Self::Claimed(_)) => {
                Self::Unclear { at: now }
            }
            (Sight::Ours(allocation), Self::Suspect { suspect, failures }) if suspect.allocation == allocation => {
                let looks = suspect.looks.saturating_add(1);
                Self::Suspect { suspect: Suspect { looks, not_before: now, ..suspect }, failures }
            }
            (Sight::Ours(allocation), _) => {
                let not_before = later(now, GRACE);
                let suspect = Suspect { vm, allocation, since: now, looks: 1, not_before, confirmed: false };
                Self::Suspect { suspect, failures: 0 }
            }
        })
    }

    /// Whether it is worth a look, since it has been listed often enough or could not be told a while ago.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        match self {
            Self::New(listings) => *listings >= LOOKS,
            Self::Unclear { at } => now.duration_since(*at) >= UNCLEAR,
            Self::Suspect { suspect, .. } => suspect.looks < LOOKS && suspect.not_before <= now,
            Self::Foreign { .. } | Self::Claimed(_) => false,
        }
    }

    /// When it was last seen to be somebody else's, if that is so long ago that it should be checked.
    pub(super) fn outdated(&self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Foreign { at } if now.duration_since(*at) >= HOLDS => Some(*at),
            Self::Foreign { .. } | Self::Unclear { .. } | Self::New(_) | Self::Claimed(_) | Self::Suspect { .. } => {
                None
            }
        }
    }

    /// The machine that no claim has, if it is one of ours.
    pub(super) const fn suspect(&self) -> Option<&Suspect> {
        match self {
            Self::Suspect { suspect, .. } => Some(suspect),
            Self::New(_) | Self::Unclear { .. } | Self::Foreign { .. } | Self::Claimed(_) => None,
        }
    }

    /// An administrator has said that it may go.
    pub(super) const fn confirm(&mut self) {
        match self {
            Self::Suspect { suspect, .. } => suspect.confirmed = true,
            Self::New(_) | Self::Unclear { .. } | Self::Foreign { .. } | Self::Claimed(_) => {}
        }
    }

    /// It counts from now on, as if it had not been seen before.
    pub(super) fn restart(&mut self, now: Timestamp) {
        match self {
            Self::Suspect { suspect, .. } if !suspect.confirmed => {
                *suspect = Suspect { since: now, looks: 1, not_before: later(now, GRACE), ..suspect.clone() };
            }
            Self::Suspect { .. } | Self::New(_) | Self::Unclear { .. } | Self::Foreign { .. } | Self::Claimed(_) => {}
        }
    }

    /// It could not be removed: it is tried again later.
    pub(super) fn fail(&mut self, now: Timestamp) {
        match self {
            Self::Suspect { suspect, failures } => {
                *failures = failures.saturating_add(1);
                let pause = SignedDuration::try_from(BACKOFF.delay(*failures, suspect.vm.0)).unwrap_or(UNCLEAR);
                suspect.not_before = later(now, pause);
            }
            Self::New(_) | Self::Unclear { .. } | Self::Foreign { .. } | Self::Claimed(_) => {}
        }
    }
}

fn later(now: Timestamp, pause: SignedDuration) -> Timestamp {
    now.saturating_add(pause).unwrap_or(Timestamp::MAX)
}
