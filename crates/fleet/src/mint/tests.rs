//! Names, ids and what hinders them.

use api::{BootstrapRecord, BootstrapState, Digest, LocalRef, MachineClaimSpec, ObjectName, ObjectRef, Phase};
use api::{RunnerPoolStatus, RunnerWorkload, UuidText, Workload};
use proptest::prelude::*;
use rstest::rstest;

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const MARKER: &str = "hf-0123abcd-";

fn claim(pool: &str, uid: &str) -> MachineClaim {
    let named = |name: &str| LocalRef { name: ObjectName::new(name) };
    let runner =
        RunnerWorkload { source_ref: named("gh"), labels: Vec::new(), tags: Vec::new(), queue: None, job_ref: None };
    let spec = MachineClaimSpec {
        template_ref: ObjectRef { name: ObjectName::new("small"), namespace: None },
        pool_ref: Some(named(pool)),
        workload: Workload { runner: Some(runner), command: None },
        lifecycle: api::Lifecycle::default(),
        capture_output: false,
    };
    let mut claim = MachineClaim::new("job-1", spec);
    claim.metadata.uid = Some(uid.to_owned());
    let zero = "0".repeat(64);
    let record = BootstrapRecord {
        id: UuidText::new("5e3c1b6a-0000-4000-8000-000000000001"),
        token_hash: Digest::new(zero.clone()),
        seed_hash: None,
        served: Vec::new(),
        served_to: None,
        state: BootstrapState::Bound,
        not_after: Moment::from(NOW),
        bound_key_hash: Some(Digest::new(zero)),
        endorsement_key_hash: None,
        bound_at: Some(Moment::from(NOW)),
    };
    claim.status = Some(MachineClaimStatus { bootstrap: Some(record), ..MachineClaimStatus::default() });
    claim
}

fn status(claim: &MachineClaim) -> MachineClaimStatus {
    claim.status.clone().unwrap()
}

fn runner(claim: &MachineClaim) -> RunnerRegistration {
    status(claim).runner.unwrap()
}

/// A claim whose first name is written ahead.
fn named() -> MachineClaim {
    let mut claim = claim("linux", "11111111-2222-3333-4444-555555555555");
    claim.status = Some(ahead(&claim, status(&claim), MARKER));
    claim
}

#[test]
fn a_name_tells_whose_runner_it_is_and_is_never_used_twice() {
    let mut claim = named();
    assert_eq!(runner(&claim).name, "hf-0123abcd-linux-111111112222-1");
    claim.status = again(&claim, "hf-0123abcd-linux-111111112222-1", MARKER, NOW);
    assert_eq!(runner(&claim).name, "hf-0123abcd-linux-111111112222-2");
    assert_eq!(again(&claim, "hf-0123abcd-linux-111111112222-1", MARKER, NOW), None, "somebody else is further");
}

#[test]
fn an_id_is_kept_only_under_the_name_it_was_given_for() {
    let claim = named();
    let given = RunnerRegistration { id: Some("7".to_owned()), ..runner(&claim) };
    assert_eq!(registered(&claim, &given, NOW).unwrap().runner, Some(given.clone()));
    let other = RunnerRegistration { name: "hf-0123abcd-linux-111111112222-2".to_owned(), ..given };
    assert_eq!(registered(&claim, &other, NOW), None);
}

#[rstest]
#[case::deleted(|claim: &mut MachineClaim| claim.metadata.deletion_timestamp = Some(NOW.into()))]
#[case::draining(|claim: &mut MachineClaim| claim.status.as_mut().unwrap().phase = Some(Phase::Draining))]
#[case::ended(|claim: &mut MachineClaim| claim.status.as_mut().unwrap().phase = Some(Phase::Terminating))]
#[case::revoked(|claim: &mut MachineClaim| {
    claim.status.as_mut().unwrap().bootstrap.as_mut().unwrap().state = BootstrapState::Revoked;
})]
fn a_machine_that_must_not_go_on_keeps_no_credential(#[case] end: fn(&mut MachineClaim)) {
    let mut claim = named();
    let given = RunnerRegistration { id: Some("7".to_owned()), ..runner(&claim) };
    end(&mut claim);
    assert_eq!(registered(&claim, &given, NOW), None);
    assert_eq!(again(&claim, &given.name, MARKER, NOW), None);
    assert_eq!(hindered(&claim, Reason::RateLimited, "wait", NOW), None);
}

