//! Makes a runner of a machine that has proven itself.
//!
//! ```text
//!   is it wanted? ─▶ bound, with its name written ahead ─▶ the proof, from the record as written ─▶ mint ─▶ id ─▶ plan
//!                                       ▲   lost answer, name taken, asked again: removed, next name   │
//!                                       └──────────────────────────────────────────────────────────────┘
//! ```
//!
//! Any replica may do it, and two may be at it for one machine whose first call was too slow: each goes by the name that the
//! claim has, and whoever registered one that the claim has left removes it. What is written when stands in
//! [`fleet::mint`]. The credential goes into the answer and nowhere else.

use std::sync::Arc;
use std::time::Duration;

use api::{MachineClaim, Moment, Reason, RunnerPool, RunnerRegistration, RunnerWorkload};
use fleet::bootstrap::{Order, Presented, limits, order};
use fleet::mint;
use kube::{Api, ResourceExt};
use protocol::Plan;
use providers::attestor::{Attested, Expected, Shown, join_token};
use providers::platform::{Error, Grant, Marker, Mode, Removal, Runner, RunnerOrder};
use runtime::Key;
use runtime::client::fault;

use super::denial::Denial;
use super::service::{Answer, Bootstrap, Decision, uid};
use super::work;
use crate::outpost::Outpost;

/// Names that are tried for one call of a machine; it calls again.
const NAMES: u32 = 3;

/// How long a machine waits before it asks again after trouble at the platform.
const TROUBLE: Duration = Duration::from_secs(5);

/// Where a claim's machine is to be a runner.
pub(super) struct Posting {
    outpost: Outpost,
    pub(super) marker: Marker,
    /// Whether its pool wants it.
    pub(super) wanted: bool,
}

impl Bootstrap {
    /// Where a claim's machine is to be a runner. While that is not known, nothing of its proof is used up.
    pub(super) async fn posting(&self, claim: &MachineClaim, runner: &RunnerWorkload) -> Answer<Posting> {
        let source = Key::new(claim.namespace().unwrap_or_default(), runner.source_ref.name.as_str());
        let outpost = self.outposts().get(&source).ok_or(Denial::Unavailable("its source is not connected"))?;
        let marker = self.outposts().marker().ok_or(Denial::Unavailable("nobody knows who we are yet"))?;
        Ok(Posting { outpost, marker, wanted: self.is_wanted(claim).await? })
    }

    /// Whether the claim's pool still wants runners, as the server has it now; not yet, while a job waits that the runner
    /// could be given and must not run.
    async fn is_wanted(&self, claim: &MachineClaim) -> Answer<bool> {
        let Some(pool) = &claim.spec.pool_ref else { return Ok(true) };
        let pools: Api<RunnerPool> = Api::namespaced(self.client().clone(), &claim.namespace().unwrap_or_default());
        let found = pools.get_opt(pool.name.as_str()).await.map_err(|error| fault("read RunnerPool", error))?;
        if let Some(danger) = found.as_ref().and_then(mint::danger) {
            self.complain(self.fresh(claim).await?, Reason::UntrustedJobWaits, danger).await;
            return Err(Denial::Postponed(TROUBLE));
        }
        let wanted = found.is_some_and(|pool| !mint::is_unwanted(&pool));
        if !wanted {
            self.registrations().dismissed();
        }
        Ok(wanted)
    }

    /// Registers a machine that was believed, `again` if it may have been registered before; what it has to do then.
    pub(super) async fn enrol(
        &self,
        claim: &MachineClaim,
        posting: &Posting,
        presented: &Presented<'_>,
        again: bool,
    ) -> Answer<Plan> {
        let (mut claim, mut used) = (self.fresh(claim).await?, again);
        for _ in 0..NAMES {
            if used {
                claim = self.rename(claim, posting).await?;
            }
            let machine = proof(&claim, presented).ok_or(Denial::Refused("not-bound"))?;
            if order(&claim, self.now()) != Order::GoOn {
                return Err(Denial::Refused("ended"));
            }
            let minted = posting.outpost.mint(&ordered(&claim, posting, &machine)?, &machine).await;
            self.registrations().count(&minted);
            match minted {
                Ok(grant) => return self.keep(claim, posting, &grant).await,
                Err(Error::Conflict { .. } | Error::UnknownOutcome { .. }) => used = true,
                Err(error) => return Err(self.hindered(claim, &error).await),
            }
        }
        Err(Denial::Unavailable("no answer to a registration"))
    }

