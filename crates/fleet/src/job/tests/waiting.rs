//! The one thing a job waits for (`hyperfleet why` shows these words).

use super::*;

#[test]
fn a_job_whose_pool_is_about_to_take_it_is_left_alone() {
    let plan = decide(&fresh(), 1);
    assert_eq!((plan.status, plan.next), (None, Next::After(std::time::Duration::from_secs(9), Why::Recheck)));
    assert_eq!(said(&fresh(), 10).0, "MachineStarting", "it has waited long enough to say so itself");
}

#[test]
fn a_job_of_a_machine_that_starts_writes_nothing_until_that_is_slow() {
    let booting = json!({
        "phase": "Bootstrapping", "allocation": allocation(), "bootstrap": record("Pending"),
        "firstRunningTime": at(2).to_string(),
    });
    let observed = with_claim(booting);
    let plan = decide(&observed, 5);
    assert_eq!((plan.status, plan.next), (None, Next::After(std::time::Duration::from_secs(12), Why::Recheck)));
    let (word, message) = said(&observed, 17);
    assert_eq!(word, "MachineStarting");
    assert_eq!(message, "machine job-1-1 of pool linux is starting: it boots, and its agent has not called yet");
    assert_eq!(decide(&after(observed, 17), 18).status, None);
}

#[rstest]
#[case::no_node(json!({ "phase": "Pending", "conditions": [provisioning("False", "NoNodeFits")] }), "NoNodeFits")]
#[case::no_room(json!({ "phase": "Pending", "conditions": [provisioning("False", "InsufficientCapacity")] }), "NoNodeFits")]
#[case::storage(json!({ "phase": "Provisioning", "allocation": allocation(), "conditions": [provisioning("True", "StorageBusy")] }), "StorageBusy")]
#[case::cluster(json!({ "phase": "Pending", "conditions": [provisioning("False", "ClusterNotReady")] }), "ClusterNotReady")]
#[case::template(json!({ "phase": "Pending", "conditions": [provisioning("False", "TemplateNotValid")] }), "TemplateNotReady")]
#[case::making(json!({ "phase": "Provisioning", "allocation": allocation() }), "MachineStarting")]
#[case::attesting(json!({ "phase": "Bootstrapping", "allocation": allocation(), "bootstrap": record("Challenged"), "firstRunningTime": at(2).to_string() }), "MachineStarting")]
#[case::ready(json!({ "phase": "Ready", "allocation": allocation(), "bootstrap": record("Bound"), "readyTime": at(2).to_string() }), "WaitingForPlatform")]
fn a_job_says_what_its_machine_waits_for(#[case] status: Value, #[case] word: &str) {
    let observed = with_claim(status);
    assert_eq!(said(&observed, 60).0, word);
    assert_eq!(decide(&after(observed, 60), 61).status, None, "and says it once");
}

fn provisioning(status: &str, reason: &str) -> Value {
    json!({
        "type": "Provisioning", "status": status, "reason": reason, "message": "as the claim says",
        "lastTransitionTime": at(1).to_string(),
    })
}

#[rstest]
#[case::maximum(Reason::AtMaximum)]
#[case::terminating(Reason::TooManyTerminating)]
#[case::failing(Reason::MachinesFailing)]
#[case::template(Reason::TemplateNotReady)]
fn a_job_without_a_machine_says_what_its_pool_waits_for(#[case] reason: Reason) {
    let mut observed = fresh();
    pool_says(&mut observed, false, reason, "as the pool says");
    assert_eq!(decide(&observed, 1).status, None, "the pool may be about to take it");
    assert_eq!(said(&observed, 5), (reason.as_str().to_owned(), "pool linux: as the pool says".to_owned()));
}

#[test]
fn a_source_that_cannot_be_used_is_the_reason_unless_a_runner_is_there_already() {
    let mut observed = fresh();
    observed.source = None;
    assert_eq!(said(&observed, 1).0, "SourceNotFound");
    let mut limited = source();
    let word = condition(ConditionType::Ready, ConditionStatus::False, Reason::RateLimited, "until noon", None);
    limited.status.as_mut().unwrap().conditions = vec![word];
    observed.source = Some(Arc::new(limited));
    assert_eq!(said(&observed, 1).0, "RateLimited");
    Arc::make_mut(observed.source.as_mut().unwrap()).status = None;
    assert_eq!(said(&observed, 1).0, "SourceNotReady");
}

