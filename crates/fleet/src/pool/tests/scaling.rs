//! One decision at a time.

use super::*;

fn jobs(observed: &mut Observed, count: i64) {
    observed.jobs = (0..count).map(|number| Arc::new(job(&format!("job-{number}"), number))).collect();
}

#[test]
fn each_job_that_waits_gets_a_claim_with_its_name_and_its_finalizer() {
    let mut seen = observed(pool(&json!({})));
    jobs(&mut seen, 2);
    let plan = decide(&seen, 5);
    assert_eq!(made(&plan), ["job-0-1", "job-1-1"]);
    let [Step::Make(births)] = plan.steps.as_slice() else { panic!() };
    let Birth { ahead: Some(ahead), claim } = &births[0] else { panic!() };
    assert_eq!(ahead.status.claims_made, Some(1));
    assert_eq!(ahead.status.pool_ref.as_ref().unwrap().name.as_str(), "linux");
    assert_eq!(find(&ahead.status.conditions, ConditionType::Assigned).unwrap().reason, "MachineStarting");
    assert_eq!(claim.spec.workload.runner.as_ref().unwrap().job_ref.as_ref().unwrap().name.as_str(), "job-0");
    assert_eq!(claim.metadata.owner_references.as_ref().unwrap()[0].uid, "pool-uid");
    api::admit(&serde_json::to_value(claim).unwrap(), None).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(reason(&plan), "DemandIncreased");
    assert_eq!(plan.status.as_ref().unwrap().pending_jobs, 2);
    assert_eq!(plan.status.unwrap().oldest_pending_since, Some(Moment::from(at(0))));
}

#[test]
fn p12_a_claim_asks_for_exactly_what_its_pool_has() {
    let mut seen = observed(pool(&json!({ "minReplicas": 1 })));
    jobs(&mut seen, 1);
    let plan = decide(&seen, 5);
    let [Step::Make(births)] = plan.steps.as_slice() else { panic!() };
    let runner = births[0].claim.spec.workload.runner.clone().unwrap();
    assert_eq!(runner.labels, seen.pool.spec.labels);
    assert_eq!((runner.source_ref, runner.queue), (seen.pool.spec.source_ref.clone(), None));
}

#[test]
fn kubectl_scale_makes_machines_that_no_job_asked_for() {
    let seen = observed(pool(&json!({ "minReplicas": 2 })));
    let names = made(&decide(&seen, 5));
    assert_eq!(names.len(), 2);
    assert!(names[0].starts_with("linux-") && names[0].ends_with("-0") && names[1].ends_with("-1"), "{names:?}");
}

#[test]
fn warm_machines_come_on_top_of_those_for_jobs_up_to_the_maximum() {
    let mut seen = observed(pool(&json!({ "warm": 2, "maxReplicas": 3 })));
    jobs(&mut seen, 2);
    let plan = decide(&seen, 5);
    assert_eq!(made(&plan).len(), 3);
    assert_eq!(reason(&plan), "AtMaximum");
}

#[test]
fn a_level_counts_where_it_is_more_than_the_jobs_that_are_known() {
    let mut seen = observed(pool(&json!({})));
    jobs(&mut seen, 1);
    seen.level = Some(heard(3, 4));
    Arc::make_mut(&mut seen.pool).spec.trust = EVERYBODY;
    let plan = decide(&seen, 5);
    assert_eq!(made(&plan).len(), 3);
    assert_eq!(plan.status.unwrap().level.unwrap().jobs, 3);
}

const EVERYBODY: api::Trust = api::Trust { forks: true, public_repositories: true };

fn heard(jobs: u32, second: i64) -> Heard {
    Heard { level: Level { jobs, as_of: Moment::from(at(second)) }, at: at(second) }
}

#[rstest]
#[case::forks(api::Trust { forks: false, ..EVERYBODY })]
#[case::public_repositories(api::Trust { public_repositories: false, ..EVERYBODY })]
fn a_level_makes_nothing_for_a_pool_that_does_not_serve_everybody(#[case] trust: api::Trust) {
    let mut seen = observed(pool(&json!({ "maxReplicas": 20 })));
    jobs(&mut seen, 2);
    seen.level = Some(heard(9, 4));
    Arc::make_mut(&mut seen.pool).spec.trust = trust;
    assert_eq!(made(&decide(&seen, 5)), ["job-0-1", "job-1-1"], "nobody knows whose the others are");
}

