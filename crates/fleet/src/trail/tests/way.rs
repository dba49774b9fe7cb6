//! The way to the answer: who is asked, what has happened, which claim counts.

use proptest::prelude::*;

use super::*;
use api::Reason;

fn text(scene: &Scene) -> String {
    follow(scene, at(NOW)).answer.text
}

fn asked(subject: Kind, scene: Scene) -> Scene {
    Scene { subject, ..scene }
}

#[test]
fn whoever_asks_about_the_claim_or_the_pool_hears_the_same_cause() {
    for (kind, name) in [(Kind::Pool, "runnerpool/small"), (Kind::Claim, "machineclaim/job-1-1")] {
        let answer = follow(&asked(kind, down()), at(NOW)).answer;
        assert!(answer.text.starts_with(&format!("{name} waits for its hypervisor cluster (hyperv")), "{answer:?}");
        assert_eq!(answer.object, "hypervisorcluster/infra/pve");
        assert_eq!((answer.reason, answer.standing), (Some("Unreachable"), Standing::Blocked));
    }
}

/// A call that failed is tried again by itself; that the hypervisor does not answer anybody is what a person must know.
#[test]
fn a_machine_whose_call_failed_while_its_cluster_is_away_waits_for_the_cluster() {
    let failed =
        provisioning("False", "CloneFailed", "attempt 1 of 10 did not succeed: the hypervisor cannot be reached");
    assert!(text(&failed).contains("waits for another attempt to clone its VM"), "{}", text(&failed));
    let scene = Scene { cluster: cluster("False", "Unreachable", "no answer"), ..failed };
    assert!(text(&scene).contains("waits for its hypervisor cluster (hypervisorcluster/infra/pve): no answer"));
}

#[test]
fn a_template_that_waits_for_its_cluster_points_further() {
    let template = template("False", "ClusterNotReady", "HypervisorCluster infra/pve cannot be used");
    let claim =
        claim("Pending", json!({}), &[said("Provisioning", "False", "TemplateNotValid", "the template is bad")]);
    let scene = Scene { claim, template, cluster: cluster("False", "AuthenticationFailed", "401"), ..starting() };
    assert_eq!(text(&scene), "runnerjob/job-1 waits for its hypervisor cluster (hypervisorcluster/infra/pve): 401.");
}

#[test]
fn what_is_not_there_is_named() {
    let scene = Scene { template: Found::Missing("ubuntu".into()), ..provisioning("False", "TemplateMissing", "gone") };
    let line = "runnerjob/job-1 waits for hypervisormachinetemplate/ubuntu, which does not exist. Create it, or refer to another.";
    assert_eq!(text(&scene), line);
}

#[test]
fn of_what_nobody_may_read_the_one_who_refers_to_it_says_enough() {
    let hidden = Found::Hidden { name: "infra/pve".into(), why: "forbidden".into() };
    let scene = Scene { cluster: hidden, ..down() };
    assert!(
        text(&scene).contains("(machineclaim/job-1-1): HypervisorCluster infra/pve cannot be used"),
        "{}",
        text(&scene)
    );
    let links = follow(&scene, at(NOW)).links;
    let last = links.last().unwrap();
    assert_eq!((last.object.as_str(), last.state.as_str()), ("hypervisorcluster/infra/pve", "unreadable"));
}

#[test]
fn silence_of_the_controllers_is_an_answer() {
    let line = "runnerjob/job-1 waits for a controller to look at it. If that lasts, see whether `hyperfleet operator` runs and \
                watches this namespace.";
    assert_eq!(text(&scene(job(json!({})))), line);
}