/// Failure class 6.7, and ask 1: a job that nobody serves names who comes closest.
#[test]
fn ci_6_7_a_job_that_no_pool_fits_names_the_closest_and_what_it_lacks() {
    let mut observed = fresh();
    observed.pools = vec![candidate("far", &["windows"], &["linux", "gpu"]), candidate("near", &["linux"], &["gpu"])];
    let (word, message) = said(&observed, 1);
    assert_eq!(
        (word.as_str(), message.as_str()),
        ("NoMatchingPool", "no pool of source gh fits; the closest, near, lacks gpu")
    );
    observed.pools.clear();
    assert_eq!(said(&observed, 1).1, "source gh has no pool: create a RunnerPool that refers to it");
    observed.source = None;
    assert_eq!(said(&observed, 1).1, "source gh does not exist: create it, or delete the job");
}

#[test]
fn the_smallest_pool_that_fits_serves_then_the_first_by_name_and_never_one_that_goes() {
    let origin = Origin { public_repository: Fact::Untold, fork: Fact::Untold };
    let mut pools = vec![
        candidate("big", &["linux", "gpu", "x64"], &[]),
        candidate("c", &["linux", "x64"], &[]),
        candidate("b", &["linux", "x64"], &[]),
        candidate("tiny", &["linux"], &["x64"]),
    ];
    let chosen = |pools: &[Candidate]| match select(origin, pools) {
        Choice::Serves(pool) => pool.metadata.name.clone().unwrap(),
        Choice::Unsure { .. } | Choice::Denied { .. } | Choice::Unmatched(_) => String::new(),
    };
    assert_eq!(chosen(&pools), "b");
    Arc::make_mut(&mut pools[2].pool).metadata.deletion_timestamp = Some(Time(at(0)));
    assert_eq!(chosen(&pools), "c");
}

#[rstest]
#[case::of_a_fork(None, Some(true), "TrustDenied")]
#[case::of_a_public_repository(Some(true), None, "TrustDenied")]
#[case::of_a_private_one(Some(false), Some(false), "MachineStarting")]
#[case::nobody_says(None, None, "MachineStarting")]
fn a_job_of_strangers_is_not_served_unless_its_pool_allows_it(
    #[case] public_repository: Option<bool>,
    #[case] fork: Option<bool>,
    #[case] word: &str,
) {
    let mut observed = fresh();
    let spec = &mut Arc::make_mut(&mut observed.job).spec;
    (spec.public_repository, spec.fork) = (public_repository, fork);
    assert_eq!(said(&observed, 20).0, word);
    change_pool(&mut observed, |pool| {
        (pool.spec.trust.forks, pool.spec.trust.public_repositories) = (true, true);
    });
    assert_eq!(said(&observed, 20).0, "MachineStarting");
}

const ALL: Tells = Tells { public_repositories: true, forks: true };

/// What is said of a job of which this is known, at a platform that can be asked for this, before it was asked.
#[rstest]
#[case::nothing_is_known(None, None, ALL, "TrustUnknown")]
#[case::a_delivery_of_a_private_repository(Some(false), None, ALL, "TrustUnknown")]
#[case::a_delivery_of_a_public_one(Some(true), None, ALL, "TrustDenied")]
#[case::not_a_fork_and_else_unknown(None, Some(false), ALL, "TrustUnknown")]
#[case::everything_is_known(Some(false), Some(false), ALL, "MachineStarting")]
#[case::a_platform_that_knows_no_forks(Some(false), None, Tells { forks: false, ..ALL }, "MachineStarting")]
#[case::and_has_not_said_the_rest(None, None, Tells { forks: false, ..ALL }, "TrustUnknown")]
fn what_a_platform_can_tell_and_has_not_is_never_trusted(
    #[case] public_repository: Option<bool>,
    #[case] fork: Option<bool>,
    #[case] tells: Tells,
    #[case] word: &str,
) {
    let mut observed = fresh();
    observed.tells = tells;
    let spec = &mut Arc::make_mut(&mut observed.job).spec;
    (spec.public_repository, spec.fork) = (public_repository, fork);
    assert_eq!(is_unsure(&observed.job, &observed.pools, tells), word == "TrustUnknown", "asks if that helps");
    let after = after(observed.clone(), 20);
    assert_eq!(said(&observed, 20).0, word);
    assert_eq!(pool_of(&after.job).is_some(), word == "MachineStarting", "no pool makes a machine for it");
    // A pool that serves everybody has nothing to ask.
    change_pool(&mut observed, |pool| {
        (pool.spec.trust.forks, pool.spec.trust.public_repositories) = (true, true);
    });
    assert!(!is_unsure(&observed.job, &observed.pools, tells));
    assert_eq!(said(&observed, 20).0, "MachineStarting");
}

