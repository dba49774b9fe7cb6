//! Machines that are believed, and those that are not.

mod life;
mod properties;
mod runner;
mod serving;

use api::MachineClaimSpec;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

/// When claims here are made.
const START: i64 = 1_800_000_000;
const MACHINE: &str = "5d1d9be8-aaaa-4000-8000-000000000001";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(START + seconds).unwrap()
}

fn hash(letter: char) -> Digest {
    Digest::new(format!("{:064x}", u32::from(letter)))
}

/// A claim whose machine boots; its token is `a` and works for ten minutes.
fn claim() -> MachineClaim {
    let spec: MachineClaimSpec = serde_json::from_value(json!({
        "templateRef": { "name": "small" }, "workload": { "command": { "argv": ["true"] } },
    }))
    .unwrap();
    let mut claim = MachineClaim::new("one", spec);
    claim.metadata.namespace = Some("default".to_owned());
    claim.metadata.generation = Some(1);
    claim.metadata.creation_timestamp = Some(api::Time(at(0)));
    claim.status = Some(
        serde_json::from_value(json!({
            "phase": "Bootstrapping", "step": "attesting",
            "allocation": {
                "id": MACHINE, "clusterRef": { "name": "pve" }, "vmId": 6000, "node": "a", "templateGeneration": 1,
                "allocatedAt": at(0).to_string(),
            },
            "bootstrap": {
                "id": "5d1d9be8-bbbb-4000-8000-000000000002", "tokenHash": hash('a'), "seedHash": hash('s'), "state": "Pending",
                "notAfter": at(600).to_string(),
            },
        }))
        .unwrap(),
    );
    claim
}

fn with(mut claim: MachineClaim, change: impl FnOnce(&mut MachineClaim)) -> MachineClaim {
    change(&mut claim);
    claim
}

fn status_of(claim: &mut MachineClaim) -> &mut MachineClaimStatus {
    claim.status.as_mut().unwrap()
}

fn in_phase(phase: Phase) -> impl FnOnce(&mut MachineClaim) {
    move |claim| status_of(claim).phase = Some(phase)
}

fn in_state(state: BootstrapState) -> impl FnOnce(&mut MachineClaim) {
    move |claim| status_of(claim).bootstrap.as_mut().unwrap().state = state
}

/// Somebody at 10.0.0.5 with this token and key.
fn show(claim: &MachineClaim, token: char, key: char, seconds: i64) -> Result<Bound, Refusal> {
    show_from(claim, (token, key), MACHINE, 5, seconds)
}

fn show_from(
    claim: &MachineClaim,
    (token, key): (char, char),
    machine: &str,
    last: u8,
    seconds: i64,
) -> Result<Bound, Refusal> {
    let (token_hash, key_hash) = (&hash(token), &hash(key));
    let from = IpAddr::from([10, 0, 0, last]);
    bind(claim, &Presented { token_hash, key_hash, machine, from }, at(seconds))
}

/// A claim that key `k` was bound to at second 100.
fn bound() -> MachineClaim {
    match show(&claim(), 'a', 'k', 100) {
        Ok(Bound::First(status)) => with(claim(), |claim| claim.status = Some(*status)),
        other => panic!("{other:?}"),
    }
}

fn said(status: &MachineClaimStatus, about: ConditionType) -> (String, String, String) {
    let found = api::condition::find(&status.conditions, about).unwrap().clone();
    (found.status, found.reason, found.message)
}

/// What the API server thinks of a claim.
fn admitted(claim: &MachineClaim) -> Value {
    let mut object = serde_json::to_value(claim).unwrap();
    for condition in object["status"]["conditions"].as_array_mut().into_iter().flatten() {
        assert!(condition["message"].as_str().is_some_and(|message| !message.is_empty()));
    }
    api::admit(&object, None).unwrap_or_else(|refusal| panic!("{refusal}"))
}