#[test]
fn a_job_that_says_nothing_yet_is_answered_for_by_its_machine_or_its_pool() {
    let silent = || job(json!({ "state": "Queued" }));
    let scene = Scene { job: silent(), ..bootstrapping("Pending", &[booted()]) };
    assert!(
        text(&scene).starts_with("runnerjob/job-1 waits for its VM to boot (machineclaim/job-1-1): "),
        "{}",
        text(&scene)
    );
    let scene = Scene { job: silent(), pool: pool("AtMaximum", "it is full"), ..starting() };
    assert!(text(&scene).contains("to become free (runnerpool/small): it is full."), "{}", text(&scene));
    assert_eq!(follow(&scene, at(NOW)).answer.standing, Standing::Waits, "nobody has to do anything for it");
}

#[test]
fn a_fault_that_stalls_an_object_comes_first() {
    let conditions = [
        said("Provisioning", "True", "Cloning", "VM 6001"),
        said("Stalled", "True", "Refused", "the API server refused the status: too long"),
    ];
    let scene = Scene { claim: claim("Provisioning", json!({}), &conditions), ..starting() };
    assert_eq!(
        text(&scene),
        "runnerjob/job-1 cannot go on (machineclaim/job-1-1): the API server refused the status: too long."
    );
}

#[test]
fn the_next_attempt_is_announced() {
    let conditions = [said("Provisioning", "False", "CloneFailed", "attempt 2 of 5 did not succeed: no lock")];
    let claim = claim("Pending", json!({ "nextRetryTime": ago(-75) }), &conditions);
    let line = "runnerjob/job-1 waits for another attempt to clone its VM (machineclaim/job-1-1): attempt 2 of 5 did not \
                succeed: no lock; the next attempt is in 1m15s. Nothing to do.";
    assert_eq!(text(&Scene { claim, ..starting() }), line);
}

#[test]
fn without_a_clock_nothing_is_said_that_grows_old() {
    let failed = said("Provisioning", "False", "CloneFailed", "attempt 2 of 5 did not succeed: no lock");
    let retries = Scene { claim: claim("Pending", json!({ "nextRetryTime": ago(-75) }), &[failed]), ..starting() };
    let busy = claim("Busy", allocated(), &[said("Ready", "True", "Busy", "the runner runs")]);
    let runs = Scene { claim: busy, ..scene(job(json!({ "state": "Running", "startedAt": ago(90) }))) };
    let ended = scene(job(json!({ "state": "Completed", "result": "Failed", "endedAt": ago(5) })));
    for (scene, line) in [
        (
            retries,
            "runnerjob/job-1 waits for another attempt to clone its VM (machineclaim/job-1-1): attempt 2 of 5 did not \
             succeed: no lock. Nothing to do.",
        ),
        (runs, "runnerjob/job-1 runs on VM 6001 of node pve1 (machineclaim/job-1-1)."),
        (ended, "runnerjob/job-1 ended: Failed."),
    ] {
        assert_eq!(answer(&scene, None).text, line);
    }
}

#[test]
fn a_reason_of_another_version_is_passed_on() {
    let scene = scene(queued("MoonIsFull", "it is what it is."));
    assert_eq!(text(&scene), "runnerjob/job-1 waits: it is what it is.");
}

#[rstest]
#[case::running(json!({ "state": "Running", "startedAt": ago(90) }), Standing::Works,
    "runnerjob/job-1 runs for 1m30s on VM 6001 of node pve1 (machineclaim/job-1-1).")]
#[case::assigned(json!({ "state": "Assigned" }), Standing::Works,
    "runnerjob/job-1 has a runner on VM 6001 of node pve1 (machineclaim/job-1-1) and is about to begin.")]
#[case::ended(json!({ "state": "Completed", "result": "Failed", "endedAt": ago(5) }), Standing::Ended,
    "runnerjob/job-1 ended 5s ago: Failed.")]
#[case::lost(json!({ "state": "Completed", "endedAt": ago(5), "infrastructureLoss":
        { "class": "HostDied", "evidence": "node pve1 is offline", "at": ago(5), "rerunRequested": true } }), Standing::Ended,
    "runnerjob/job-1 was lost with its machine 5s ago (HostDied): node pve1 is offline; it is started again if this was its \
     first try.")]
