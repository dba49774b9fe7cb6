//! The Lease object as the protocol sees it.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

use super::Candidacy;

/// A foreign holder's record: what must change for the holder to be alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) holder: String,
    pub(super) renewed: Option<Timestamp>,
    /// How long the *holder* promised to be quiet at most; its configuration may differ from ours.
    pub(super) duration: Duration,
}

/// Whose the Lease is.
pub(super) enum Standing {
    /// Ours, or nobody's: it may be written.
    Open,
    /// Somebody else's.
    Held(Spec),
}

pub(super) fn standing(lease: &Lease, candidacy: &Candidacy) -> Standing {
    let Some(spec) = &lease.spec else { return Standing::Open };
    match spec.holder_identity.as_deref() {
        None | Some("") => Standing::Open,
        Some(holder) if holder == candidacy.identity => Standing::Open,
        Some(holder) => Standing::Held(Spec {
            holder: holder.to_owned(),
            renewed: spec.renew_time.as_ref().map(|time| time.0),
            duration: spec
                .lease_duration_seconds
                .and_then(|seconds| u64::try_from(seconds).ok())
                .map_or(candidacy.duration, Duration::from_secs),
        }),
    }
}

/// The first Lease there is.
pub(super) fn fresh(candidacy: &Candidacy, now: Timestamp) -> Lease {
    Lease {
        metadata: ObjectMeta {
            name: Some(candidacy.lease.clone()),
            namespace: Some(candidacy.namespace.clone()),
            ..ObjectMeta::default()
        },
        spec: Some(held(candidacy, now, now, 0)),
    }
}

/// `lease` with us as its holder, from now or since before.
pub(super) fn renewed(mut lease: Lease, candidacy: &Candidacy, now: Timestamp) -> Lease {
    let before = lease.spec.take().unwrap_or_default();
    let transitions = before.lease_transitions.unwrap_or(0);
    let spec = if before.holder_identity.as_deref() == Some(candidacy.identity.as_str()) {
        let acquired = before.acquire_time.map_or(now, |time| time.0);
        held(candidacy, acquired, now, transitions)
    } else {
        held(candidacy, now, now, transitions.saturating_add(1))
    };
    // Fields that newer protocols put beside ours stay.
    lease.spec = Some(LeaseSpec { preferred_holder: before.preferred_holder, strategy: before.strategy, ..spec });
    lease
}

/// `lease` without a holder, as client-go leaves it; nothing if it is not ours to give.
pub(super) fn vacant(mut lease: Lease, candidacy: &Candidacy, now: Timestamp) -> Option<Lease> {
    let spec = lease.spec.as_mut()?;
    if spec.holder_identity.as_deref() != Some(candidacy.identity.as_str()) {
        return None;
    }
    spec.holder_identity = Some(String::new());
    spec.lease_duration_seconds = Some(1);
    spec.renew_time = Some(MicroTime(now));
    spec.acquire_time = Some(MicroTime(now));
    Some(lease)
}

fn held(candidacy: &Candidacy, acquired: Timestamp, renewed: Timestamp, transitions: i32) -> LeaseSpec {
    // Whole seconds on the wire, rounded up: the others may wait longer than we think, never shorter.
    let seconds = candidacy.duration.as_millis().div_ceil(1_000);
    LeaseSpec {
        holder_identity: Some(candidacy.identity.clone()),
        lease_duration_seconds: Some(i32::try_from(seconds).unwrap_or(i32::MAX)),
        acquire_time: Some(MicroTime(acquired)),
        renew_time: Some(MicroTime(renewed)),
        lease_transitions: Some(transitions),
        ..LeaseSpec::default()
    }
}
