//! What machines ask, answered.

use std::sync::Arc;

use api::{Condition, ConditionType, MachineClaim, MachineClaimStatus, Reason};
use chassis::Clock;
use fleet::bootstrap::{self as rules, Bound, CONDITIONS, Order, Presented, Refusal, Withheld, Work};
use fleet::mint;
use jiff::Timestamp;
use kube::{Client, Resource, ResourceExt};
use protocol::{Beacon, Lease, Plan, Report, Start, Welcome};
use reconcile::Class;
use runtime::{Cache, Key, Notice, Parts, Selection, Severity, Swap};
use secrecy::ExposeSecret;

use super::attestor::{Case, judge};
use super::denial::Denial;
use super::enrol::Posting;
use super::ledger::Ledger;
use super::limits::Limits;
use super::registrations::Registrations;
use super::requests::{Requests, Step};
use super::{NAME, Peer, cloud, digest, words};
use crate::outpost::Outposts;
use crate::transfer::Hold;

/// A machine asks again after this many seconds; three times as long without an answer is its end.
const LEASE: u64 = 10;

/// Decisions about one claim until somebody else has to try: as many as there can be writers at once, and some more.
const TRIES: u32 = 8;

/// What everybody hears who would have to be written down while the fleet is on hold.
const HELD: Denial = Denial::Unavailable("the fleet is on hold");

/// The service; clones are the same one.
#[derive(Clone)]
pub struct Bootstrap(Arc<Inner>);

struct Inner {
    client: Client,
    ledger: Ledger,
    limits: Limits,
    swap: Swap,
    clock: Clock,
    requests: Requests,
    outposts: Outposts,
    registrations: Registrations,
    hold: Hold,
}

/// What a claim's machine is for.
enum Task {
    /// One command.
    Command(Work),
    /// Being a runner there.
    Runner(Posting),
}

/// What to do about a claim as it was seen.
pub(super) enum Decision<T> {
    /// Answer.
    Sure(T),
    /// Answer, unless the claim has moved on since it was seen.
    Doubtful(T),
    /// Write, then answer.
    Write(Box<MachineClaimStatus>, T),
}

pub(super) type Answer<T> = Result<T, Denial>;

impl Bootstrap {
    /// A service over `claims`, which are those of `selection`; runners are registered at the platforms of `outposts`.
    pub fn new(
        client: &Client,
        claims: &Cache<MachineClaim>,
        outposts: &Outposts,
        selection: &Selection,
        parts: &Parts,
        instance: &str,
    ) -> Self {
        Self(Arc::new(Inner {
            client: client.clone(),
            ledger: Ledger::new(client, claims, selection),
            limits: Limits::new(parts.clock),
            swap: Swap::new(client, parts, NAME, instance),
            clock: parts.clock,
            requests: Requests::new(&parts.metrics),
            outposts: outposts.clone(),
            registrations: Registrations::new(&parts.metrics),
            hold: Hold::never(),
        }))
    }

    /// The same, which writes nothing down and refuses nobody while its fleet is on hold: whoever works goes on, whoever
    /// comes or ends has to wait.
    #[must_use]
    pub fn heeding(mut self, hold: &Hold) -> Self {
        let inner = Arc::get_mut(&mut self.0).expect("it is told before anybody else has it");
        inner.hold = hold.clone();
        self
    }

    fn may_write(&self) -> Answer<()> {
        if self.0.hold.is_on() { Err(HELD) } else { Ok(()) }
    }

    /// A refusal ends a machine. While the fleet is on hold, what is known of it may not have come yet.
    fn refused(&self, why: &'static str) -> Denial {
        if self.0.hold.is_on() { HELD } else { Denial::Refused(why) }
    }