fn a_job_that_waits_for_nothing_says_how_it_is(#[case] status: Value, #[case] standing: Standing, #[case] line: &str) {
    let claim = claim("Busy", allocated(), &[said("Ready", "True", "Busy", "the runner runs")]);
    let answer = follow(&Scene { claim, ..scene(job(status)) }, at(NOW)).answer;
    assert_eq!((answer.text.as_str(), answer.standing), (line, standing));
}

#[rstest]
#[case::ready("Ready", json!({ "readyTime": ago(20) }), said("Ready", "True", "AgentAttested", ""),
    "machineclaim/job-1-1 is ready for 20s and waits for a job.")]
#[case::failed("Failed", json!({}), said("Ready", "False", "RetriesExhausted", "gave up after 5 attempts"),
    "machineclaim/job-1-1 failed: gave up after 5 attempts.")]
#[case::going("Terminating", json!({}), said("Ready", "False", "Finished", "the runner ended with exit code 0"),
    "machineclaim/job-1-1 is being removed: the runner ended with exit code 0.")]
#[case::cannot_go("Terminating", json!({}), said("VMCleanedUp", "False", "VMLocked", "VM 6001 is locked (backup)"),
    "machineclaim/job-1-1 waits for a lock on its VM: VM 6001 is locked (backup). If its operation is dead, unlock the VM on \
     the hypervisor.")]
fn a_claim_says_how_it_is(#[case] phase: &str, #[case] more: Value, #[case] condition: Value, #[case] line: &str) {
    let scene = Scene { claim: claim(phase, more, &[condition]), ..Scene::of(Kind::Claim, "ci") };
    assert_eq!(text(&scene), line);
}

#[test]
fn a_pool_that_is_content_has_its_numbers_told() {
    let scene =
        Scene { pool: pool("Steady", "there are as many machines as are wanted"), ..Scene::of(Kind::Pool, "ci") };
    let line = "runnerpool/small waits for nothing: there are as many machines as are wanted; 10 of at most 10 machines, 0 ready, \
                10 busy, 3 jobs queued.";
    assert_eq!(text(&scene), line);
}

#[test]
fn what_happened_is_told_in_the_order_of_time_with_the_time_between() {
    let mut machine = allocated();
    let more = json!({ "firstRunningTime": ago(40), "readyTime": ago(32), "busyTime": ago(30),
        "runner": { "name": "small-1", "id": "7" } });
    machine.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let status = json!({ "state": "Running", "startedAt": ago(29), "poolRef": { "name": "small" } });
    let mut scene = Scene { claim: claim("Busy", machine, &[]), ..scene(job(status)) };
    let told = |scene: &Scene| -> Vec<(Mark, Option<i64>)> {
        follow(scene, at(NOW)).events.iter().map(|event| (event.mark, event.after_seconds)).collect()
    };
    assert_eq!(
        told(&scene),
        [
            (Mark::Queued, None),
            (Mark::Seen, Some(4)),
            (Mark::PoolChosen, None),
            (Mark::ClaimMade, Some(0)),
            (Mark::Allocated, Some(10)),
            (Mark::Started, Some(10)),
            (Mark::Attested, Some(8)),
            (Mark::Registered, None),
            (Mark::Begun, Some(3)),
        ]
    );
    // A machine that was there before the job comes before it.
    let Found::There(claim) = &mut scene.claim else { panic!("it is there") };
    claim.metadata.creation_timestamp = Some(api::Time(at(NOW - 3_600)));
    assert_eq!(told(&scene)[0], (Mark::ClaimMade, None));
}

fn named(name: &str, phase: Option<&str>, born: i64) -> MachineClaim {
    let Found::There(mut claim) = claim(phase.unwrap_or("Pending"), json!({}), &[]) else { panic!("it is there") };
    claim.metadata.name = Some(name.to_owned());
    claim.metadata.creation_timestamp = Some(api::Time(at(born)));
    if phase.is_none() {
        claim.status = None;
    }
    *claim
}

