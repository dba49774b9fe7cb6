//! Jobs as we ask for them.

use jiff::SignedDuration;
use rstest::rstest;

use super::*;
use crate::platform::JobResult;

/// A job as lists have it.
fn listed(id: u64, repository: &str, status: &str) -> Value {
    let mut job = recorded("queued.repo")["workflow_job"].clone();
    job["id"] = json!(id);
    job["status"] = json!(status);
    job["url"] = json!(format!("https://git.example.com/api/v1/repos/{repository}/actions/jobs/{id}"));
    job
}

fn minute(number: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + 60 * number).expect("a time")
}

/// A job that began then.
fn begun(status: &str, minutes: i64) -> Value {
    let mut job = listed(7, "fleet/demo", status);
    job["started_at"] = json!(minute(minutes).to_string());
    job
}

fn page(total: usize, jobs: &[Value]) -> (u16, Value) {
    (200, json!({ "jobs": jobs, "total_count": total }))
}

fn repository(private: bool) -> (u16, Value) {
    (200, json!({ "full_name": "somebody/something", "private": private, "internal": false }))
}

#[tokio::test]
async fn one_question_covers_all_that_wait_and_run_and_repositories_are_asked_about_once() {
    let jobs = [
        listed(1, "fleet/demo", "queued"),
        listed(2, "fleet/demo", "waiting"),
        listed(3, "fleet/other", "in_progress"),
    ];
    let answers = [page(3, &jobs), repository(true), repository(false), page(3, &jobs)];
    let server = Scripted::new(answers);
    let gitea = server.gitea(organization());
    let snapshot = gitea.poll(now()).await.unwrap();
    let seen: Vec<_> = snapshot.jobs.iter().map(|job| (job.state, job.public)).collect();
    let (hidden, public) = (Some(false), Some(true));
    assert_eq!(seen, [(JobState::Queued, hidden), (JobState::Blocked, hidden), (JobState::Running, public)]);
    assert!(snapshot.complete);
    assert_eq!(gitea.poll(now()).await.unwrap(), snapshot, "within a minute nothing else is asked");
    let paths: Vec<_> = server.made().into_iter().map(|(_, path, _)| path).collect();
    let list = "/api/v1/orgs/fleet/actions/jobs?status=queued&status=waiting&status=in_progress&page=1&limit=50";
    assert_eq!(paths, [list, "/api/v1/repos/fleet/demo", "/api/v1/repos/fleet/other", list]);
}

#[tokio::test]
async fn a_repository_that_becomes_public_is_noticed_after_a_minute() {
    let jobs = [listed(1, "fleet/demo", "queued")];
    let server = Scripted::new([page(1, &jobs), repository(true), page(1, &jobs), repository(false)]);
    let gitea = server.gitea(organization());
    assert_eq!(gitea.poll(now()).await.unwrap().jobs[0].public, Some(false));
    let later = now() + SignedDuration::from_secs(61);
    assert_eq!(gitea.poll(later).await.unwrap().jobs[0].public, Some(true));
}

#[tokio::test]
async fn pages_are_turned_to_the_end() {
    let jobs: Vec<_> = (1..=120).map(|id| listed(id, "fleet/demo", "queued")).collect();
    let pages = [page(120, &jobs[..50]), page(120, &jobs[50..100]), page(120, &jobs[100..]), repository(true)];
    let snapshot = Scripted::new(pages).gitea(organization()).poll(now()).await.unwrap();
    assert_eq!((snapshot.jobs.len(), snapshot.complete), (120, true));
}

type Page = (usize, std::ops::RangeInclusive<u64>);

/// A page without jobs.
const NONE: std::ops::RangeInclusive<u64> = std::ops::RangeInclusive::new(1, 0);

fn changing(pages: &[Page]) -> Vec<(u16, Value)> {
    let jobs = |(total, ids): &Page| {
        page(*total, &ids.clone().map(|id| listed(id, "fleet/demo", "queued")).collect::<Vec<_>>())
    };
    pages.iter().map(jobs).chain([repository(true)]).collect()
}

#[rstest]
#[case::a_job_ended(&[(60, 1..=50), (59, 52..=60), (59, NONE), (59, 2..=51), (59, 52..=60)], 59)]
#[case::a_job_came(&[(60, 1..=50), (61, 51..=61), (61, 1..=50), (61, 51..=61)], 61)]
#[case::one_was_hidden(&[(60, 1..=50), (60, 52..=60), (60, NONE), (60, 2..=51)], 60)]
#[tokio::test]
async fn pages_are_turned_again_if_the_list_changes_meanwhile(#[case] pages: &[Page], #[case] jobs: usize) {
    let server = Scripted::new(changing(pages));
    let snapshot = server.gitea(organization()).poll(now()).await.unwrap();
    assert_eq!((snapshot.jobs.len(), snapshot.complete), (jobs, true));
    assert_eq!(server.made().len(), pages.len() + 1);
}

#[tokio::test]
async fn a_list_that_never_holds_still_proves_no_absence() {
    let pass: [Page; 3] = [(60, 1..=50), (59, 52..=60), (59, NONE)];
    let server = Scripted::new(changing(&[pass.clone(), pass.clone(), pass].concat()));
    assert!(!server.gitea(organization()).poll(now()).await.unwrap().complete);
}

#[tokio::test]
async fn a_job_that_cannot_be_read_may_be_any_job() {
    let answers =
        [page(2, &[listed(1, "fleet/demo", "queued"), listed(2, "fleet/demo", "dreaming")]), repository(true)];
    let snapshot = Scripted::new(answers).gitea(organization()).poll(now()).await.unwrap();
    assert_eq!((snapshot.jobs.len(), snapshot.complete), (1, false));
}