    /// Somebody asks for a file of a seed, by the name that only the machine's firmware has.
    pub(super) async fn seed(&self, name: &str, file: &str, peer: &Peer) -> Answer<String> {
        let hash = digest(name.as_bytes());
        let found = self.0.ledger.by_seed(&hash).zip(cloud::named(file));
        let Some((claim, file)) = found else { return Err(self.withheld(peer, Withheld::Unknown)) };
        let decide = |claim: &MachineClaim, now| rules::serve(claim, &hash, file, peer.address, now);
        // What is not given out is not even made.
        decide(&claim, self.0.clock.now()).map_err(|why| self.withheld(peer, why))?;
        let text = cloud::content(&self.0.client, &claim, file).await?;
        self.settle(claim, |claim, now| match decide(claim, now) {
            Ok(status) => Decision::Write(Box::new(status), Ok(())),
            Err(why) => Decision::Sure(Err(self.withheld(peer, why))),
        })
        .await?;
        Ok(text)
    }

    /// Somebody shows a token, and is told what to do if he is believed.
    pub(super) async fn start(&self, id: &str, start: &Start, peer: &Peer) -> Answer<Welcome> {
        self.may_write()?;
        let Some(key) = &peer.key else { return Err(self.stranger(peer, "no-certificate")) };
        let token_hash = digest(start.token.expose_secret().as_bytes());
        let Some(claim) = self.0.ledger.by_id(id) else { return Err(self.stranger(peer, "unknown-id")) };
        if !rules::is_token_of(&claim, &token_hash) {
            return Err(self.wrong_token(&claim, peer).await);
        }
        self.0.limits.key(key).map_err(Denial::Limited)?;
        if self.0.ledger.is_held_by_another(key, &claim) {
            return Err(Denial::Refused("key-of-another"));
        }
        let presented =
            Presented { token_hash: &token_hash, key_hash: key, machine: &start.machine, from: peer.address };
        let task = self.task(&claim).await?;
        let decide = |claim: &MachineClaim, now| admit(&Case { claim, presented: &presented, now }, &task);
        let again = self.settle(Arc::clone(&claim), decide).await?;
        tracing::info!(id, agent = rules::plain(&start.agent), from = %peer.address, "machine believed");
        let plan = match task {
            Task::Command(work) => plan(work),
            Task::Runner(posting) => self.enrol(&claim, &posting, &presented, again).await?,
        };
        let clock = self.0.clock.now().as_second();
        Ok(Welcome { plan, lease: Lease { seconds: LEASE, order: protocol::Order::GoOn }, clock })
    }

    /// What a claim's machine is for. While there is nothing to give, nothing of its proof is used up.
    async fn task(&self, claim: &MachineClaim) -> Answer<Task> {
        match &claim.spec.workload.runner {
            Some(runner) => Ok(Task::Runner(self.posting(claim, runner).await?)),
            None => rules::wanted(claim).map(Task::Command).ok_or(Denial::Unavailable("its work is not known")),
        }
    }

    /// A machine asks to go on.
    pub(super) async fn lease(&self, peer: &Peer) -> Answer<Lease> {
        let claim = self.holder(peer).await?;
        let Some(true) = peer.key.as_ref().map(|key| rules::by_key(&claim, key)) else {
            return Err(self.refused("not-bound"));
        };
        let order = match rules::order(&claim, self.0.clock.now()) {
            // The claim may live on where its fleet went, whatever becomes of it here.
            Order::End if self.0.hold.is_on() => protocol::Order::GoOn,
            Order::GoOn => protocol::Order::GoOn,
            Order::Drain => protocol::Order::Drain,
            Order::End => protocol::Order::End,
        };
        Ok(Lease { seconds: LEASE, order })
    }

    /// A machine tells what its work does.
    pub(super) async fn report(&self, report: &Report, peer: &Peer) -> Answer<()> {
        let claim = self.holder(peer).await?;
        let Some(key) = &peer.key else { return Err(Denial::Refused("no-certificate")) };
        self.settle(claim, |claim, now| {
            if rules::released_by_key(claim, key) {
                return Decision::Sure(Ok(()));
            }
            if !rules::by_key(claim, key) {
                return Decision::Doubtful(Err(Denial::Refused("not-bound")));
            }
            let status = match report {
                Report::Listening => rules::listening(claim),
                Report::Started { job: None } => rules::started(claim, now),
                Report::Started { job: Some(job) } => rules::started_job(claim, job, now),
                Report::Finished(finish) => rules::finished(claim, &words::ended(finish), now),
            };
            status.map_or(Decision::Sure(Ok(())), |status| Decision::Write(Box::new(status), Ok(())))
        })
        .await
    }

