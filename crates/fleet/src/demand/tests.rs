//! Jobs as platforms tell of them: late, twice, in any order, or not at all.

use api::condition::find;
use api::{ConditionType, Time};
use jiff::SignedDuration;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

const KEY: &str = "github.com/org/repo/1234/1";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn sight(state: State) -> Sight {
    Sight {
        key: KEY.to_owned(),
        state,
        labels: vec![RunnerTag::new("linux")],
        queued_at: Some(at(0)),
        started_at: None,
        ended_at: None,
        runner: None,
        repository: Some("org/repo".to_owned()),
        display_name: Some("build".to_owned()),
        url: None,
        public_repository: Some(false),
        fork: None,
    }
}

fn seen(state: State, known: &[Arc<RunnerJob>]) -> Observed {
    let named = matches!(state, State::Assigned | State::Running | State::Done(JobResult::Succeeded));
    Observed {
        namespace: "ci".to_owned(),
        source: ObjectName::new("github"),
        sight: sight(state),
        certain: false,
        known: known.to_vec(),
        claim: named.then(|| ObjectName::new("job-1-1")),
        pool: Some(ObjectName::new("linux")),
        queue: None,
        ours: true,
    }
}

fn certain(state: State, known: &[Arc<RunnerJob>]) -> Observed {
    Observed { certain: true, ..seen(state, known) }
}

/// The objects after a step, as the API server would have them.
fn applied(mut known: Vec<Arc<RunnerJob>>, step: Option<Step>, now: Timestamp) -> Vec<Arc<RunnerJob>> {
    match step {
        None | Some(Step::AskPlatform { .. }) => {}
        Some(Step::Create { mut job, status }) => {
            job.metadata.creation_timestamp = Some(Time(now));
            if !known.iter().any(|old| old.metadata.name == job.metadata.name) {
                job.status = status;
                accepted(&job, None);
                known.push(Arc::from(job));
            }
        }
        Some(Step::Patch { job, status }) => {
            let old = Arc::clone(&job);
            let mut job = (*job).clone();
            job.status = Some(status);
            accepted(&job, Some(&old));
            known.retain(|old| old.metadata.name != job.metadata.name);
            known.push(Arc::new(job));
        }
    }
    known
}

/// Whatever is written, the API server takes it.
fn accepted(job: &RunnerJob, old: Option<&RunnerJob>) {
    let value = |job: &RunnerJob| serde_json::to_value(job).unwrap();
    api::admit(&value(job), old.map(value).as_ref()).unwrap_or_else(|refusal| panic!("{refusal}"));
}

fn waiting() -> Vec<Arc<RunnerJob>> {
    applied(Vec::new(), plan(&seen(State::Queued, &[]), at(1)), at(1))
}

fn after(states: &[State]) -> Vec<Arc<RunnerJob>> {
    states.iter().fold(Vec::new(), |known, state| {
        let step = plan(&seen(*state, &known), at(1));
        applied(known, step, at(1))
    })
}

const DONE: State = State::Done(JobResult::Succeeded);

#[test]
fn a_job_that_waits_costs_one_write_and_says_where_it_belongs() {
    let Some(Step::Create { job, status: None }) = plan(&seen(State::Queued, &[]), at(1)) else { panic!("no object") };
    assert_eq!(job.metadata.name, Some(name(KEY, 0)));
    let labels = job.metadata.labels.unwrap();
    assert_eq!(labels.get("hyperfleet.io/runner-pool").map(String::as_str), Some("linux"));
    assert_eq!(labels.get("hyperfleet.io/runner-source").map(String::as_str), Some("github"));
    assert_eq!(job.spec.queued_at, Moment::from(at(0)));
}

#[rstest]
#[case::blocked(State::Blocked)]
#[case::over(DONE)]
fn what_no_runner_can_take_is_no_demand(#[case] state: State) {
    assert_eq!(plan(&seen(state, &[]), at(1)), None);
}

#[test]
fn a_job_that_the_platform_runs_on_its_own_machines_is_no_demand() {
    for state in [State::Queued, State::Assigned, State::Running, DONE] {
        assert_eq!(plan(&Observed { ours: false, ..seen(state, &[]) }, at(1)), None);
    }
    // What is known is kept, also when its pool has gone since.
    let known = waiting();
    assert!(plan(&Observed { ours: false, ..seen(DONE, &known) }, at(1)).is_some());
}

#[test]
fn a_job_of_a_queue_says_whose_queue_it_is_although_nobody_serves_it_yet() {
    let queue = Some(ObjectName::new("linux"));
    let unsure = Observed { pool: None, queue, ..seen(State::Queued, &[]) };
    let known = applied(Vec::new(), plan(&unsure, at(1)), at(1));
    assert_eq!((job::queue_of(&known[0]), job::pool_of(&known[0])), (Some("linux"), None));
}

