//! Claims through their lives.

mod any;
mod ending;
mod making;
mod properties;
mod retries;
mod runners;
mod serving;
mod world;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use api::registry::annotation::ABANDON;
use api::registry::finalizer::VM_CLEANUP;
use api::{BootstrapState, Digest, MachineClaimSpec, NodeName, ObjectName, ObjectRef, Reason, Time, UuidText, VmId};
use reconcile::{Backoff, Next, Why};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::bootstrap::{self, Bound, Ended, Presented};

/// When claims here are made.
const START: i64 = 1_800_000_000;
const MACHINE: &str = "5d1d9be8-aaaa-4000-8000-000000000001";
const RECORD: &str = "5d1d9be8-bbbb-4000-8000-000000000002";

const POLICY: Policy = Policy {
    backoff: Backoff { initial: Duration::from_secs(5), factor: 2.0, max: Duration::from_mins(5), jitter: 0.2 },
    attempts: 4,
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(START + seconds).unwrap()
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn hash(letter: char) -> Digest {
    Digest::new(format!("{:064x}", u32::from(letter)))
}

/// A claim of one command, kept until its VM is gone, with these limits.
fn living(lifecycle: &Value) -> MachineClaim {
    let spec = json!({
        "templateRef": { "name": "small" }, "workload": { "command": { "argv": ["true"] } }, "lifecycle": lifecycle,
    });
    let spec: MachineClaimSpec = serde_json::from_value(spec).unwrap();
    let mut claim = MachineClaim::new("one", spec);
    claim.metadata.namespace = Some("ci".to_owned());
    claim.metadata.uid = Some("uid-1".to_owned());
    claim.metadata.generation = Some(1);
    claim.metadata.creation_timestamp = Some(Time(at(0)));
    claim.metadata.finalizers = Some(vec![VM_CLEANUP.to_owned()]);
    claim
}

fn claim() -> MachineClaim {
    living(&json!({}))
}

/// A claim that a pool made.
fn pooled() -> MachineClaim {
    with(claim(), |claim| {
        claim.spec.pool_ref = Some(serde_json::from_value(json!({ "name": "linux" })).unwrap());
        let runner = json!({ "runner": { "sourceRef": { "name": "gh" }, "labels": ["linux"] } });
        claim.spec.workload = serde_json::from_value(runner).unwrap();
    })
}

fn with(mut claim: MachineClaim, change: impl FnOnce(&mut MachineClaim)) -> MachineClaim {
    change(&mut claim);
    claim
}

fn status_of(claim: &MachineClaim) -> &MachineClaimStatus {
    claim.status.as_ref().unwrap()
}

/// The claim, deleted by somebody.
fn deleted(claim: MachineClaim) -> MachineClaim {
    with(claim, |claim| claim.metadata.deletion_timestamp = Some(Time(at(150))))
}

fn annotated(claim: MachineClaim, abandon: &str) -> MachineClaim {
    with(claim, |claim| claim.metadata.annotations = Some([(ABANDON.to_owned(), abandon.to_owned())].into()))
}

fn terms() -> Terms {
    Terms {
        cluster: ObjectRef { name: ObjectName::new("pve"), namespace: None },
        template_generation: 3,
        image: VmId(9000),
        token_ttl: secs(600),
        stages_seed: true,
    }
}

fn place() -> Place {
    Place {
        id: UuidText::new(MACHINE),
        vm_id: VmId(6000),
        node: NodeName::new("a"),
        storages: vec![api::StorageName::new("disks")],
        address: None,
        bootstrap: UuidText::new(RECORD),
        token_hash: hash('a'),
        seed_hash: hash('5'),
    }
}

/// What is seen of a claim while nothing is wrong and nobody looked at its VM.
fn seen(claim: MachineClaim) -> Observed {
    Observed {
        claim: Arc::new(claim),
        gate: Gate::Open(terms()),
        offer: Offer::Unasked,
        reach: Reach::Connected,
        errands: Errands { certain: true, ..Errands::default() },
        sight: Sight::Unasked,
        life: Life::Unknown,
        runner: Runner::default(),
        policy: POLICY,
    }
}

fn done(jobs: &[Job]) -> Errands {
    Errands { done: jobs.iter().copied().collect(), certain: true, ..Errands::default() }
}

fn under_way(job: Job) -> Errands {
    Errands { running: Some(job), certain: true, ..Errands::default() }
}

fn after(trouble: Trouble) -> Errands {
    Errands { trouble: Some(trouble), certain: true, ..Errands::default() }
}

/// Trouble for the first time, at second 10.
fn trouble(job: Job, kind: Kind) -> Trouble {
    Trouble { job, kind, message: "it said no".to_owned(), attempt: 0, times: 1, at: at(10) }
}

fn ours() -> Sight {
    Sight::Ours { node: NodeName::new("a"), grows: false }
}

fn absent() -> Sight {
    Sight::Absent { remains: Vec::new() }
}

fn remains(volumes: &[&str]) -> Sight {
    Sight::Absent { remains: volumes.iter().map(|volume| (*volume).to_owned()).collect() }
}

fn foreign(settled: bool) -> Sight {
    Sight::Foreign { message: "VM 6000 is not ours".to_owned(), settled }
}

fn locked() -> Sight {
    Sight::Locked { message: "VM 6000 is locked (clone)".to_owned() }
}

fn unknown() -> Sight {
    Sight::Unknown("no answer".to_owned())
}

/// The claim after its status was written: stamped as the driver does it, and taken by the server.
fn written(claim: &MachineClaim, status: &MachineClaimStatus, now: Timestamp) -> MachineClaim {
    let mut new = with(claim.clone(), |claim| claim.status = Some(status.clone()));
    let known = claim.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    for condition in &mut new.status.as_mut().unwrap().conditions {
        assert!(!condition.message.is_empty(), "{condition:?}");
        let same = known.iter().find(|old| old.type_ == condition.type_ && old.status == condition.status);
        condition.last_transition_time = same.map_or(Time(now), |old| old.last_transition_time.clone());
    }
    let (old, new) = (serde_json::to_value(claim).unwrap(), serde_json::to_value(&new).unwrap());
    let stored = api::admit(&new, Some(&old)).unwrap_or_else(|refusal| panic!("{refusal}"));
    serde_json::from_value(stored).unwrap()
}

/// The plan, which breaks no promise and writes what the server takes.
fn decide(observed: &Observed, seconds: i64) -> ClaimPlan {
    let plan = plan(observed, at(seconds));
    assert_eq!(audit(observed, &plan), []);
    if let Some(status) = &plan.status {
        written(&observed.claim, status, at(seconds));
    }
    plan
}

/// The claim after a pass that did nothing but write.
fn after_pass(observed: &Observed, seconds: i64) -> MachineClaim {
    let plan = decide(observed, seconds);
    assert_eq!(plan.steps, []);
    written(&observed.claim, &plan.status.expect("a status"), at(seconds))
}

/// The claim after second 0, when its number was written down.
fn allocated(claim: MachineClaim) -> MachineClaim {
    after_pass(&Observed { offer: Offer::Place(place()), ..seen(claim) }, 0)
}

/// The claim after second 60, when its VM had started.
fn running(claim: MachineClaim) -> MachineClaim {
    after_pass(&Observed { errands: done(&[Job::Start]), ..seen(allocated(claim)) }, 60)
}

/// The claim after second 100, when its agent had proven itself.
fn bound(claim: MachineClaim) -> MachineClaim {
    let claim = running(claim);
    let shown =
        Presented { token_hash: &hash('a'), key_hash: &hash('k'), machine: MACHINE, from: IpAddr::from([10, 0, 0, 5]) };
    match bootstrap::bind(&claim, &shown, at(100)) {
        Ok(Bound::First(status)) => written(&claim, &status, at(100)),
        other => panic!("{other:?}"),
    }
}

/// The claim after second 110, when its work had begun.
fn busy(claim: MachineClaim) -> MachineClaim {
    let claim = bound(claim);
    written(&claim, &bootstrap::started(&claim, at(110)).unwrap(), at(110))
}

/// The claim after second 300, when its work had ended.
fn finished(claim: MachineClaim, exit_code: i32) -> MachineClaim {
    let claim = busy(claim);
    let end = Ended { exit_code: Some(exit_code), ..Ended::default() };
    written(&claim, &bootstrap::finished(&claim, &end, at(300)).unwrap(), at(300))
}

/// The claim after second 200, when its VM was found stopped before its agent had come up.
fn doomed(claim: MachineClaim) -> MachineClaim {
    after_pass(&Observed { life: Life::Stopped, ..seen(running(claim)) }, 200)
}

/// The claim after second 400, when nothing was left of its VM.
fn gone(claim: MachineClaim) -> MachineClaim {
    after_pass(&Observed { sight: absent(), errands: done(&[Job::Discard]), ..seen(claim) }, 400)
}

fn in_state(claim: MachineClaim, state: BootstrapState) -> MachineClaim {
    with(claim, |claim| claim.status.as_mut().unwrap().bootstrap.as_mut().unwrap().state = state)
}

/// What a status says about something: whether it holds, the word and the sentence.
fn said(status: &MachineClaimStatus, about: ConditionType) -> (&str, &str, &str) {
    let found = api::condition::find(&status.conditions, about).unwrap_or_else(|| panic!("nothing about {about:?}"));
    (&found.status, &found.reason, &found.message)
}

fn where_is(status: &MachineClaimStatus) -> (Phase, api::Step) {
    (status.phase.unwrap(), status.step.unwrap())
}

/// That the plan waits without a word or a deed.
fn assert_waits(plan: &ClaimPlan, next: &Next) {
    assert_eq!((&plan.finalizer, &plan.steps, &plan.status), (&Finalizer::Keep, &Vec::new(), &None));
    assert_eq!(&plan.next, next);
}

/// That the plan ends the claim's VM, and says why.
fn assert_doomed(plan: &ClaimPlan, reason: Reason, text: &str) {
    assert_eq!(plan.steps, []);
    let status = plan.status.as_ref().expect("an end");
    assert_eq!(where_is(status), (Phase::Terminating, api::Step::Destroying));
    let (holds, word, sentence) = said(status, ConditionType::Ready);
    assert_eq!((holds, word), ("False", reason.as_str()), "{sentence}");
    assert!(sentence.contains(text), "{sentence}");
}

#[rstest]
#[case::nothing_said(claim(), api::Step::Gated)]
#[case::allocated(allocated(claim()), api::Step::Allocated)]
#[case::runs(running(claim()), api::Step::Attesting)]
#[case::shut_out(in_state(bound(claim()), BootstrapState::Revoked), api::Step::Attesting)]
#[case::run_out(in_state(running(claim()), BootstrapState::Expired), api::Step::Attesting)]
#[case::proven(bound(claim()), api::Step::Ready)]
#[case::works(busy(claim()), api::Step::Busy)]
#[case::finished(finished(claim(), 0), api::Step::Destroying)]
#[case::doomed(doomed(claim()), api::Step::Destroying)]
#[case::deleted(deleted(busy(claim())), api::Step::Destroying)]
#[case::deleted_at_once(deleted(claim()), api::Step::Gone)]
#[case::gone(gone(doomed(claim())), api::Step::Gone)]
#[case::gone_and_deleted(deleted(gone(doomed(claim()))), api::Step::Gone)]
fn what_is_written_down_tells_where_a_claim_is(#[case] claim: MachineClaim, #[case] step: api::Step) {
    assert_eq!(stage(&claim), step);
}

#[rstest]
#[case::nothing(claim(), false)]
#[case::allocated(allocated(claim()), true)]
#[case::works(busy(claim()), true)]
#[case::doomed(doomed(claim()), true)]
#[case::gone(gone(doomed(claim())), false)]
fn a_number_is_held_from_its_allocation_until_its_vm_is_gone(#[case] claim: MachineClaim, #[case] holds: bool) {
    assert_eq!(holds_machine(&claim), holds);
}

fn doing(step: Step) -> ClaimPlan {
    Plan { steps: vec![step], ..Plan::rest() }
}

fn writing(claim: &MachineClaim) -> ClaimPlan {
    Plan { status: claim.status.clone(), ..Plan::rest() }
}

#[rstest]
#[case::blind_change(Observed { sight: absent(), ..seen(allocated(claim())) }, doing(Step::Configure), "proved it ours")]
#[case::foreign_change(Observed { sight: foreign(true), ..seen(doomed(claim())) }, doing(Step::Destroy), "proved it ours")]
#[case::made_unwritten(seen(claim()), doing(Step::Clone), "not written down before")]
#[case::made_unkept(
    seen(with(allocated(claim()), |claim| claim.metadata.finalizers = None)),
    doing(Step::Clone),
    "not written down before"
)]
#[case::made_for_nobody(seen(deleted(allocated(claim()))), doing(Step::StageSeed), "for a claim that goes")]
#[case::removed_alive(Observed { sight: ours(), ..seen(busy(claim())) }, doing(Step::Stop), "end is not written down")]
#[case::swept_too_soon(
    Observed { errands: under_way(Job::Clone), ..seen(allocated(claim())) },
    doing(Step::RemoveLeftover("disks:vm-6000-cloudinit".to_owned())),
    "only while no VM has its number"
)]
#[case::forgotten(Observed { sight: unknown(), ..seen(allocated(claim())) }, writing(&gone_without_vm()), "given back")]
#[case::let_go(
    Observed { sight: unknown(), ..seen(deleted(busy(claim()))) },
    Plan { finalizer: Finalizer::Remove, ..Plan::rest() },
    "proven gone"
)]
#[case::ready_by_us(seen(running(claim())), writing(&bound(claim())), "only by its agent's report")]
fn a_plan_that_broke_a_promise_would_be_noticed(
    #[case] observed: Observed,
    #[case] wrong: ClaimPlan,
    #[case] promise: &str,
) {
    let violations = audit(&observed, &wrong);
    assert_eq!(violations.len(), 1, "{violations:?}");
    assert!(violations[0].to_string().contains(promise), "{violations:?}");
}

/// A claim whose time was over before it had a VM.
fn gone_without_vm() -> MachineClaim {
    after_pass(&seen(living(&json!({ "maxLifetime": "1h" }))), 3_600)
}

#[test]
fn steps_and_errands_are_called_by_names_that_people_read() {
    let steps = [
        Step::Clone,
        Step::StageSeed,
        Step::Resize,
        Step::Configure,
        Step::Start,
        Step::DetachSeed,
        Step::DiscardSeed,
        Step::Stop,
        Step::Destroy,
        Step::RemoveLeftover("disks:vm-6000-disk-0".to_owned()),
        Step::Deregister { name: "one".to_owned(), id: None, mode: Mode::IfIdle },
        Step::Deregister { name: "one".to_owned(), id: None, mode: Mode::Force },
        Step::Delete,
    ];
    let names: BTreeSet<String> = steps.iter().map(ToString::to_string).collect();
    assert_eq!(names.len(), steps.len());
    assert!(names.contains("remove the leftover disks:vm-6000-disk-0"));
    let words: BTreeSet<&str> = any::JOBS.iter().map(|job| job.as_str()).collect();
    assert_eq!(words.len(), any::JOBS.len());
}
