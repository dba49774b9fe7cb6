//! The life of a scale set, step by step.

use scaleset::{
    Client, JitRunnerSetting, JobInfo, JobMessage, JobRequestId, MessageId, MessageSession, RunnerGroupId,
    RunnerReference, RunnerScaleSet, RunnerScaleSetSpec, ScaleSetMessage,
};

use crate::place::{Place, set};

/// More polls than anything takes to be told.
const PATIENCE: usize = 40;

/// Scale sets of a repository and of an enterprise, and somebody whom nobody knows.
pub async fn everywhere(place: &Place) {
    let token = set("GITHUB_TOKEN");
    for page in ["acme/widgets", "enterprises/acme-group"] {
        let client = place.person(page, &token);
        let made = client.create_runner_scale_set(&RunnerScaleSetSpec::new("elsewhere")).await;
        let made = made.unwrap_or_else(|error| panic!("{page}: {error}"));
        let runner = client.generate_jit_config(made.id, &JitRunnerSetting::new("elsewhere-1")).await;
        let runner = runner.expect("a runner there").runner.expect("what it is");
        client.remove_runner(runner.id).await.expect("remove it");
        client.delete_runner_scale_set(made.id).await.expect("delete the set");
    }
    let stranger = place.person("acme", "ghp_nobody");
    let refused = stranger.list_runner_scale_sets(RunnerGroupId::DEFAULT).await.expect_err("nobody knows it");
    assert!(refused.is_unauthorized(), "{refused:?}");
}

/// A scale set from its beginning to its end.
pub async fn whole(place: &Place) {
    let client = place.app("acme");
    groups(&client).await;
    let set = made(&client).await;
    let session = client.create_message_session(set.id, "oracle").await.expect("a session");
    let second = client.create_message_session(set.id, "another").await.expect_err("one session at a time");
    assert!(second.is_conflict(), "{second:?}");
    let info = session.info();
    assert_eq!((info.owner_name.as_str(), info.runner_scale_set.as_ref().map(|set| set.id)), ("oracle", Some(set.id)));
    assert_eq!(info.statistics, Some(Default::default()));
    assert_eq!(session.get_message(None, 1).await.expect("a poll"), None, "nothing waits");

    let job = JobRequestId(place.queue("oracle", 1, 2.0).await[0]);
    let last = assigned(&session, job).await;
    let last = ran(place, &client, &set, &session, job, last).await;
    place.fault("queue-token-expired").await;
    assert_eq!(session.get_message(Some(last), 1).await.expect("a poll with a new token"), None);

    session.close().await.expect("the end of the session");
    client.delete_runner_scale_set(set.id).await.expect("the end of the scale set");
    let gone = client.get_runner_scale_set_by_id(set.id).await.expect_err("it is gone");
    assert!(gone.is_not_found(), "{gone:?}");
}

async fn groups(client: &Client) {
    let found = client.get_runner_group_by_name("Default").await.expect("a look").expect("the default group");
    assert!(found.is_default && found.id == RunnerGroupId::DEFAULT, "{found:?}");
    let found = client.get_runner_group_by_name("trusted").await.expect("a look").expect("another group");
    assert!(!found.is_default && found.name == "trusted", "{found:?}");
    assert_eq!(client.get_runner_group_by_name("nobody's").await.expect("a look"), None);
}

/// Makes a scale set, and looks at it from all sides.
async fn made(client: &Client) -> RunnerScaleSet {
    let name = || RunnerScaleSetSpec::new("oracle");
    let set = client.create_runner_scale_set(&name().disable_update(true)).await.expect("a scale set");
    assert_eq!((set.name.as_str(), set.runner_group_id), ("oracle", RunnerGroupId::DEFAULT));
    assert_eq!(set.runner_group_name, "Default");
    let labels: Vec<&str> = set.labels.iter().map(|label| label.name.as_str()).collect();
    assert_eq!(labels, ["oracle"], "its name, unless it was given labels");
    assert!(set.runner_setting.disable_update && set.created_on.is_some(), "{set:?}");
    let twice = client.create_runner_scale_set(&name()).await.expect_err("a name is taken once");
    assert!(twice.is_conflict(), "{twice:?}");
    let found = client.get_runner_scale_set_by_name(RunnerGroupId::DEFAULT, "oracle").await.expect("a look");
    assert_eq!(found.as_ref(), Some(&set));
    assert_eq!(client.get_runner_scale_set_by_name(RunnerGroupId::DEFAULT, "none").await.expect("a look"), None);
    let listed = client.list_runner_scale_sets(RunnerGroupId::DEFAULT).await.expect("a list");
    assert_eq!(listed, [set.clone()]);
    let changed = client.update_runner_scale_set(set.id, &name().disable_update(false)).await.expect("a change");
    assert!(!changed.runner_setting.disable_update && changed.id == set.id, "{changed:?}");
    assert_eq!(client.get_runner_scale_set_by_id(set.id).await.expect("a look"), changed);
    changed
}