/// Cut off from its platform, a pool went on to make machines for the number it had heard last.
#[test]
fn a_level_that_nobody_confirms_makes_nothing_new_and_takes_nothing_away() {
    let mut seen = observed(pool(&json!({ "scaleDownDelay": "0s" })));
    Arc::make_mut(&mut seen.pool).spec.trust = EVERYBODY;
    seen.level = Some(heard(2, 0));
    member(&mut seen, "idle", Phase::Ready, 0);
    Arc::make_mut(&mut seen.pool).status = decide(&seen, 119).status;
    assert_eq!(made(&decide(&seen, 119)).len(), 1);
    let old = decide(&seen, 120);
    assert_eq!((made(&old), retired(&old)), (vec![], vec![]), "it may be true still, or not");
    // Another process has heard nothing: the number that is written down is as old as that.
    seen.level = None;
    assert_eq!(made(&decide(&seen, 5)), Vec::<String>::new());
    assert_eq!(retired(&decide(&seen, 500)), Vec::<String>::new());
    seen.level = Some(heard(0, 501));
    Arc::make_mut(&mut seen.pool).status = decide(&seen, 502).status;
    assert_eq!(retired(&decide(&seen, 503)), ["drain idle"], "the platform says that nothing is left");
}

/// A runner is given whatever fits it, whoever it was made for.
#[test]
fn nothing_is_made_while_a_job_waits_that_must_not_run_here() {
    let mut seen = observed(pool(&json!({ "minReplicas": 1 })));
    jobs(&mut seen, 2);
    seen.strangers = vec![Arc::new(job("job-of-a-fork", 0))];
    let plan = decide(&seen, 5);
    assert_eq!((made(&plan), reason(&plan)), (vec![], "UntrustedJobWaits"));
    let status = plan.status.unwrap();
    let said = find(&status.conditions, ConditionType::Scaling).unwrap();
    assert!(said.message.contains("job-of-a-fork"), "{}", said.message);
    seen.strangers.clear();
    assert_eq!(made(&decide(&seen, 6)).len(), 2);
}

/// Failure class 6.2, with a cache that has not shown what was made a moment ago.
#[test]
fn ci_6_2_what_was_made_a_moment_ago_is_not_made_again() {
    let mut seen = observed(pool(&json!({ "maxReplicas": 2 })));
    jobs(&mut seen, 2);
    seen.unseen = ["job-0-1".to_owned(), "job-1-1".to_owned()].into();
    assert_eq!(made(&decide(&seen, 5)), Vec::<String>::new(), "neither again, nor for others");
    // Another process wrote down that it makes one, and was killed: whether it did will be seen.
    seen.unseen.clear();
    seen.began = at(5);
    Arc::make_mut(&mut seen.jobs[0]).status = Some(RunnerJobStatus {
        claims_made: Some(1),
        last_claim_at: Some(Moment::from(at(4))),
        ..RunnerJobStatus::default()
    });
    assert_eq!(made(&decide(&seen, 5)), ["job-1-1"]);
    assert_eq!(made(&decide(&seen, 60)), ["job-1-1", "job-0-2"], "by now it would have been seen");
}

/// Nothing else happens in a pool whose last machine went to another job: it must wake by itself. A fast machine could come and
/// go within the first seconds of a process, and the job it was made for was never served.
#[test]
fn a_pool_looks_again_when_an_announced_claim_can_no_longer_come() {
    let mut seen = observed(pool(&json!({})));
    jobs(&mut seen, 1);
    seen.began = at(5);
    Arc::make_mut(&mut seen.jobs[0]).status = Some(RunnerJobStatus {
        claims_made: Some(1),
        last_claim_at: Some(Moment::from(at(6))),
        ..RunnerJobStatus::default()
    });
    Arc::make_mut(&mut seen.pool).status = decide(&seen, 10).status;
    let plan = decide(&seen, 10);
    assert_eq!(made(&plan), Vec::<String>::new());
    let Next::After(wait, _) = plan.next else { panic!("nobody would look again: {plan:?}") };
    let then = 10 + i64::try_from(wait.as_secs()).unwrap();
    assert_eq!(made(&decide(&seen, then)), ["job-0-2"]);
    // Once it was seen it has come, and nobody waits for it.
    seen.met.insert("job-0-1".to_owned());
    assert_eq!(made(&decide(&seen, 10)), ["job-0-2"]);
}