#[test]
fn the_right_token_on_the_right_machine_is_believed() {
    let bound = bound();
    admitted(&bound);
    let status = bound.status.as_ref().unwrap();
    let record = status.bootstrap.as_ref().unwrap();
    assert_eq!((record.state, record.bound_key_hash.as_ref()), (BootstrapState::Bound, Some(&hash('k'))));
    assert_eq!(record.bound_at.as_ref().map(api::Moment::timestamp), Some(at(100)));
    assert_eq!((status.phase, status.step), (Some(Phase::Ready), Some(api::Step::Ready)));
    assert_eq!(status.ready_time, Some(at(100).into()));
    assert_eq!(status.first_running_time, Some(at(100).into()), "a machine that speaks runs");
    assert_eq!(status.network.as_ref().unwrap().ip_address.as_str(), "10.0.0.5");
    for about in [ConditionType::Bootstrapped, ConditionType::Ready] {
        let (status, reason, message) = said(status, about);
        assert_eq!((status.as_str(), reason.as_str()), ("True", "AgentAttested"));
        assert!(message.contains("10.0.0.5"), "{message}");
    }
    assert_eq!(api::condition::find(&status.conditions, ConditionType::Provisioning), None, "nothing new about it");
}

#[test]
fn an_agent_that_is_faster_than_whoever_watches_the_start_ends_the_making() {
    let mut making = claim();
    let made = |holds| api::condition(ConditionType::Provisioning, holds, Reason::Cloning, "VM 6000", None);
    status_of(&mut making).conditions = vec![made(ConditionStatus::True)];
    let Ok(Bound::First(status)) = show(&making, 'a', 'k', 100) else { panic!() };
    let (holds, reason, message) = said(&status, ConditionType::Provisioning);
    assert_eq!((holds.as_str(), reason.as_str()), ("False", "AgentAttested"), "{message}");
}

#[test]
fn a_machine_may_spell_its_uuid_in_capitals() {
    let shown = show_from(&claim(), ('a', 'k'), &MACHINE.to_uppercase(), 5, 100);
    assert!(matches!(shown, Ok(Bound::First(_))), "{shown:?}");
}

#[test]
fn when_it_first_ran_is_not_forgotten() {
    let seen = with(claim(), |claim| status_of(claim).first_running_time = Some(at(30).into()));
    let Ok(Bound::First(status)) = show(&seen, 'a', 'k', 100) else { panic!() };
    assert_eq!(status.first_running_time, Some(at(30).into()));
}

fn going(claim: &mut MachineClaim) {
    claim.metadata.deletion_timestamp = Some(api::Time(at(50)));
}

fn without_record(claim: &mut MachineClaim) {
    status_of(claim).bootstrap = None;
}

fn without_machine(claim: &mut MachineClaim) {
    status_of(claim).allocation = None;
}

fn draining(claim: &mut MachineClaim) {
    status_of(claim).drain = Some(serde_json::from_value(json!({ "requestedAt": at(50).to_string() })).unwrap());
}

fn short_lived(claim: &mut MachineClaim) {
    claim.spec.lifecycle.max_lifetime = Some(api::Span::from_secs(90));
}