#[test]
fn the_claim_that_counts_for_a_job_has_it_or_is_furthest_or_was_last() {
    let claims = [
        named("a", Some("Failed"), 10),
        named("b", Some("Pending"), 20),
        named("c", Some("Bootstrapping"), 15),
        named("d", Some("Failed"), 30),
    ];
    let picked = |job: &Found<RunnerJob>, claims: &[MachineClaim]| {
        claim_of_job(job.there().unwrap(), claims).and_then(|claim| claim.metadata.name.clone())
    };
    let waiting = queued("MachineStarting", "");
    assert_eq!(picked(&waiting, &claims).as_deref(), Some("c"));
    assert_eq!(picked(&waiting, &[claims[0].clone(), claims[3].clone()]).as_deref(), Some("d"));
    assert_eq!(picked(&waiting, &[named("new", None, 50)]).as_deref(), Some("new"));
    assert_eq!(picked(&job(json!({ "claimRef": { "name": "a" } })), &claims).as_deref(), Some("a"));
    assert_eq!(picked(&job(json!({ "claimRef": { "name": "warm" } })), &claims), None);
}

#[test]
fn the_claim_that_counts_for_a_pool_has_waited_longest() {
    let claims = [named("a", Some("Ready"), 1), named("b", Some("Pending"), 20), named("c", Some("Provisioning"), 15)];
    assert_eq!(claim_of_pool(&claims).and_then(|claim| claim.metadata.name.as_deref()), Some("c"));
    assert_eq!(claim_of_pool(&claims[..1]), None);
}

#[test]
fn the_job_of_a_claim_is_the_one_its_runner_has() {
    let claim = named("warm", Some("Busy"), 1);
    let Found::There(taken) = job(json!({ "claimRef": { "name": "warm" } })) else { panic!("it is there") };
    let other = RunnerJob { status: None, ..(*taken).clone() };
    let renamed = |mut job: RunnerJob, name: &str| {
        job.metadata.name = Some(name.to_owned());
        job
    };
    let jobs = [renamed(other, "other"), renamed(*taken, "taken")];
    assert_eq!(job_of_claim(&claim, &jobs).as_deref(), Some("taken"));
    assert_eq!(job_of_claim(&claim, &[]).as_deref(), Some("job-1"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever the objects say, there is one line, it begins with the name, and it ends.
    #[test]
    fn there_is_always_one_line(
        subject in 0..3_usize,
        reasons in proptest::array::uniform6(0..Reason::ALL.len()),
        phase in 0..api::Phase::ALL.len(),
        state in 0..api::JobState::ALL.len(),
        holds in any::<bool>(),
    ) {
        let word = |at: usize| Reason::ALL[reasons[at]].as_str();
        let status = if holds { "True" } else { "False" };
        let conditions = [said("Provisioning", status, word(2), " "), said("Ready", status, word(3), "why")];
        let scene = Scene {
            subject: Kind::ALL[subject],
            job: job(json!({ "state": api::JobState::ALL[state].as_str(), "conditions": [said("Assigned", status, word(0), "why")] })),
            pool: pool(word(1), "why\nnot\n"),
            claim: claim(api::Phase::ALL[phase].as_str(), json!({}), &conditions),
            source: source(status, word(3), "why"),
            template: template(status, word(4), "why"),
            cluster: cluster(status, word(5), "why"),
            namespace: "ci".to_owned(),
        };
        let trail = follow(&scene, at(NOW));
        prop_assert!(trail.answer.text.starts_with(&trail.subject));
        prop_assert!(trail.answer.text.ends_with('.') && !trail.answer.text.ends_with(".."));
        prop_assert_eq!(trail.answer.text.lines().count(), 1);
        prop_assert_eq!(trail.links.len(), 6);
    }
}