/// ARC #3276: scaling up went one by one, so that a burst waited for itself.
#[test]
fn arc_3276_a_burst_is_made_in_one_pass() {
    let mut seen = observed(pool(&json!({ "maxReplicas": 1_000 })));
    jobs(&mut seen, 400);
    let plan = decide(&seen, 500);
    assert_eq!((plan.steps.len(), made(&plan).len()), (1, 400));
}

/// Failure class 6.8: the job is cancelled while its machine boots.
#[test]
fn ci_6_8_the_machine_of_a_cancelled_job_serves_the_next_or_goes_after_the_delay() {
    let mut seen = observed(pool(&json!({ "scaleDownDelay": "60s" })));
    jobs(&mut seen, 1);
    member(&mut seen, "job-0-1", Phase::Bootstrapping, 0);
    Arc::make_mut(&mut seen.jobs[0]).status =
        Some(RunnerJobStatus { state: Some(JobState::Completed), ..RunnerJobStatus::default() });
    let plan = decide(&seen, 5);
    assert_eq!(plan.steps, []);
    Arc::make_mut(&mut seen.pool).status = plan.status;
    let mut with_another = seen.clone();
    with_another.jobs.push(Arc::new(job("job-next", 6)));
    assert_eq!(decide(&with_another, 100).steps, [], "it gets the machine that is there");
    assert_eq!(retired(&decide(&seen, 65)), ["delete job-0-1, which has no runner yet"]);
}

/// ARC #4258: a failed runner kept its slot until somebody deleted it by hand.
#[test]
fn arc_4258_failed_vm_does_not_hold_capacity() {
    let mut seen = observed(pool(&json!({ "maxReplicas": 1 })));
    jobs(&mut seen, 1);
    Arc::make_mut(&mut seen.jobs[0]).status = Some(RunnerJobStatus {
        claims_made: Some(1),
        last_claim_at: Some(Moment::from(at(0))),
        ..RunnerJobStatus::default()
    });
    member(&mut seen, "job-0-1", Phase::Provisioning, 0);
    assert_eq!(made(&decide(&seen, 5)), Vec::<String>::new());
    change(&mut seen, "job-0-1", |claim| claim.status = Some(dead(6)));
    let plan = decide(&seen, 7);
    assert_eq!(made(&plan), ["job-0-2"], "it is replaced while its VM is being destroyed");
    assert_eq!(plan.status.unwrap().replicas, 0);
}

#[test]
fn failures_that_a_wrong_clock_wrote_down_do_not_hold_a_pool_for_hours() {
    let mut seen = observed(pool(&json!({ "minReplicas": 1, "maxReplicas": 8 })));
    let status = decide(&seen, 0).status.unwrap();
    let mut births = |last: i64| {
        let failures = Some(api::Failures { count: 6, last_at: Moment::from(at(last)) });
        Arc::make_mut(&mut seen.pool).status = Some(RunnerPoolStatus { failures, ..status.clone() });
        made(&decide(&seen, 30)).len()
    };
    assert_eq!((births(20), births(20_000)), (0, 1));
    // Those that come now are counted from now, or nothing would ever slow the pool down.
    member(&mut seen, "linux-x", Phase::Provisioning, 0);
    change(&mut seen, "linux-x", |claim| claim.status = Some(dead(25)));
    let counted = decide(&seen, 30).status.unwrap().failures;
    assert_eq!(counted, Some(api::Failures { count: 1, last_at: Moment::from(at(25)) }));
    change(&mut seen, "linux-x", |claim| claim.status = Some(dead(20_000)));
    assert_eq!(decide(&seen, 30).status.unwrap().failures, None, "one that failed in times to come is not the last");
    // And one that was ready in times to come does not say that all is well.
    change(&mut seen, "linux-x", |claim| claim.status = Some(dead(25)));
    member(&mut seen, "linux-y", Phase::Ready, 20_000);
    let counted = decide(&seen, 30).status.unwrap().failures;
    assert_eq!(counted.map(|failures| failures.count), Some(1));
}

#[test]
fn a_claim_that_was_announced_in_times_to_come_is_not_waited_for() {
    let mut seen = observed(pool(&json!({})));
    jobs(&mut seen, 1);
    seen.began = at(20_000);
    Arc::make_mut(&mut seen.jobs[0]).status = Some(RunnerJobStatus {
        claims_made: Some(1),
        last_claim_at: Some(Moment::from(at(19_990))),
        ..RunnerJobStatus::default()
    });
    assert_eq!(made(&decide(&seen, 10)), ["job-0-2"]);
}

