//! Jobs that run, are lost, and end.

use api::LossClass;

use super::*;

fn state(state: JobState, result: Option<JobResult>, ended: Option<i64>) -> Observed {
    waits(RunnerJobStatus {
        state: Some(state),
        result,
        ended_at: ended.map(|second| Moment::from(at(second))),
        claim_ref: Some(serde_json::from_value(json!({ "name": "job-1-1" })).unwrap()),
        ..RunnerJobStatus::default()
    })
}

#[test]
fn a_job_that_a_runner_has_says_so_once() {
    let observed = after(state(JobState::Running, None, None), 5);
    assert_eq!(
        said(&observed, 6),
        ("RunnerAssigned".to_owned(), "the runner of machine job-1-1 has taken the job".to_owned())
    );
    assert_eq!(decide(&observed, 6), Plan::rest());
}

/// Whoever heard of the job knew the runner's name and not yet whose it is; the claim may come into sight after the end.
#[rstest]
#[case::running(JobState::Running, None)]
#[case::ended(JobState::Completed, Some(JobResult::Succeeded))]
fn a_job_finds_the_machine_whose_runner_has_it(#[case] far: JobState, #[case] result: Option<JobResult>) {
    let mut observed = state(far, result, result.map(|_| 5));
    let status = Arc::make_mut(&mut observed.job).status.as_mut().unwrap();
    (status.claim_ref, status.runner) = (None, Some("hf-linux-1".to_owned()));
    let runner = |name: &str| claim(json!({ "phase": "Busy", "runner": { "name": name } }));
    observed.claims = vec![runner("hf-linux-2")];
    assert_eq!(after(observed.clone(), 6).job.status.as_ref().unwrap().claim_ref, None, "that is another one's");
    observed.claims.push(runner("hf-linux-1"));
    let observed = after(observed, 6);
    assert_eq!(observed.job.status.as_ref().unwrap().claim_ref.as_ref().unwrap().name.as_str(), "job-1-1");
    assert_eq!(said(&observed, 7).1, "the runner of machine job-1-1 has taken the job");
}

#[test]
fn an_ended_job_is_kept_for_an_hour_and_says_until_when() {
    let observed = after(state(JobState::Completed, Some(JobResult::Succeeded), Some(1_000)), 1_600);
    let plan = decide(&observed, 1_600);
    assert_eq!(plan.next, Next::After(std::time::Duration::from_mins(50), Why::Retention { until: at(4_600) }));
    assert_eq!((plan.steps, plan.status), (vec![], None));
    assert_eq!(decide(&observed, 4_600).steps, [Step::Forget]);
}

#[test]
fn a_job_whose_end_has_no_time_gets_one_before_its_hour_starts() {
    let plan = decide(&state(JobState::Completed, None, None), 7);
    assert_eq!(plan.status.unwrap().ended_at, Some(Moment::from(at(7))));
    assert_eq!(plan.steps, []);
}

/// A claim that was busy and ended for this reason.
fn lost(reason: &str) -> Arc<MachineClaim> {
    claim(json!({
        "phase": "Terminating", "allocation": allocation(), "busyTime": at(1).to_string(),
        "conditions": [{ "type": "Ready", "status": "False", "reason": reason, "message": "the VM stopped before its work had ended",
                         "lastTransitionTime": at(9).to_string() }],
    }))
}

#[rstest]
#[case::vm("VMShutdownDetected", false, Some(LossClass::VmGone))]
#[case::host("VMShutdownDetected", true, Some(LossClass::HostDied))]
#[case::memory("OutOfMemory", false, Some(LossClass::OutOfMemory))]
#[case::disk("DiskFull", false, Some(LossClass::DiskFull))]
#[case::agent("AgentLost", false, Some(LossClass::AgentLost))]
#[case::its_own_end("Finished", false, None)]
#[case::too_long("JobTimeout", false, None)]
#[case::by_hand("ClaimDeleted", false, None)]
fn a_loss_is_told_from_an_end(#[case] reason: &str, #[case] node_gone: bool, #[case] class: Option<LossClass>) {
    let mut observed = state(JobState::Running, None, None);
    observed.claims = vec![lost(reason)];
    observed.node_gone = node_gone;
    let status = decide(&observed, 10).status.unwrap();
    assert_eq!(status.infrastructure_loss.as_ref().map(|loss| loss.class), class);
    if let Some(loss) = status.infrastructure_loss {
        assert!(loss.evidence.starts_with("the VM stopped before its work had ended"), "{}", loss.evidence);
        assert_eq!(find(&status.conditions, ConditionType::Assigned).unwrap().reason, loss.class.as_str());
    }
}