/// The next message, which must come.
async fn told(session: &MessageSession, last: Option<MessageId>) -> ScaleSetMessage {
    for _ in 0..PATIENCE {
        if let Some(message) = session.get_message(last, 1).await.expect("a poll") {
            return message;
        }
    }
    panic!("nothing is told after {last:?}");
}

fn is_about(info: &JobInfo, job: JobRequestId) {
    let place = (info.owner_name.as_str(), info.repository_name.as_str(), info.job_display_name.as_str());
    assert_eq!((info.runner_request_id, place), (job, ("acme", "widgets", "job 0")));
    assert_eq!(info.request_labels, ["oracle"]);
    assert!(info.workflow_run_id > 0 && !info.job_id.is_empty() && info.queue_time.is_some(), "{info:?}");
    assert!(info.job_workflow_ref.starts_with("acme/widgets/.github/workflows/"), "{info:?}");
}

/// A job is offered and taken, or assigned without having been asked for; the last message that was read.
async fn assigned(session: &MessageSession, job: JobRequestId) -> MessageId {
    let mut message = told(session, None).await;
    assert_eq!(told(session, None).await, message, "what was not deleted comes again");
    if set("GITHUB_HANDOVER") == "acquire" {
        let offer = message.jobs_available().next().expect("an offer").clone();
        is_about(&offer.job, job);
        assert!(offer.acquire_job_url.ends_with("/acquirejobs"), "{offer:?}");
        assert_eq!(session.acquire_jobs(&[job]).await.expect("take it"), [job]);
        session.delete_message(message.id).await.expect("delete the offer");
        message = told(session, Some(message.id)).await;
    }
    let [JobMessage::Assigned(told)] = message.jobs.as_slice() else { panic!("{message:?}") };
    is_about(&told.job, job);
    assert!(told.job.scale_set_assign_time.is_some() && told.job.runner_assign_time.is_none(), "{told:?}");
    let level = message.statistics.expect("the level");
    assert_eq!((level.total_available_jobs, level.total_assigned_jobs, level.total_running_jobs), (0, 1, 0));
    session.delete_message(message.id).await.expect("delete the message");
    session.delete_message(message.id).await.expect("once more: its answer may have been lost");
    message.id
}

/// Registers a runner and looks at it; a second of its name is refused.
async fn registered(client: &Client, set: &RunnerScaleSet) -> (RunnerReference, scaleset::JitRunnerConfig) {
    let wanted = JitRunnerSetting::new("oracle-1").work_folder("_work");
    let made = client.generate_jit_config(set.id, &wanted).await.expect("a configuration for one job");
    let runner = made.runner.clone().expect("what it is");
    assert_eq!((runner.name.as_str(), runner.runner_scale_set_id), ("oracle-1", set.id));
    let twice = client.generate_jit_config(set.id, &wanted).await.expect_err("a name is taken once");
    assert!(twice.is_runner_exists() && twice.is_conflict(), "{twice:?}");
    assert_eq!(client.get_runner_by_name("oracle-1").await.expect("a look"), Some(runner.clone()));
    assert_eq!(client.get_runner_by_name("nobody").await.expect("a look"), None);
    assert_eq!(client.get_runner(runner.id).await.expect("a look"), runner);
    (runner, made)
}

/// A runner comes and runs the job; nobody can remove it meanwhile, and nobody needs to afterwards.
async fn ran(
    place: &Place,
    client: &Client,
    set: &RunnerScaleSet,
    session: &MessageSession,
    job: JobRequestId,
    last: MessageId,
) -> MessageId {
    let (runner, configuration) = registered(client, set).await;
    let mut process = place.run(&configuration);
    let message = told(session, Some(last)).await;
    let [JobMessage::Started(started)] = message.jobs.as_slice() else { panic!("{message:?}") };
    is_about(&started.job, job);
    assert_eq!((started.runner_id, &started.runner_name), (runner.id, &runner.name));
    assert!(started.job.runner_assign_time.is_some() && started.job.finish_time.is_none(), "{started:?}");
    let level = message.statistics.expect("the level");
    assert_eq!((level.total_assigned_jobs, level.total_running_jobs), (1, 1), "what runs is assigned");
    assert_eq!((level.total_registered_runners, level.total_busy_runners), (1, 1));
    let busy = client.remove_runner(runner.id).await.expect_err("it has a job");
    assert!(busy.is_job_still_running(), "{busy:?}");

    let message = told(session, Some(message.id)).await;
    let [JobMessage::Completed(ended)] = message.jobs.as_slice() else { panic!("{message:?}") };
    is_about(&ended.job, job);
    assert_eq!((ended.result.as_str(), ended.runner_id, &ended.runner_name), ("succeeded", runner.id, &runner.name));
    assert!(ended.job.finish_time.is_some(), "{ended:?}");
    assert!(process.wait().await.expect("the runner's end").success());
    for gone in [client.get_runner(runner.id).await.map(drop), client.remove_runner(runner.id).await] {
        let gone = gone.expect_err("it went with its job");
        assert!(gone.is_runner_not_found() && gone.is_not_found(), "{gone:?}");
    }
    session.delete_message(message.id).await.expect("delete the message");
    message.id
}