    /// Somebody says that he is a machine and why he cannot prove it.
    pub(super) async fn beacon(&self, id: &str, beacon: &Beacon, peer: &Peer) -> Answer<()> {
        let Some(claim) = self.0.ledger.by_id(id) else { return Err(self.stranger(peer, "unknown-id")) };
        self.0
            .limits
            .source(peer.address)
            .and_then(|()| self.0.limits.record(&uid(&claim)))
            .map_err(Denial::Limited)?;
        let sentence = words::sentence(beacon, peer.address, self.0.clock.now());
        if rules::complain(&claim, &sentence).is_none() || !self.0.limits.may_complain(&uid(&claim)) {
            return Ok(());
        }
        self.settle(claim, |claim, _| match rules::complain(claim, &sentence) {
            Some(status) => Decision::Write(Box::new(status), Ok(())),
            None => Decision::Sure(Ok(())),
        })
        .await
    }

    /// Counts and logs what became of a request; what was refused is never told to whom it was.
    pub(super) fn note<T>(&self, step: Step, peer: &Peer, answer: &Answer<T>) {
        let result = answer.as_ref().map_or_else(Denial::result, |_| "ok");
        self.0.requests.count(step, result);
        let (step, from) = (step.as_str(), peer.address);
        match answer {
            Ok(_) => tracing::debug!(step, %from, "answered"),
            Err(Denial::Refused(why) | Denial::Absent(why)) => tracing::warn!(step, %from, why, "refused"),
            Err(Denial::Unavailable(what)) => tracing::warn!(step, %from, what, "not answered"),
            Err(Denial::Limited(_) | Denial::Postponed(_) | Denial::Malformed | Denial::TooLong | Denial::TooSlow) => {
                tracing::debug!(step, %from, result, "not answered");
            }
        }
    }

    /// The claim that the caller's key is bound to.
    async fn holder(&self, peer: &Peer) -> Answer<Arc<MachineClaim>> {
        let Some(key) = &peer.key else { return Err(self.stranger(peer, "no-certificate")) };
        if let Some(claim) = self.0.ledger.by_key(key) {
            self.0.limits.key(key).map_err(Denial::Limited)?;
            return Ok(claim);
        }
        // He may have been believed a moment ago, by another replica: to refuse him would be to kill his machine.
        self.0.limits.source(peer.address).map_err(Denial::Limited)?;
        if let Some(claim) = self.0.ledger.by_key_soon(key).await {
            return Ok(claim);
        }
        if !self.0.limits.may_list() {
            return Err(Denial::Unavailable("nobody knows the key yet"));
        }
        self.0.ledger.search(key).await?.ok_or_else(|| self.refused("unknown-key"))
    }

    /// The answer to somebody who has nothing to show.
    fn stranger(&self, peer: &Peer, why: &'static str) -> Denial {
        self.0.limits.source(peer.address).map_or_else(Denial::Limited, |()| self.refused(why))
    }

    /// The answer to somebody who asks for a file that is not his, or not any more.
    fn withheld(&self, peer: &Peer, why: Withheld) -> Denial {
        if self.0.hold.is_on() {
            return HELD;
        }
        self.0.limits.source(peer.address).map_or_else(Denial::Limited, |()| Denial::Absent(why.as_str()))
    }

    /// The answer to a wrong token. It locks nothing: ids are public, and nobody may kill a machine by knowing one.
    async fn wrong_token(&self, claim: &MachineClaim, peer: &Peer) -> Denial {
        if let Err(wait) = self.0.limits.source(peer.address).and_then(|()| self.0.limits.record(&uid(claim))) {
            return Denial::Limited(wait);
        }
        if self.0.limits.may_warn(&uid(claim)) {
            let notice = Notice {
                severity: Severity::Warning,
                reason: Reason::AttestationFailed.as_str().to_owned(),
                action: ConditionType::Bootstrapped.as_str().to_owned(),
                note: format!("somebody at {} showed a wrong token for this machine; it is not harmed", peer.address),
                occasion: String::new(),
            };
            self.0.swap.recorder().publish(&notice, &claim.object_ref(&())).await;
        }
        Denial::Refused(Refusal::UnknownToken.as_str())
    }