/// A platform can be faster than an agent: that the job runs was heard, that the machine works was not when it died.
#[test]
fn a_job_is_lost_with_a_machine_whose_agent_had_no_time_to_say_that_it_has_begun() {
    let mut observed = state(JobState::Running, None, None);
    let mut claim = lost("VMShutdownDetected");
    Arc::make_mut(&mut claim).status.as_mut().unwrap().busy_time = None;
    observed.claims = vec![claim];
    assert!(would_note(&observed.job));
    let observed = after(observed, 10);
    let loss = observed.job.status.as_ref().unwrap().infrastructure_loss.as_ref().map(|loss| loss.class);
    assert_eq!((loss, would_note(&observed.job)), (Some(LossClass::VmGone), false));
}

#[rstest]
#[case::waits(state(JobState::Queued, None, None), false)]
#[case::assigned(state(JobState::Assigned, None, None), true)]
#[case::failed(state(JobState::Completed, Some(JobResult::Failed), Some(5)), true)]
#[case::passed(state(JobState::Completed, Some(JobResult::Succeeded), Some(5)), false)]
#[case::cancelled(state(JobState::Completed, Some(JobResult::Cancelled), Some(5)), false)]
fn a_claim_is_told_which_jobs_wait_for_its_evidence(#[case] observed: Observed, #[case] waits: bool) {
    assert_eq!(would_note(&observed.job), waits);
    let mut lost_with = observed;
    lost_with.claims = vec![lost("VMShutdownDetected")];
    let status = after(lost_with, 10).job.status.clone().unwrap();
    assert_eq!(status.infrastructure_loss.is_some(), waits, "who is waited for writes it down");
}

/// What agents report is written down as an outcome; that there was a report is all that the condition says.
#[rstest]
#[case::killed("RunnerFailed", Some(LossClass::RunnerDied))]
#[case::memory("OutOfMemory", Some(LossClass::OutOfMemory))]
#[case::disk("DiskFull", Some(LossClass::DiskFull))]
#[case::cut_off("LeaseLost", Some(LossClass::AgentLost))]
#[case::its_own_end("JobDone", None)]
#[case::too_long("DeadlinePassed", None)]
#[case::told_to("Ended", None)]
fn a_loss_that_the_agent_reported_is_one(#[case] outcome: &str, #[case] class: Option<LossClass>) {
    let mut observed = state(JobState::Running, None, None);
    let mut claim = lost("Finished");
    let outcome = serde_json::from_value(json!({ "endedAt": at(9).to_string(), "class": outcome })).unwrap();
    Arc::make_mut(&mut claim).status.as_mut().unwrap().outcome = Some(outcome);
    observed.claims = vec![claim];
    let status = decide(&observed, 10).status.unwrap();
    assert_eq!(status.infrastructure_loss.map(|loss| loss.class), class);
}

#[test]
fn a_lost_job_is_started_again_once_where_its_pool_wants_that_and_the_platform_can() {
    let mut observed = state(JobState::Running, None, None);
    observed.claims = vec![lost("VMShutdownDetected")];
    observed.can_rerun = true;
    let mut observed = after(observed, 10);
    // Its claim goes; the platform notices the loss, and calls it a failure.
    observed.claims.clear();
    let status = Arc::make_mut(&mut observed.job).status.as_mut().unwrap();
    (status.state, status.result, status.ended_at) =
        (Some(JobState::Completed), Some(JobResult::Failed), Some(Moment::from(at(600))));
    assert_eq!(decide(&observed, 601).steps, [], "its pool does not want that");
    change_pool(&mut observed, |pool| pool.spec.rerun_lost_jobs = true);
    assert_eq!(decide(&observed, 601).steps, [again(600)]);
    let observed = after(observed, 601);
    assert_eq!(decide(&observed, 602).steps, []);
}