#[rstest]
#[case::harmless(Asked::Told { public_repository: Some(false), fork: Some(false) }, "MachineStarting")]
#[case::of_a_fork(Asked::Told { public_repository: Some(false), fork: Some(true) }, "TrustDenied")]
#[case::of_a_public_repository(Asked::Told { public_repository: Some(true), fork: Some(false) }, "TrustDenied")]
#[case::half_an_answer(Asked::Told { public_repository: Some(false), fork: None }, "TrustUnknown")]
#[case::no_answer(Asked::Silent { why: "its limit is used up".to_owned(), pause: std::time::Duration::from_mins(2) }, "TrustUnknown")]
fn a_job_whose_platform_was_asked_goes_by_the_answer(#[case] asked: Asked, #[case] word: &str) {
    let mut observed = fresh();
    (observed.tells, observed.asked) = (ALL, asked.clone());
    let plan = decide(&observed, 20);
    assert_eq!(said(&observed, 20).0, word);
    if let Asked::Silent { pause, .. } = asked {
        assert_eq!(plan.next, Next::After(pause, Why::Recheck));
    }
    // What it said is kept: nobody asks again, and nothing is written again.
    let mut after = after(observed, 20);
    let settled = word != "TrustUnknown";
    assert_eq!(is_unsure(&after.job, &after.pools, ALL), !settled);
    if settled {
        after.asked = Asked::Nothing;
    }
    assert_eq!(decide(&after, 21).status, None);
}

#[test]
fn the_smallest_pool_that_may_serve_a_job_is_asked_for_before_a_larger_one_that_serves_everybody() {
    let mut pools = vec![candidate("large", &["linux", "x64"], &[]), candidate("small", &["linux"], &[])];
    let trust = api::Trust { forks: true, public_repositories: true };
    Arc::make_mut(&mut pools[0].pool).spec.trust = trust.clone();
    let choice = |origin, pools: &[Candidate]| match select(origin, pools) {
        Choice::Serves(pool) => ("serves", pool.metadata.name.clone()),
        Choice::Unsure { pool, .. } => ("unsure", pool.metadata.name.clone()),
        Choice::Denied { pool, .. } => ("denied", pool.metadata.name.clone()),
        Choice::Unmatched(_) => ("unmatched", None),
    };
    let of = |fork| Origin { public_repository: Fact::No, fork };
    assert_eq!(choice(of(Fact::Unasked), &pools), ("unsure", Some("small".to_owned())));
    assert_eq!(choice(of(Fact::No), &pools), ("serves", Some("small".to_owned())));
    assert_eq!(choice(of(Fact::Yes), &pools), ("serves", Some("large".to_owned())));
    Arc::make_mut(&mut pools[1].pool).spec.trust = trust;
    assert_eq!(choice(of(Fact::Unasked), &pools), ("serves", Some("small".to_owned())));
}

/// A runner is given whatever fits it: which waiting jobs keep a pool from registering any.
#[rstest]
#[case::of_a_fork(Some(false), Some(true), &[], None, true)]
#[case::that_it_lacks_a_label_for(Some(false), Some(true), &["gpu"], None, false)]
#[case::of_which_nothing_is_known(None, None, &[], None, true)]
#[case::of_its_own_people(Some(false), Some(false), &[], None, false)]
#[case::which_its_runner_group_keeps_away(Some(true), Some(true), &[], None, false)]
#[case::of_a_fork_in_its_queue(Some(false), Some(true), &[], Some("linux"), true)]
#[case::of_a_public_repository_in_its_queue(Some(true), Some(false), &[], Some("linux"), true)]
#[case::of_a_fork_in_another_queue(Some(false), Some(true), &[], Some("other"), false)]
fn a_waiting_job_endangers_a_pool_whose_runners_could_be_given_it(
    #[case] public_repository: Option<bool>,
    #[case] fork: Option<bool>,
    #[case] missing: &[&str],
    #[case] queue: Option<&str>,
    #[case] danger: bool,
) {
    let mut observed = fresh();
    let job = Arc::make_mut(&mut observed.job);
    (job.spec.public_repository, job.spec.fork) = (public_repository, fork);
    if let Some(queue) = queue {
        job.metadata.labels.as_mut().unwrap().insert(api::registry::label::RUNNER_QUEUE.to_owned(), queue.to_owned());
    }
    let mut one = candidate("linux", &["linux"], missing);
    assert_eq!(endangers(&observed.job, &one, ALL), danger);
    let mut taken = (*observed.job).clone();
    taken.status.as_mut().unwrap().state = Some(JobState::Running);
    assert!(!endangers(&taken, &one, ALL), "a runner has it");
    Arc::make_mut(&mut one.pool).spec.trust = api::Trust { forks: true, public_repositories: true };
    assert!(!endangers(&observed.job, &one, ALL));
}