#[rstest]
#[case::unknown_before(None, Some(true), Some(true))]
#[case::unknown_and_harmless(None, Some(false), Some(false))]
#[case::nothing_new(Some(false), None, Some(false))]
#[case::worse_than_thought(Some(false), Some(true), Some(true))]
#[case::a_yes_stays(Some(true), Some(false), Some(true))]
fn whose_code_it_is_is_kept_as_soon_as_anybody_says_it(
    #[case] first: Option<bool>,
    #[case] then: Option<bool>,
    #[case] known: Option<bool>,
) {
    let with = |fork, before: &[Arc<RunnerJob>]| {
        let mut observed = seen(State::Queued, before);
        (observed.sight.fork, observed.sight.public_repository) = (fork, fork);
        observed
    };
    let before = applied(Vec::new(), plan(&with(first, &[]), at(1)), at(1));
    let after = applied(before.clone(), plan(&with(then, &before), at(2)), at(2));
    assert_eq!(job::facts(&after[0]), (known, known));
    assert_eq!(plan(&with(then, &after), at(3)), None, "and said once");
}

#[test]
fn a_job_first_seen_running_says_so_at_once() {
    let Some(Step::Create { status: Some(status), .. }) = plan(&seen(State::Running, &[]), at(1)) else { panic!() };
    assert_eq!(status.state, Some(JobState::Running));
    assert_eq!(status.claim_ref.unwrap().name.as_str(), "job-1-1");
    assert_eq!(find(&status.conditions, ConditionType::Assigned).unwrap().reason, "RunnerAssigned");
}

#[test]
fn a_job_cancelled_before_a_runner_took_it_says_so() {
    let known = waiting();
    let step = plan(&seen(State::Done(JobResult::Cancelled), &known), at(9));
    let status = applied(known, step, at(9)).pop().unwrap().status.clone().unwrap();
    assert_eq!((status.state, status.result), (Some(JobState::Completed), Some(JobResult::Cancelled)));
    assert_eq!(status.ended_at, Some(Moment::from(at(9))));
    assert_eq!(find(&status.conditions, ConditionType::Assigned).unwrap().reason, "Cancelled");
}

#[test]
fn a_job_cancelled_on_a_runner_of_somebody_else_was_taken_all_the_same() {
    let elsewhere = |state, known: &[Arc<RunnerJob>]| Observed { claim: None, ..seen(state, known) };
    let known = applied(waiting(), plan(&elsewhere(State::Assigned, &waiting()), at(2)), at(2));
    let known = applied(known.clone(), plan(&elsewhere(State::Done(JobResult::Cancelled), &known), at(3)), at(3));
    let status = known[0].status.clone().unwrap();
    assert_eq!(find(&status.conditions, ConditionType::Assigned).unwrap().reason, "RunnerAssigned");
}

/// Failure class 6.3: the events of a job come in any order.
#[rstest]
#[case::in_order(&[State::Blocked, State::Queued, State::Running, DONE])]
#[case::twice(&[State::Queued, State::Queued, State::Running, State::Running, DONE, DONE])]
#[case::late_start(&[State::Queued, DONE, State::Running])]
#[case::late_queue(&[State::Running, State::Queued, DONE])]
#[case::swapped(&[State::Queued, State::Blocked, State::Running, DONE])]
fn ci_6_3_events_out_of_order_end_in_the_same_state(#[case] states: &[State]) {
    let known = after(states);
    let [job] = known.as_slice() else { panic!("{known:?}") };
    assert_eq!(job.status.as_ref().unwrap().state, Some(JobState::Completed));
}

#[test]
fn a_job_that_waits_again_after_its_end_is_asked_about_once_and_becomes_another() {
    let known = after(&[State::Queued, State::Running, DONE]);
    assert_eq!(plan(&seen(State::Queued, &known), at(50)), Some(Step::AskPlatform { key: KEY.to_owned() }));
    // It was an old delivery.
    assert_eq!(plan(&certain(DONE, &known), at(50)), None);
    // It was a rerun.
    let again = applied(known.clone(), plan(&certain(State::Queued, &known), at(50)), at(50));
    let names: Vec<_> = again.iter().map(|job| job.metadata.name.clone().unwrap()).collect();
    assert_eq!(names, [name(KEY, 0), name(KEY, 1)]);
    assert_eq!(plan(&seen(State::Queued, &again), at(51)), None, "the newest is the one that is spoken of");
    // The first one is forgotten after its hour; the second is still the second.
    let later = after(&[]).into_iter().chain(again.into_iter().skip(1)).collect::<Vec<_>>();
    let ended = applied(later.clone(), plan(&seen(DONE, &later), at(60)), at(60));
    let third = applied(ended.clone(), plan(&certain(State::Queued, &ended), at(70)), at(70));
    assert_eq!(third.last().unwrap().metadata.name, Some(name(KEY, 2)));
}

#[test]
fn ci_6_9_a_job_is_bound_to_the_runner_that_the_platform_names_and_to_no_other() {
    let known = waiting();
    let mut observed = seen(State::Running, &known);
    observed.claim = Some(ObjectName::new("job-of-somebody-else-1"));
    let known = applied(known, plan(&observed, at(5)), at(5));
    let bound = |known: &[Arc<RunnerJob>]| known[0].status.clone().unwrap().claim_ref.unwrap().name;
    assert_eq!(bound(&known).as_str(), "job-of-somebody-else-1");
    let known = applied(known.clone(), plan(&seen(DONE, &known), at(6)), at(6));
    assert_eq!(bound(&known).as_str(), "job-of-somebody-else-1");
}