#[test]
fn a_runner_with_a_job_gets_no_other_name() {
    let mut claim = named();
    claim.status.as_mut().unwrap().busy_time = Some(Moment::from(NOW));
    assert_eq!(again(&claim, &runner(&claim).name, MARKER, NOW), None);
}

#[test]
fn a_machine_that_was_to_drain_before_it_had_a_credential_has_drained() {
    let mut claim = named();
    let name = runner(&claim).name;
    assert_eq!(withdrawn(&claim, &name, NOW), None, "nobody asked");
    let asked = Drain { requested_at: Moment::from(NOW), confirmed_at: None };
    claim.status.as_mut().unwrap().drain = Some(asked.clone());
    let drained = withdrawn(&claim, &name, NOW).unwrap();
    assert_eq!(drained.drain, Some(Drain { confirmed_at: Some(Moment::from(NOW)), ..asked }));
    assert_eq!(withdrawn(&claim, "another", NOW), None, "somebody else is further");
    claim.status.as_mut().unwrap().busy_time = Some(Moment::from(NOW));
    assert_eq!(withdrawn(&claim, &name, NOW), None, "it has a job");
}

#[test]
fn what_hinders_a_registration_is_said_once() {
    let mut claim = named();
    claim.status = hindered(&claim, Reason::RateLimited, "used up for 60 s", NOW);
    let ready = condition::find(&status(&claim).conditions, ConditionType::Ready).unwrap().clone();
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "RateLimited"));
    assert_eq!(hindered(&claim, Reason::RateLimited, "used up for 60 s", NOW), None);
}

#[test]
fn a_machine_that_nobody_needs_drains_before_it_is_a_runner() {
    let before = claim("linux", "1");
    let drain = dismissed(&before, NOW).unwrap().drain.unwrap();
    assert_eq!((drain.requested_at, drain.confirmed_at), (Moment::from(NOW), Some(Moment::from(NOW))));
    assert_eq!(dismissed(&named(), NOW), None, "one that may be registered has to be asked");
}

#[rstest]
#[case::wants(Some(1), 5, false)]
#[case::wants_nobody(Some(0), 5, true)]
#[case::not_looked_at_yet(None, 5, false)]
#[case::paused(Some(1), 0, true)]
fn a_pool_that_wants_nobody_is_seen(#[case] desired: Option<u32>, #[case] max: u32, #[case] unwanted: bool) {
    let spec = serde_json::json!({
        "sourceRef": { "name": "gh" }, "templateRef": { "name": "small" }, "labels": ["x"],
        "scaling": { "maxReplicas": max },
    });
    let mut pool = RunnerPool::new("linux", serde_json::from_value(spec).unwrap());
    pool.status = desired.map(|desired_replicas| RunnerPoolStatus { desired_replicas, ..RunnerPoolStatus::default() });
    assert_eq!(is_unwanted(&pool), unwanted);
    pool.metadata.deletion_timestamp = Some(NOW.into());
    assert!(is_unwanted(&pool));
}

proptest! {
    #[test]
    fn p12_names_are_short_marked_and_each_claims_own(
        pool in "[a-z0-9]([-.a-z0-9]{0,80}[a-z0-9])?", one in "[0-9a-f]{8}-[0-9a-f]{4}", other in "[0-9a-f]{8}-[0-9a-f]{4}",
        times in 1_u32..200,
    ) {
        let mut names = std::collections::BTreeSet::new();
        for uid in std::collections::BTreeSet::from([one, other]) {
            let mut claim = claim(&pool, &uid);
            for _ in 0..times {
                claim.status = Some(ahead(&claim, status(&claim), MARKER));
                let name = runner(&claim).name;
                prop_assert!(name.len() <= 64 && name.starts_with(MARKER), "{name}");
                prop_assert!(names.insert(name));
            }
        }
    }
}