#[test]
fn what_a_wrong_clock_wrote_down_holds_neither_a_surplus_nor_what_is_told() {
    let mut seen = observed(pool(&json!({ "scaleDownDelay": "60s" })));
    member(&mut seen, "linux-x", Phase::Ready, 0);
    let mut status = decide(&seen, 10).status.unwrap();
    status.surplus_since = Some(Moment::from(at(20_000)));
    Arc::make_mut(&mut seen.pool).status = Some(status);
    let plan = decide(&seen, 10);
    assert_eq!(plan.status.clone().unwrap().surplus_since, Some(Moment::from(at(10))));
    Arc::make_mut(&mut seen.pool).status = plan.status;
    seen.told = Some(at(20_000));
    member(&mut seen, "linux-y", Phase::Ready, 0);
    assert_eq!(decide(&seen, 11).status.map(|status| status.ready_replicas), Some(2));
    assert_eq!(retired(&decide(&seen, 70)).len(), 2);
}

#[test]
fn machines_that_end_unready_again_and_again_slow_the_pool_down_and_it_says_so() {
    let mut seen = observed(pool(&json!({ "minReplicas": 1, "maxReplicas": 8 })));
    let mut pauses = Vec::new();
    for round in 0..5 {
        let second = 100 * round;
        seen.claims.clear();
        member(&mut seen, "linux-x", Phase::Provisioning, second);
        change(&mut seen, "linux-x", |claim| claim.status = Some(dead(second)));
        let plan = decide(&seen, second);
        Arc::make_mut(&mut seen.pool).status.clone_from(&plan.status);
        let waits = match &plan.next {
            Next::After(pause, _) if made(&plan).is_empty() => pause.as_secs(),
            Next::After(..) | Next::OnChange => 0,
        };
        pauses.push((waits, reason(&plan).to_owned()));
    }
    let expected = [
        (0, "DemandIncreased"),
        (0, "DemandIncreased"),
        (5, "MachinesFailing"),
        (10, "MachinesFailing"),
        (20, "MachinesFailing"),
    ];
    assert_eq!(pauses, expected.map(|(pause, word)| (pause, word.to_owned())));
    // One that gets ready ends the row.
    seen.claims.clear();
    member(&mut seen, "linux-y", Phase::Ready, 450);
    assert_eq!(decide(&seen, 451).status.unwrap().failures, None);
}

/// Failure class 6.6: the platform never gives the job to anybody.
#[test]
fn ci_6_6_a_job_that_no_machine_gets_is_fed_ever_more_slowly() {
    let mut seen = observed(pool(&json!({})));
    jobs(&mut seen, 1);
    let mut births = Vec::new();
    for second in 0..7_200 {
        let plan = decide(&seen, second);
        for step in plan.steps {
            let Step::Make(made) = step else { panic!("{step}") };
            let [Birth { ahead: Some(ahead), claim }] = made.as_slice() else { panic!("{made:?}") };
            births.push(second);
            Arc::make_mut(&mut seen.jobs[0]).status = Some((*ahead.status).clone());
            // It was ready, waited for nothing, and went.
            seen.claims.clear();
            let name = claim.metadata.name.clone().unwrap();
            member(&mut seen, &name, Phase::Ready, second);
            change(&mut seen, &name, |claim| claim.status.as_mut().unwrap().phase = Some(Phase::Terminating));
        }
    }
    assert_eq!(births, [0, 1, 2, 62, 182, 422, 902, 1_862, 3_662, 5_462]);
}

#[test]
fn p9_a_surplus_goes_only_after_its_delay_and_in_order_and_never_a_busy_one() {
    let mut seen = observed(pool(&json!({ "scaleDownDelay": "60s", "minReplicas": 1 })));
    for (name, phase, second) in [
        ("busy", Phase::Busy, 0),
        ("ready-old", Phase::Ready, 1),
        ("ready-new", Phase::Ready, 2),
        ("boots", Phase::Bootstrapping, 3),
        ("made", Phase::Provisioning, 4),
        ("pending", Phase::Pending, 5),
    ] {
        member(&mut seen, name, phase, second);
    }
    let plan = decide(&seen, 10);
    assert_eq!((plan.steps.len(), plan.status.clone().unwrap().surplus_since), (0, Some(Moment::from(at(10)))));
    Arc::make_mut(&mut seen.pool).status = plan.status;
    let plan = decide(&seen, 69);
    assert_eq!(plan.steps, []);
    assert_eq!(plan.next, Next::After(std::time::Duration::from_secs(1), Why::Deadline { what: "scaleDownDelay" }));
    let gone = retired(&decide(&seen, 70));
    let expected = [
        "delete pending, which has no runner yet",
        "delete made, which has no runner yet",
        "delete boots, which has no runner yet",
        "drain ready-new",
        "drain ready-old",
    ];
    assert_eq!(gone, expected);
    // Somebody needs one again in between: the delay begins anew.
    jobs(&mut seen, 6);
    let plan = decide(&seen, 71);
    assert_eq!((retired(&plan).len(), plan.status.unwrap().surplus_since), (0, None));
}

