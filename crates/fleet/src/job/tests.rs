//! Jobs through their last hour.

use super::*;
use api::RunnerJobSpec;
use jiff::SignedDuration;
use proptest::prelude::*;
use rstest::rstest;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn job(state: Option<JobState>, ended_at: Option<Timestamp>) -> Observed {
    let spec: RunnerJobSpec = serde_json::from_value(serde_json::json!({
        "sourceRef": { "name": "github" }, "key": "github/1/2", "queuedAt": "1970-01-01T00:00:00Z",
    }))
    .unwrap();
    let mut job = RunnerJob::new("job", spec);
    job.status = Some(RunnerJobStatus { state, ended_at: ended_at.map(Moment::from), ..RunnerJobStatus::default() });
    Observed { job: Arc::new(job) }
}

#[rstest]
#[case::unseen(None)]
#[case::queued(Some(JobState::Queued))]
#[case::assigned(Some(JobState::Assigned))]
#[case::running(Some(JobState::Running))]
fn a_job_that_has_not_ended_is_left_alone(#[case] state: Option<JobState>) {
    assert_eq!(plan(&job(state, None), at(1_000_000)), Plan::rest());
}

#[test]
fn an_ended_job_is_kept_for_an_hour_and_says_until_when() {
    let plan = plan(&job(Some(JobState::Completed), Some(at(1_000))), at(1_600));
    let Next::After(wait, why) = plan.next else { panic!("it should wait") };
    assert_eq!(wait.as_secs(), 3_000);
    assert_eq!(why, Why::Retention { until: at(4_600) });
    assert_eq!((plan.steps, plan.status), (vec![], None));
}

#[test]
fn an_ended_job_goes_when_its_hour_is_over() {
    assert_eq!(plan(&job(Some(JobState::Completed), Some(at(1_000))), at(4_600)).steps, [Step::Forget]);
}

#[test]
fn a_job_whose_end_has_no_time_gets_one_before_its_hour_starts() {
    let plan = plan(&job(Some(JobState::Completed), None), at(7));
    assert_eq!(plan.status.unwrap().ended_at, Some(Moment::from(at(7))));
    assert_eq!(plan.steps, []);
}

#[test]
fn forgetting_a_running_job_would_be_noticed() {
    let wrong = Plan { steps: vec![Step::Forget], ..Plan::rest() };
    assert_eq!(audit(&job(Some(JobState::Running), None), &wrong).len(), 1);
}

fn any_state() -> impl Strategy<Value = Option<JobState>> {
    prop::option::of(prop::sample::select(JobState::ALL.to_vec()))
}

proptest! {
    #[test]
    fn p16_following_the_plan_ends_in_rest_and_audit_never_complains(
        state in any_state(), ended in prop::option::of(0_i64..100_000), start in 0_i64..200_000,
    ) {
        let (mut now, mut observed) = (at(start), job(state, ended.map(at)));
        for _ in 0..5 {
            let plan = plan(&observed, now);
            prop_assert_eq!(audit(&observed, &plan), vec![]);
            if plan.steps.contains(&Step::Forget) {
                let gone_after = now.duration_since(observed.job.status.as_ref().unwrap().ended_at.as_ref().unwrap().timestamp());
                prop_assert!(gone_after >= SignedDuration::from_hours(1));
                return Ok(());
            }
            if let Some(status) = plan.status {
                Arc::make_mut(&mut observed.job).status = Some(status);
            }
            match plan.next {
                Next::OnChange => {}
                Next::After(wait, _) => now += SignedDuration::try_from(wait).unwrap(),
            }
        }
        prop_assert_ne!(state, Some(JobState::Completed), "an ended job goes in the end");
    }
}