#[rstest]
#[case::another_token("unknown-token", claim(), 'b', MACHINE, 100)]
#[case::no_record("unknown-token", with(claim(), without_record), 'a', MACHINE, 100)]
#[case::no_status("unknown-token", with(claim(), |claim| claim.status = None), 'a', MACHINE, 100)]
#[case::another_machine("wrong-machine", claim(), 'a', "5d1d9be8-aaaa-4000-8000-00000000ffff", 100)]
#[case::no_uuid("wrong-machine", claim(), 'a', "", 100)]
#[case::no_machine("wrong-machine", with(claim(), without_machine), 'a', "", 100)]
#[case::too_late("expired", claim(), 'a', MACHINE, 601)]
#[case::deleted("ended", with(claim(), going), 'a', MACHINE, 100)]
#[case::deleted_later("ended", with(bound(), going), 'a', MACHINE, 101)]
#[case::terminating("ended", with(claim(), in_phase(Phase::Terminating)), 'a', MACHINE, 100)]
#[case::succeeded("ended", with(claim(), in_phase(Phase::Succeeded)), 'a', MACHINE, 100)]
#[case::failed("ended", with(claim(), in_phase(Phase::Failed)), 'a', MACHINE, 100)]
#[case::released("ended", with(bound(), in_state(BootstrapState::Released)), 'a', MACHINE, 101)]
#[case::run_out("ended", with(claim(), in_state(BootstrapState::Expired)), 'a', MACHINE, 100)]
#[case::given_up("ended", with(claim(), draining), 'a', MACHINE, 100)]
#[case::giving_up("ended", with(claim(), in_phase(Phase::Draining)), 'a', MACHINE, 100)]
#[case::lived_too_long("ended", with(claim(), short_lived), 'a', MACHINE, 100)]
#[case::evidence_asked_for("challenged", with(claim(), in_state(BootstrapState::Challenged)), 'a', MACHINE, 100)]
#[case::same_key_late("spent", bound(), 'a', MACHINE, 161)]
#[case::same_key_elsewhere("wrong-machine", bound(), 'a', "", 101)]
#[case::revoked("revoked", with(bound(), in_state(BootstrapState::Revoked)), 'a', MACHINE, 101)]
fn nobody_else_is_believed(
    #[case] why: &str,
    #[case] claim: MachineClaim,
    #[case] token: char,
    #[case] machine: &str,
    #[case] seconds: i64,
) {
    let refusal = show_from(&claim, (token, 'k'), machine, 5, seconds).unwrap_err();
    assert_eq!(refusal.as_str(), why);
}

#[test]
fn a_lost_answer_is_given_again_for_a_minute_and_costs_no_write() {
    for seconds in [100, 101, 160] {
        assert_eq!(show(&bound(), 'a', 'k', seconds), Ok(Bound::Again));
    }
    assert_eq!(show(&bound(), 'a', 'k', 161), Err(Refusal::Spent));
}

#[rstest]
#[case::at_once(100)]
#[case::after_its_time(10_000)]
fn a_second_key_shuts_both_out(#[case] seconds: i64) {
    // On which machine the second one says it is makes no difference: it has the token.
    let shown = show_from(&bound(), ('a', 'x'), "somewhere else", 9, seconds);
    let Err(Refusal::Stolen(status)) = shown else { panic!("{shown:?}") };
    let revoked = with(bound(), |claim| claim.status = Some(*status));
    admitted(&revoked);
    let status = revoked.status.as_ref().unwrap();
    assert_eq!(status.bootstrap.as_ref().unwrap().state, BootstrapState::Revoked);
    assert_eq!(status.phase, Some(Phase::Ready), "what happens to the machine is the controller's business");
    for about in [ConditionType::Bootstrapped, ConditionType::Ready] {
        let (status, reason, message) = said(status, about);
        assert_eq!((status.as_str(), reason.as_str()), ("False", "AttestationFailed"));
        assert!(message.contains("10.0.0.5") && message.contains("10.0.0.9"), "{message}");
    }
    for key in ['k', 'x'] {
        assert_eq!(show(&revoked, 'a', key, seconds + 1), Err(Refusal::Revoked));
        assert!(!by_key(&revoked, &hash(key)));
    }
    assert_eq!(order(&revoked, at(seconds)), Order::End);
}

#[test]
fn only_the_bound_key_counts() {
    assert!(by_key(&bound(), &hash('k')));
    assert!(!by_key(&bound(), &hash('x')));
    assert!(!by_key(&claim(), &hash('k')));
    assert!(!by_key(&bound(), &Digest::new(&hash('k').as_str()[..63])) && !by_key(&bound(), &Digest::new("")));
}