#[rstest]
#[case::limit("RateLimited", "RateLimited")]
#[case::platform_away("PlatformUnreachable", "SourceNotReady")]
#[case::untrusted("UntrustedJobWaits", "UntrustedJobWaits")]
fn a_job_whose_machine_cannot_be_registered_says_why_and_not_that_a_runner_waits(
    #[case] claim: &str,
    #[case] word: &str,
) {
    let ready = json!({
        "type": "Ready", "status": "False", "reason": claim, "message": "as the claim says",
        "lastTransitionTime": at(3).to_string(),
    });
    let observed = with_claim(json!({
        "phase": "Ready", "allocation": allocation(), "bootstrap": record("Bound"), "readyTime": at(2).to_string(),
        "conditions": [ready],
    }));
    assert_eq!(said(&observed, 60), (word.to_owned(), "machine job-1-1: as the claim says".to_owned()));
}

#[test]
fn a_job_of_a_pool_that_goes_gets_another() {
    let mut observed = after(fresh(), 20);
    assert_eq!(observed.job.status.as_ref().unwrap().pool_ref.as_ref().unwrap().name.as_str(), "linux");
    observed.pools.push(candidate("also", &[], &[]));
    assert_eq!(decide(&observed, 21).status, None, "it stays where it is, although another would fit better");
    change_pool(&mut observed, |pool| pool.metadata.deletion_timestamp = Some(Time(at(21))));
    assert_eq!(decide(&observed, 22).status.unwrap().pool_ref.unwrap().name.as_str(), "also");
}

#[test]
fn a_job_that_its_pool_no_longer_fits_is_not_its_pools_any_more() {
    let mut observed = fresh();
    assert_eq!(pool_of(&observed.job), Some("linux"));
    observed.pools[0].missing = vec!["linux".to_owned()];
    let observed = after(observed, 1);
    assert_eq!(pool_of(&observed.job), None, "whoever saw it first thought of a pool that has changed since");
}

#[test]
fn ci_6_6_a_job_that_machines_do_not_get_says_so_and_when_the_next_comes() {
    let mut observed = with_claim(json!({ "phase": "Terminating", "allocation": allocation() }));
    Arc::make_mut(&mut observed.job).status.as_mut().unwrap().claims_made = Some(3);
    let (word, message) = said(&observed, 30);
    assert_eq!(word, "MachinesFailing");
    assert!(message.starts_with("3 machines were made for the job and none got it"), "{message}");
    assert_eq!(
        decide(&observed, 30).next,
        Next::After(std::time::Duration::from_secs(30), Why::Deadline { what: "the next machine is made" })
    );
}

/// Found by a day in virtual time that never ended: the operator looked at the job again and again without a pause.
#[test]
fn a_job_whose_pause_is_over_does_not_look_again_at_once_while_its_pools_machines_fail() {
    let mut observed = with_claim(json!({ "phase": "Terminating", "allocation": allocation() }));
    Arc::make_mut(&mut observed.job).status.as_mut().unwrap().claims_made = Some(3);
    pool_says(&mut observed, false, Reason::MachinesFailing, "as the pool says");
    let over = after(observed, 3_600);
    assert_eq!(said(&over, 3_600), ("MachinesFailing".to_owned(), "pool linux: as the pool says".to_owned()));
    assert_eq!(decide(&over, 3_601), Plan::wait(Next::OnChange));
}

/// Found by a day in virtual time: a clock that was hours ahead for some minutes left a job waiting for hours.
#[test]
fn a_pause_of_hours_was_written_by_a_wrong_clock_and_holds_no_job() {
    let mut observed = with_claim(json!({ "phase": "Terminating", "allocation": allocation() }));
    let mut waits = |last: i64| {
        let status = Arc::make_mut(&mut observed.job).status.as_mut().unwrap();
        (status.claims_made, status.last_claim_at) = (Some(4), Some(Moment::from(at(last))));
        said(&observed, 30).0 == "MachinesFailing"
    };
    assert!(waits(20) && !waits(20_000));
}