/// ARC #3516, GARM #814: scale-down took a runner that had just got a job.
#[test]
fn arc_3516_a_runner_that_may_have_got_a_job_is_drained_and_not_deleted() {
    let mut seen = observed(pool(&json!({ "scaleDownDelay": "0s" })));
    member(&mut seen, "proven", Phase::Bootstrapping, 0);
    change(&mut seen, "proven", |claim| claim.status.as_mut().unwrap().bootstrap = Some(record("Bound")));
    Arc::make_mut(&mut seen.pool).status = decide(&seen, 1).status;
    assert_eq!(retired(&decide(&seen, 2)), ["drain proven"]);
    let mut on = job("job-0", 0);
    on.status = Some(RunnerJobStatus {
        state: Some(JobState::Running),
        claim_ref: Some(serde_json::from_value(json!({ "name": "proven" })).unwrap()),
        ..RunnerJobStatus::default()
    });
    seen.jobs = vec![Arc::new(on)];
    assert_eq!(retired(&decide(&seen, 3)), Vec::<String>::new(), "the platform says that it has a job");
}

#[test]
fn more_is_not_made_while_too_many_are_being_destroyed() {
    let mut seen = observed(pool(&json!({ "maxReplicas": 4 })));
    for name in ["a", "b", "c", "d", "e"] {
        member(&mut seen, name, Phase::Ready, 0);
        change(&mut seen, name, |claim| claim.status.as_mut().unwrap().phase = Some(Phase::Terminating));
    }
    jobs(&mut seen, 3);
    let plan = decide(&seen, 1);
    assert_eq!((made(&plan), reason(&plan)), (vec![], "TooManyTerminating"));
    change(&mut seen, "a", |claim| {
        claim.status.as_mut().unwrap().teardown =
            Some(serde_json::from_value(json!({ "vmGoneAt": at(1).to_string() })).unwrap());
    });
    assert_eq!(made(&decide(&seen, 1)), ["job-0-1"]);
}

#[rstest]
#[case::no_source(|seen: &mut Observed| seen.source = None, "SourceNotFound")]
#[case::source_away(|seen: &mut Observed| Arc::make_mut(seen.source.as_mut().unwrap()).status = None, "SourceNotReady")]
#[case::cluster(|seen: &mut Observed| closed(seen, Reason::ClusterNotReady), "ClusterNotReady")]
#[case::template(|seen: &mut Observed| closed(seen, Reason::TemplateNotValid), "TemplateNotReady")]
fn nothing_is_made_of_what_cannot_be_used_and_the_pool_says_what(
    #[case] spoil: impl Fn(&mut Observed),
    #[case] word: &str,
) {
    let mut seen = observed(pool(&json!({ "minReplicas": 1 })));
    spoil(&mut seen);
    let plan = decide(&seen, 1);
    assert_eq!((made(&plan), reason(&plan)), (vec![], word));
}

fn closed(seen: &mut Observed, reason: Reason) {
    seen.gate = Gate::Closed(Obstacle { reason, message: "it cannot be used".to_owned() });
}

#[test]
fn a_new_template_rolls_idle_runners_a_quarter_at_a_time_and_none_that_a_job_needs() {
    let mut seen = observed(pool(&json!({ "minReplicas": 8, "maxReplicas": 8 })));
    for number in 0..8 {
        member(&mut seen, &format!("m{number}"), Phase::Ready, number);
    }
    assert_eq!(decide(&seen, 20).steps, []);
    seen.gate = Gate::Open { generation: 2 };
    assert_eq!(retired(&decide(&seen, 20)).len(), 2);
    jobs(&mut seen, 7);
    assert_eq!(retired(&decide(&seen, 20)).len(), 1, "seven of them may get a job at any moment");
    jobs(&mut seen, 0);
    member(&mut seen, "fresh", Phase::Bootstrapping, 10);
    assert_eq!(retired(&decide(&seen, 20)).len(), 1, "one of the wave is being replaced");
}