/// News of a job can be faster than the watch that shows whose runner it names.
#[test]
fn a_job_keeps_the_name_of_its_runner_although_nobody_knows_whose_it_is() {
    let mut observed = Observed { claim: None, ..seen(State::Running, &waiting()) };
    observed.sight.runner = Some("hf-linux-1".to_owned());
    let known = applied(waiting(), plan(&observed, at(5)), at(5));
    let status = known[0].status.clone().unwrap();
    assert_eq!((status.runner.as_deref(), status.claim_ref), (Some("hf-linux-1"), None));
    let said = find(&status.conditions, ConditionType::Assigned).unwrap();
    assert_eq!(said.message, "runner hf-linux-1 has taken the job");
}

/// Gitea starts a job once more under its old key: if its end was not heard, it is another runner's all the same, and what
/// is told late of the first one does not bring that back.
#[test]
fn a_job_that_another_runner_began_later_is_that_ones() {
    let by = |runner: &str, second, known: &[Arc<RunnerJob>]| {
        let mut observed = seen(State::Running, known);
        observed.claim = Some(ObjectName::new(format!("claim-of-{runner}")));
        observed.sight.runner = Some(runner.to_owned());
        observed.sight.started_at = Some(at(second));
        observed
    };
    let known = applied(waiting(), plan(&by("one", 5, &waiting()), at(5)), at(5));
    let known = applied(known.clone(), plan(&by("two", 50, &known), at(51)), at(51));
    let status = known[0].status.clone().unwrap();
    assert_eq!((status.runner.as_deref(), status.claim_ref.unwrap().name.as_str()), (Some("two"), "claim-of-two"));
    assert_eq!(status.started_at, Some(Moment::from(at(50))));
    assert_eq!(plan(&by("one", 5, &known), at(52)), None);
}

#[test]
fn a_job_is_never_over_because_a_listing_has_it_no_more() {
    let jobs = waiting();
    let listing = |complete, keys: &[&str], as_of| Snapshot {
        source: ObjectName::new("github"),
        as_of,
        complete,
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
    };
    assert_eq!(missing(&listing(true, &[], at(9)), &jobs), [Step::AskPlatform { key: KEY.to_owned() }]);
    assert_eq!(missing(&listing(false, &[], at(9)), &jobs), [], "part of a listing says nothing");
    assert_eq!(missing(&listing(true, &[KEY], at(9)), &jobs), []);
    assert_eq!(missing(&listing(true, &[], at(0)), &jobs), [], "it came after the listing");
    let over = after(&[State::Queued, DONE]);
    assert_eq!(missing(&listing(true, &[], at(9)), &over), [], "it has ended already");
}

#[test]
fn whatever_a_platform_calls_things_the_api_server_takes_them() {
    let mut observed = seen(State::Queued, &[]);
    observed.sight.labels =
        vec![RunnerTag::new("my label, really"), RunnerTag::new(""), RunnerTag::new("ü".repeat(300))];
    observed.sight.display_name = Some("é".repeat(1_000));
    observed.sight.url = Some(format!("https://x/{}", "a".repeat(3_000)));
    let known = applied(Vec::new(), plan(&observed, at(1)), at(1));
    assert_eq!(known[0].spec.labels[0].as_str(), "my?label??really");
    assert_eq!(known[0].spec.url, None);
}

fn any_state() -> impl Strategy<Value = State> {
    prop::sample::select(vec![
        State::Blocked,
        State::Queued,
        State::Assigned,
        State::Running,
        State::Done(JobResult::Succeeded),
        State::Done(JobResult::Failed),
        State::Done(JobResult::Cancelled),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Duplicates and disorder change nothing: what counts is the furthest that was said.
    #[test]
    fn p13_a_job_is_as_far_as_the_furthest_event_about_it(states in prop::collection::vec(any_state(), 1..12)) {
        let known = after(&states);
        // What had ended before anybody saw it never was; what comes after that is heard late.
        let first = states.iter().position(|state| matches!(state, State::Queued | State::Assigned | State::Running));
        let heard = first.map_or(&[][..], |first| &states[first..]);
        prop_assert_eq!(known.len(), usize::from(first.is_some()));
        if let Some(job) = known.first() {
            let furthest = heard.iter().map(|state| match state {
                State::Blocked | State::Queued => JobState::Queued,
                State::Assigned => JobState::Assigned,
                State::Running => JobState::Running,
                State::Done(_) => JobState::Completed,
            }).max().unwrap();
            prop_assert_eq!(state_of(job), furthest);
        }
        // Everything once more, in the same order: only a late `queued` asks the platform, nothing is written.
        for state in heard {
            let step = plan(&seen(*state, &known), at(1) + SignedDuration::from_secs(100));
            prop_assert!(matches!(step, None | Some(Step::AskPlatform { .. })), "{:?}", step);
        }
    }
}