fn again(ended: i64) -> Step {
    Step::Rerun { key: "gh/1/2".to_owned(), ended: at(ended) }
}

/// By its end another try is known: one that nobody has written down could be another one the next time.
#[test]
fn a_lost_job_is_started_again_only_after_its_end_is_written_down() {
    let mut observed = state(JobState::Completed, Some(JobResult::Failed), None);
    observed.claims = vec![lost("VMShutdownDetected")];
    observed.can_rerun = true;
    change_pool(&mut observed, |pool| pool.spec.rerun_lost_jobs = true);
    assert_eq!(decide(&observed, 600).steps, []);
    let observed = after(observed, 600);
    assert_eq!(decide(&observed, 640).steps, [again(600)]);
}

#[test]
fn a_lost_job_that_its_platform_does_not_start_is_kept_for_days_and_goes_in_the_end() {
    let mut observed = state(JobState::Completed, Some(JobResult::Failed), Some(600));
    observed.claims = vec![lost("VMShutdownDetected")];
    observed.can_rerun = true;
    change_pool(&mut observed, |pool| pool.spec.rerun_lost_jobs = true);
    // That it was asked for is written down only once the platform has done it.
    let observed = after(observed, 601);
    let days = 5 * 86_400;
    assert_eq!(decide(&observed, 600 + days - 1).steps, [again(600)]);
    assert_eq!(decide(&observed, 600 + days).steps, [Step::Forget]);
}

#[test]
fn a_job_that_passed_was_not_lost_whatever_became_of_its_machine() {
    let mut observed = state(JobState::Running, None, None);
    observed.claims = vec![lost("VMShutdownDetected")];
    let mut observed = after(observed, 10);
    let status = Arc::make_mut(&mut observed.job).status.as_mut().unwrap();
    (status.state, status.result) = (Some(JobState::Completed), Some(JobResult::Succeeded));
    let status = decide(&observed, 20).status.unwrap();
    assert_eq!(status.infrastructure_loss, None);
    assert_eq!(find(&status.conditions, ConditionType::Assigned).unwrap().reason, "RunnerAssigned");
}

#[test]
fn forgetting_a_running_job_would_be_noticed() {
    let wrong = |step| Plan { steps: vec![step], ..Plan::rest() };
    let running = state(JobState::Running, None, None);
    assert_eq!(audit(&running, &wrong(Step::Forget)).len(), 1);
    assert_eq!(audit(&running, &wrong(again(0))).len(), 1);
    let ended = state(JobState::Completed, Some(JobResult::Failed), Some(0));
    assert_eq!(audit(&ended, &wrong(again(0))).len(), 1, "it was not lost");
}

fn any_state() -> impl Strategy<Value = Option<JobState>> {
    prop::option::of(prop::sample::select(JobState::ALL.to_vec()))
}

proptest! {
    #[test]
    fn p16_following_the_plan_ends_in_rest_and_audit_never_complains(
        job_state in any_state(), ended in prop::option::of(0_i64..100_000), start in 0_i64..200_000, lose in any::<bool>(),
    ) {
        let mut observed = state(job_state.unwrap_or(JobState::Queued), None, ended);
        Arc::make_mut(&mut observed.job).status.as_mut().unwrap().state = job_state;
        observed.claims = lose.then(|| lost("VMShutdownDetected")).into_iter().collect();
        let mut second = start;
        for _ in 0..8 {
            let plan = decide(&observed, second);
            if plan.steps.contains(&Step::Forget) {
                let end = observed.job.status.as_ref().unwrap().ended_at.as_ref().unwrap().timestamp();
                prop_assert!(at(second).duration_since(end) >= SignedDuration::from_hours(1));
                return Ok(());
            }
            if let Some(status) = plan.status {
                Arc::make_mut(&mut observed.job).status = Some(status);
                prop_assert_eq!(decide(&observed, second).status, None, "what is said is said once");
            }
            match plan.next {
                Next::OnChange => {}
                Next::After(wait, _) => second += i64::try_from(wait.as_secs()).unwrap(),
            }
        }
        prop_assert_ne!(job_state, Some(JobState::Completed), "an ended job goes in the end");
    }
}