    /// The claim as the server has it now.
    pub(super) async fn fresh(&self, claim: &MachineClaim) -> Answer<Arc<MachineClaim>> {
        self.0.ledger.read(claim).await?.ok_or_else(|| self.refused("gone"))
    }

    pub(super) fn client(&self) -> &Client {
        &self.0.client
    }

    pub(super) fn outposts(&self) -> &Outposts {
        &self.0.outposts
    }

    pub(super) fn registrations(&self) -> &Registrations {
        &self.0.registrations
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub(super) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Decides about a claim until what was decided on is what there is.
    pub(super) async fn settle<T>(
        &self,
        mut claim: Arc<MachineClaim>,
        decide: impl Fn(&MachineClaim, Timestamp) -> Decision<Answer<T>>,
    ) -> Answer<T> {
        let mut fresh = false;
        for _ in 0..TRIES {
            match decide(&claim, self.0.clock.now()) {
                Decision::Sure(answer) => return answer,
                Decision::Doubtful(answer) if fresh || !self.0.limits.may_look(&uid(&claim)) => return answer,
                Decision::Doubtful(_) => {}
                Decision::Write(status, answer) => {
                    self.may_write()?;
                    match self.0.swap.status(&*claim, &status, CONDITIONS, severity).await {
                        Ok(_) => return answer,
                        Err(fault) if fault.class() == Class::Conflict => {}
                        Err(fault) => return Err(fault.into()),
                    }
                }
            }
            claim = self.fresh(&claim).await?;
            fresh = true;
        }
        tracing::warn!(claim = %Key::of(&claim.metadata), "too many write to it at once");
        Err(Denial::Unavailable("too many write to the claim at once"))
    }
}

/// Whether somebody is believed, and whether he was before.
fn admit(case: &Case<'_>, task: &Task) -> Decision<Answer<bool>> {
    let refused = |refusal: &Refusal| Err(Denial::Refused(refusal.as_str()));
    match (judge(case), task) {
        (Ok(Bound::First(status)), Task::Command(_)) => Decision::Write(status, Ok(false)),
        (Ok(Bound::First(status)), Task::Runner(Posting { wanted: true, marker, .. })) => {
            let named = mint::ahead(case.claim, *status, marker.as_str());
            Decision::Write(Box::new(named), Ok(false))
        }
        (Ok(Bound::First(_)), Task::Runner(Posting { wanted: false, .. })) => {
            let answer = Err(Denial::Refused("no-demand"));
            match mint::dismissed(case.claim, case.now) {
                Some(status) => Decision::Write(Box::new(status), answer),
                None => Decision::Sure(answer),
            }
        }
        (Ok(Bound::Again), _) => Decision::Sure(Ok(true)),
        (Err(refusal @ Refusal::UnknownToken), _) => Decision::Sure(refused(&refusal)),
        (Err(Refusal::Stolen(status)), _) => Decision::Write(status, Err(Denial::Refused("stolen"))),
        (
            Err(
                refusal @ (Refusal::WrongMachine
                | Refusal::Expired
                | Refusal::Ended
                | Refusal::Challenged
                | Refusal::Spent
                | Refusal::Revoked),
            ),
            _,
        ) => Decision::Doubtful(refused(&refusal)),
    }
}

fn plan(work: Work) -> Plan {
    let Work { argv, env, user, deadline, output_bytes } = work;
    let deadline_seconds = deadline.map(|deadline| deadline.as_secs());
    Plan { argv, env, user, files: Vec::new(), deadline_seconds, output_bytes, runner: None }
}

/// Only a proof that failed calls for somebody; that a machine is made, or has ended, is what it was for.
fn severity(condition: &Condition) -> Severity {
    let failed = condition.reason == Reason::AttestationFailed.as_str()
        || (condition.type_ == ConditionType::Bootstrapped.as_str() && condition.status == "False");
    if failed { Severity::Warning } else { Severity::Normal }
}

pub(super) fn uid(claim: &MachineClaim) -> String {
    claim.uid().unwrap_or_default()
}
