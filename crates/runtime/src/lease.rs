//! Leader election on a Lease, by client-go's protocol, with leadership as a value.
//!
//! The candidates share one Lease. The leader renews it; the others watch the record change and take it over once it
//! has not changed for its whole duration *by their own clock*, so that clocks need not agree. The leader stops
//! believing in itself `renew_deadline` after the start of its last successful renewal, which is before anyone else may
//! take over. What stays possible is a write already under way when a process is paused: that one fails by its own
//! precondition ([`crate::Writer`]).

mod leadership;
mod record;

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::Instant;

use crate::Parts;
use crate::client::fault;
use leadership::Terms;
pub use leadership::{Door, Leadership};
use reconcile::{Class, Fault};
use record::Standing;

/// How a candidate behaves; the relations of client-go hold (`retry < deadline < duration`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidacy {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub lease: String,
    /// Who we are; unique among the candidates.
    pub identity: String,
    /// How long others wait after our last renewal before they take over.
    pub duration: Duration,
    /// How long we go on leading after the start of our last renewal.
    pub deadline: Duration,
    /// How often we renew, or try to take over.
    pub retry: Duration,
}

/// Runs for leadership in the background until the tasks stop; on the way out the lease is given back.
pub fn spawn(candidacy: Candidacy, client: &Client, parts: &Parts) -> Leadership {
    let terms = Terms::new();
    let leadership = terms.leadership();
    let elector = Elector {
        api: Api::namespaced(client.clone(), &candidacy.namespace),
        candidacy,
        parts: parts.clone(),
        terms,
        seen: None,
    };
    parts.tasks.spawn("leader election", elector.run());
    leadership
}

struct Elector {
    api: Api<Lease>,
    candidacy: Candidacy,
    parts: Parts,
    terms: Terms,
    /// The foreign record last seen and when it was first seen unchanged.
    seen: Option<(record::Spec, Instant)>,
}

/// What one round found out.
enum Round {
    /// We lead, and the Lease says so since this moment.
    Leading(Instant),
    /// Somebody else leads; the record expires, for us, at this moment.
    Following(Instant),
}

impl Elector {
    async fn run(mut self) {
        let mut stopping = Box::pin(self.parts.tasks.stopping());
        let mut quarrel = Quarrel::default();
        loop {
            let round = tokio::select! {
                biased;
                () = &mut stopping => break,
                round = self.round() => round,
            };
            let pause = match round {
                Ok(Round::Leading(since)) => {
                    quarrel.over();
                    self.lead_until(since + self.candidacy.deadline);
                    self.candidacy.retry
                }
                Ok(Round::Following(expiry)) => {
                    quarrel.over();
                    self.follow();
                    // Awake at the very moment the record expires: taking over costs no further retry period.
                    self.candidacy.retry.min(expiry.saturating_duration_since(Instant::now()))
                }
                // Somebody was quicker; what they wrote is seen in the next round.
                Err(fault) if fault.class() == Class::Conflict => self.candidacy.retry,
                Err(fault) => {
                    quarrel.report(&fault, &self.candidacy);
                    if !self.terms.leadership().is_held() {
                        self.follow();
                    }
                    self.candidacy.retry
                }
            };
            tokio::select! {
                biased;
                () = &mut stopping => break,
                () = tokio::time::sleep(pause) => {}
            }
        }
        self.resign().await;
    }

    /// Reads the Lease and, if it is ours or free, writes it.
    async fn round(&mut self) -> Result<Round, Fault> {
        // The promise to the others counts from before the request: they can only have seen it later.
        let started = Instant::now();
        let deadline = self.candidacy.deadline;
        let call = async {
            let current = self.api.get_opt(&self.candidacy.lease).await.map_err(|error| fault("get lease", error))?;
            self.contend(current, started).await
        };
        match tokio::time::timeout(deadline, call).await {
            Ok(round) => round,
            Err(_elapsed) => Err(Fault::new(Class::Unavailable, "renew lease", "no answer before the renew deadline")),
        }
    }

    async fn contend(&mut self, current: Option<Lease>, started: Instant) -> Result<Round, Fault> {
        let now = self.parts.clock.now();
        let Some(lease) = current else {
            let fresh = record::fresh(&self.candidacy, now);
            self.api.create(&PostParams::default(), &fresh).await.map_err(|error| fault("create lease", error))?;
            return Ok(Round::Leading(started));
        };
        if let Standing::Held(spec) = record::standing(&lease, &self.candidacy) {
            let since = match self.seen.take() {
                Some((known, since)) if known == spec => since,
                // From when it was seen, not from when it was asked for: it may have been written in between.
                Some(_) | None => Instant::now(),
            };
            let expiry = since + spec.duration;
            self.seen = Some((spec, since));
            if started < expiry {
                return Ok(Round::Following(expiry));
            }
        }
        let renewed = record::renewed(lease, &self.candidacy, now);
        // The resource version inside makes this a compare-and-swap.
        self.api
            .replace(&self.candidacy.lease, &PostParams::default(), &renewed)
            .await
            .map_err(|error| fault("update lease", error))?;
        self.seen = None;
        Ok(Round::Leading(started))
    }

    fn lead_until(&self, until: Instant) {
        if self.terms.extend(until) {
            tracing::info!(lease = self.candidacy.lease, identity = self.candidacy.identity, "leading");
            self.parts.metrics.leading(&self.candidacy.lease, true);
        }
    }

    fn follow(&self) {
        if self.terms.end() {
            tracing::warn!(lease = self.candidacy.lease, identity = self.candidacy.identity, "no longer leading");
        }
        self.parts.metrics.leading(&self.candidacy.lease, false);
    }

    /// Stops leading, and leaves the Lease so that the next candidate takes it at its next look.
    async fn resign(self) {
        let led = self.terms.end();
        self.parts.metrics.leading(&self.candidacy.lease, false);
        if !led {
            return;
        }
        let give_back = async {
            let lease = self.api.get(&self.candidacy.lease).await?;
            let Some(vacant) = record::vacant(lease, &self.candidacy, self.parts.clock.now()) else { return Ok(()) };
            self.api.replace(&self.candidacy.lease, &PostParams::default(), &vacant).await.map(|_| ())
        };
        match tokio::time::timeout(self.candidacy.retry, give_back).await {
            Ok(Ok(())) => tracing::info!(lease = self.candidacy.lease, "lease given back"),
            Ok(Err(error)) => tracing::warn!(lease = self.candidacy.lease, %error, "lease not given back"),
            Err(_elapsed) => tracing::warn!(lease = self.candidacy.lease, "lease not given back in time"),
        }
    }
}

/// Keeps an API server that stays away from filling the log: the first failure is told, then every thirtieth.
#[derive(Default)]
struct Quarrel(u32);

impl Quarrel {
    fn report(&mut self, fault: &Fault, candidacy: &Candidacy) {
        if self.0.is_multiple_of(30) {
            tracing::warn!(lease = candidacy.lease, error = %fault, failures = self.0 + 1, "lease not renewed");
        }
        self.0 += 1;
    }

    fn over(&mut self) {
        self.0 = 0;
    }
}