#[tokio::test]
async fn an_empty_list_is_complete() {
    let none = (200, json!({ "jobs": null, "total_count": 0 }));
    let snapshot = Scripted::new([none]).gitea(organization()).poll(now()).await.unwrap();
    assert_eq!(snapshot, Snapshot { jobs: vec![], complete: true });
}

fn key(id: u64) -> JobKey {
    JobKey::new(format!("git.example.com/fleet/demo/jobs/{id}"))
}

#[tokio::test]
async fn a_job_is_asked_for_by_its_key() {
    let mut done = listed(7, "fleet/demo", "completed");
    done["conclusion"] = json!("failure");
    let server = Scripted::new([(200, done), repository(true)]);
    let job = server.gitea(organization()).job(&key(7)).await.unwrap().unwrap();
    assert_eq!((job.key, job.state), (key(7), JobState::Done(JobResult::Failed)));
    assert_eq!(server.made()[0].1, "/api/v1/repos/fleet/demo/actions/jobs/7");
}

#[tokio::test]
async fn there_is_no_job_only_while_the_scope_answers() {
    let missing = || (404, json!({ "message": "not found" }));
    let server = Scripted::new([missing(), no_runners()]);
    assert_eq!(server.gitea(organization()).job(&key(7)).await, Ok(None));
    let hidden = Scripted::new([missing(), missing()]).gitea(organization()).job(&key(7)).await;
    assert!(matches!(hidden, Err(Error::NotFound { .. })), "{hidden:?}");
    let moved = Scripted::new([(307, Value::Null), no_runners()]);
    assert_eq!(moved.gitea(organization()).job(&key(7)).await, Ok(None), "it has another key now");
}

#[tokio::test]
async fn a_key_of_another_site_is_refused_without_a_call() {
    let gitea = Scripted::default().gitea(organization());
    for text in
        ["git.example.org/fleet/demo/jobs/7", "git.example.com/fleet/demo/jobs/x", "git.example.com/a/../jobs/1"]
    {
        let job = gitea.job(&JobKey::new(text)).await;
        assert!(matches!(job, Err(Error::Invalid { .. })), "{text}: {job:?}");
    }
}

#[rstest]
#[case::done("completed", 201, Value::Null, Ok(()))]
#[case::others_of_its_run_go_on("completed", 400, json!({ "message": "this workflow run is not done" }),
    Err(Error::Transient { detail: "this workflow run is not done".to_owned() }))]
#[case::before_1_26("completed", 404, Value::Null,
    Err(Error::Unsupported { what: "run a job again before version 1.26" }))]
#[tokio::test]
async fn a_job_is_run_again(
    #[case] status: &str,
    #[case] answer: u16,
    #[case] says: Value,
    #[case] wanted: Result<(), Error>,
) {
    let server = Scripted::new([(200, begun(status, 5)), (answer, says)]);
    assert_eq!(server.gitea(organization()).rerun(&key(7), minute(30)).await, wanted);
    assert_eq!(server.made()[1].1, "/api/v1/repos/fleet/demo/actions/runs/1/jobs/7/rerun");
}

/// Gitea tells whole seconds: a job that began and ended in the same one was taken for another try, and never run again.
#[tokio::test]
async fn a_job_that_took_less_than_a_second_is_run_again() {
    let mut short = begun("completed", 30);
    short["completed_at"] = json!(minute(30).to_string());
    let server = Scripted::new([(200, short), (201, json!({}))]);
    assert_eq!(server.gitea(organization()).rerun(&key(7), minute(30)).await, Ok(()));
    assert_eq!(server.made().len(), 2);
}

/// Once was promised: what fills its machine's memory would do so in every try.
#[tokio::test]
async fn a_job_that_was_another_try_is_not_run_again() {
    let mut second = begun("completed", 5);
    second["run_attempt"] = json!(2);
    let server = Scripted::new([(200, second)]);
    assert_eq!(server.gitea(organization()).rerun(&key(7), minute(30)).await, Ok(()));
    assert_eq!(server.made().len(), 1);
}

/// A job that was run again keeps its key: only by when it began one try is told from the next.
#[rstest]
#[case::it_waits_again("queued", 5)]
#[case::it_runs_again("in_progress", 31)]
#[case::it_ended_again("completed", 31)]
#[case::it_began_when_the_other_had_ended("completed", 30)]
#[tokio::test]
async fn a_job_that_was_run_again_is_not_run_once_more(#[case] status: &str, #[case] began: i64) {
    let server = Scripted::new([(200, begun(status, began))]);
    assert_eq!(server.gitea(organization()).rerun(&key(7), minute(30)).await, Ok(()));
    assert_eq!(server.made().len(), 1);
}

#[rstest]
#[case(&["a"], &["a", "b"], true)]
#[case(&["a", "b"], &["b", "a"], true)]
#[case(&[], &["a"], true)]
#[case(&["A"], &["a"], false)]
#[case(&["a", "c"], &["a", "b"], false)]
#[case(&["a"], &[], false)]
fn labels_match_exactly(#[case] wanted: &[&str], #[case] offered: &[&str], #[case] matches: bool) {
    let texts = |labels: &[&str]| labels.iter().map(ToString::to_string).collect::<Vec<_>>();
    let gitea = Scripted::default().gitea(organization());
    assert_eq!(gitea.matches(&texts(wanted), &gitea.offered(&texts(offered))), matches);
}