    /// Removes what may be registered under the claim's name, and writes the next one ahead.
    async fn rename(&self, claim: Arc<MachineClaim>, posting: &Posting) -> Answer<Arc<MachineClaim>> {
        let old = registration(&claim).ok_or(Denial::Refused("not-bound"))?.clone();
        let runner = Runner { name: old.name.clone(), id: old.id };
        match posting.outpost.deregister(&runner, Mode::Force).await {
            Ok(Removal::Gone) => {}
            Ok(Removal::Busy | Removal::Drained | Removal::Unknown(_)) => {
                return Err(Denial::Unavailable("its runner before is still registered"));
            }
            Err(error) => return Err(self.hindered(claim, &error).await),
        }
        let marker = posting.marker.as_str();
        self.settle(Arc::clone(&claim), |claim, now| match mint::again(claim, &old.name, marker, now) {
            Some(status) => Decision::Write(Box::new(status), Ok(())),
            None => match mint::withdrawn(claim, &old.name, now) {
                Some(status) => Decision::Write(Box::new(status), Err(Denial::Refused("no-demand"))),
                None => Decision::Doubtful(Err(Denial::Unavailable("it is registered by somebody else, or ends"))),
            },
        })
        .await?;
        self.fresh(&claim).await
    }

    /// Writes the id down and gives the credential out; a runner that the claim does not want any more is removed.
    async fn keep(&self, claim: Arc<MachineClaim>, posting: &Posting, grant: &Grant) -> Answer<Plan> {
        let given = RunnerRegistration {
            name: grant.runner.name.clone(),
            id: grant.runner.id.clone(),
            credential_expires_at: grant.expires_at.map(Moment::from),
        };
        let limits = limits(&claim);
        let kept = self.settle(claim, |claim, now| match mint::registered(claim, &given, now) {
            Some(status) => Decision::Write(Box::new(status), Ok(())),
            None => Decision::Doubtful(Err(Denial::Refused("ended"))),
        });
        match kept.await {
            Ok(()) => Ok(work::of_runner(posting.outpost.plan(grant), limits)),
            Err(denial) => {
                // If that fails too, the claim that has the name, or the sweep of names that no claim has, removes it.
                if matches!(denial, Denial::Refused(_)) {
                    let _ = posting.outpost.deregister(&grant.runner, Mode::Force).await;
                }
                Err(denial)
            }
        }
    }

    /// Says on the claim why its machine is no runner yet; the machine asks again.
    async fn hindered(&self, claim: Arc<MachineClaim>, error: &Error) -> Denial {
        tracing::warn!(claim = %Key::of(&claim.metadata), %error, "its runner is not registered");
        let (reason, pause) = match error {
            Error::RateLimited { wait, .. } => (Reason::RateLimited, *wait),
            Error::Auth { .. }
            | Error::Permission { .. }
            | Error::NotFound { .. }
            | Error::Conflict { .. }
            | Error::Invalid { .. }
            | Error::Untrusted { .. }
            | Error::Protocol { .. }
            | Error::Unsupported { .. } => (Reason::SourceNotReady, TROUBLE),
            Error::Transient { .. } | Error::UnknownOutcome { .. } => (Reason::PlatformUnreachable, TROUBLE),
        };
        self.complain(claim, reason, &format!("the runner cannot be registered: {error}")).await;
        Denial::Postponed(pause)
    }

    /// Says something on the claim. It is a courtesy: the machine asks again either way.
    async fn complain(&self, claim: Arc<MachineClaim>, reason: Reason, message: &str) {
        if self.limits().may_complain(&uid(&claim)) {
            let told = self.settle(claim, |claim, now| match mint::hindered(claim, reason, message, now) {
                Some(status) => Decision::Write(Box::new(status), Ok(())),
                None => Decision::Sure(Ok(())),
            });
            let _ = told.await;
        }
    }
}

fn registration(claim: &MachineClaim) -> Option<&RunnerRegistration> {
    claim.status.as_ref()?.runner.as_ref()
}

/// What the claim's record, as it is written, and what the machine showed prove together.
fn proof(claim: &MachineClaim, presented: &Presented<'_>) -> Option<Attested> {
    let status = claim.status.as_ref()?;
    let record = status.bootstrap.as_ref()?;
    let expected = Expected {
        token_hash: record.token_hash.as_str(),
        key_hash: record.bound_key_hash.as_ref()?.as_str(),
        machine: status.allocation.as_ref()?.id.as_str(),
    };
    let shown = Shown {
        token_hash: presented.token_hash.as_str(),
        key_hash: presented.key_hash.as_str(),
        machine: presented.machine,
    };
    join_token(&expected, &shown)
}

fn ordered(claim: &MachineClaim, posting: &Posting, machine: &Attested) -> Answer<RunnerOrder> {
    let named = registration(claim).zip(claim.spec.workload.runner.as_ref());
    let (registration, runner) = named.ok_or(Denial::Refused("not-bound"))?;
    let own = runner.labels.iter().map(api::RunnerLabel::as_str).chain(runner.tags.iter().map(api::RunnerTag::as_str));
    let labels = posting.outpost.offered(&own.map(str::to_owned).collect::<Vec<_>>());
    let pool = claim.spec.pool_ref.as_ref();
    let pool = pool.map(|pool| Key::new(claim.namespace().unwrap_or_default(), pool.name.as_str()));
    Ok(RunnerOrder {
        name: registration.name.clone(),
        session: pool.and_then(|pool| posting.outpost.session_order(&pool, &labels)),
        labels,
        machine: machine.machine().to_owned(),
    })
}