#[test]
fn a_runner_with_other_labels_than_the_pool_has_now_is_replaced() {
    let mut seen = observed(pool(&json!({ "minReplicas": 1 })));
    member(&mut seen, "old", Phase::Ready, 0);
    Arc::make_mut(&mut seen.pool).spec.labels.pop();
    assert_eq!(retired(&decide(&seen, 20)), ["drain old"]);
}

#[test]
fn ci_6_9_a_job_that_runs_on_the_runner_of_another_pool_is_counted_there() {
    let mut seen = observed(pool(&json!({})));
    member(&mut seen, "mine", Phase::Busy, 0);
    jobs(&mut seen, 1);
    let mut stolen = job("job-of-another-pool", 0);
    stolen.metadata.labels = None;
    stolen.status = Some(RunnerJobStatus {
        state: Some(JobState::Running),
        pool_ref: Some(serde_json::from_value(json!({ "name": "windows" })).unwrap()),
        claim_ref: Some(serde_json::from_value(json!({ "name": "mine" })).unwrap()),
        ..RunnerJobStatus::default()
    });
    seen.jobs.push(Arc::new(stolen));
    assert_eq!(made(&decide(&seen, 5)), ["job-0-1"]);
}

#[test]
fn a_busy_machine_of_which_nobody_said_more_is_thought_to_have_the_job_that_waits() {
    let mut seen = observed(pool(&json!({})));
    member(&mut seen, "job-0-1", Phase::Busy, 0);
    jobs(&mut seen, 1);
    assert_eq!(made(&decide(&seen, 5)), Vec::<String>::new());
}

#[test]
fn counts_are_told_once_a_second_and_what_matters_at_once() {
    let mut seen = observed(pool(&json!({ "maxReplicas": 3 })));
    Arc::make_mut(&mut seen.pool).status = decide(&seen, 0).status;
    jobs(&mut seen, 1);
    seen.told = Some(at(0));
    let plan = decide(&seen, 0);
    assert_eq!(
        (plan.status.clone(), made(&plan)),
        (None, vec!["job-0-1".to_owned()]),
        "making does not wait for telling"
    );
    assert_eq!(plan.next, Next::After(std::time::Duration::from_secs(1), Why::Recheck));
    assert_eq!(decide(&seen, 1).status.unwrap().pending_jobs, 1);
}

#[test]
fn a_deleted_pool_lets_jobs_finish_and_goes_after_its_last_claim() {
    let mut seen = observed(pool(&json!({ "minReplicas": 3 })));
    Arc::make_mut(&mut seen.pool).metadata.deletion_timestamp = Some(Time(at(9)));
    for (name, phase) in [("busy", Phase::Busy), ("ready", Phase::Ready), ("pending", Phase::Pending)] {
        member(&mut seen, name, phase, 0);
    }
    let plan = decide(&seen, 10);
    assert_eq!(retired(&plan), ["drain ready", "delete pending, which has no runner yet"]);
    assert_eq!((plan.finalizer, reason(&plan)), (Finalizer::Keep, "PoolDeleted"));
    seen.claims.clear();
    assert_eq!(decide(&seen, 11).finalizer, Finalizer::Remove);
}

#[test]
fn retiring_a_busy_runner_or_making_too_many_would_be_noticed() {
    let mut seen = observed(pool(&json!({ "maxReplicas": 1 })));
    member(&mut seen, "busy", Phase::Busy, 0);
    let claim = Arc::clone(&seen.claims[0]);
    let wrong = |steps| Plan { steps, ..Plan::rest() };
    assert_eq!(audit(&seen, &wrong(vec![Step::Delete(Arc::clone(&claim))])).len(), 2);
    let one_more = Birth { ahead: None, claim: Box::new((*claim).clone()) };
    let mut other = one_more.clone();
    other.claim.metadata.name = Some("other".to_owned());
    assert!(!audit(&seen, &wrong(vec![Step::Make(vec![other])])).is_empty());
    assert_eq!(audit(&seen, &Plan { finalizer: Finalizer::Remove, ..wrong(vec![]) }).len(), 1);
}
