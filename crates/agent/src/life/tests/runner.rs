//! The lives of runners: one for each way that they can end, and a drain at every moment.

use proptest::prelude::*;
use protocol::{Class, Report, Runner, Sign, Signal, Stop};
use rstest::rstest;

use super::*;

/// A runner that has a minute to be ready, five to be idle and is asked twice to exit.
fn plan() -> Plan {
    let runner = Runner {
        began: vec![Sign::Line("Running job".to_owned())],
        ready_seconds: Some(60),
        idle_seconds: Some(300),
        drain: vec![Stop { signal: Signal::Quit, seconds: 5 }, Stop { signal: Signal::Term, seconds: 5 }],
        abort: vec![Stop { signal: Signal::Int, seconds: 7 }],
        exits: [(0, Class::JobDone), (7, Class::VersionTooOld)].into(),
        skew_seconds: Some(60),
        ..Runner::default()
    };
    Plan { runner: Some(runner), deadline_seconds: Some(100), ..stage::plan() }
}

/// A service that orders this from some time on.
fn ordering(order: Order, from: f64) -> Service {
    Service::new(move |heard| match heard.path.as_str() {
        path::LEASE if heard.at >= from => Ok(lease(order)),
        _ => Ok(kindly(heard, &plan())),
    })
}

fn words(service: &Service) -> Vec<Report> {
    service.reports().into_iter().map(|report| serde_json::from_value(report).unwrap()).collect()
}

/// Report, class and trouble of the end.
fn finish(service: &Service) -> (Class, Option<String>) {
    match words(service).pop() {
        Some(Report::Finished(finish)) => (finish.class, finish.trouble),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_runner_listens_works_on_one_job_and_is_done() {
    let (service, machine) = (Service::kind(plan()), Scripted::runner(ScriptedRunner { ready: 3, job: 40, ..DEAF }));
    let (ending, took) = lives(&service, &machine).await;
    assert_eq!((ending, took), (Ending::Finished(Exit::Code(0)), 50.0));
    let told: Vec<(f64, Value)> = service.posted(path::STATUS);
    assert_eq!(told[0], (3.0, json!({ "report": "listening" })));
    assert_eq!(told[1], (40.0, json!({ "report": "started", "job": "build" })));
    assert_eq!(told[2].1, json!({ "report": "finished", "class": "job-done", "exitCode": 0, "output": "the end" }));
    assert!(machine.deeds().asked.is_empty());
}

#[tokio::test(start_paused = true)]
async fn that_a_runner_listens_is_not_told_when_its_job_has_begun() {
    let service = Service::new(|heard| match heard.path.as_str() {
        path::STATUS if heard.at < 20.0 => gone(),
        _ => Ok(kindly(heard, &plan())),
    });
    // What is on its way is gone on with; what only waits is no news any more.
    lives(&service, &Scripted::runner(ScriptedRunner { ready: 1, job: 1, ..DEAF })).await;
    let heard: Vec<Value> = service.reports();
    assert!(heard.iter().all(|report| report["report"] != "listening"), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_counts_from_the_beginning_of_the_job() {
    let machine =
        Scripted { takes: Duration::from_secs(NEVER), ..Scripted::runner(ScriptedRunner { job: 200, ..DEAF }) };
    let service = Service::kind(plan());
    assert_eq!(lives(&service, &machine).await, (Ending::DeadlinePassed(100), 307.0), "asked for seven seconds");
    assert_eq!(machine.deeds().asked, [(300, Signal::Int)], "a busy runner is aborted in its own way");
    assert_eq!(finish(&service), (Class::DeadlinePassed, Some("ran longer than 100 s".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_runner_without_a_job_is_stopped_when_it_was_idle_for_too_long() {
    let (service, machine) = (Service::kind(plan()), Scripted::runner(ScriptedRunner { ready: 10, heeds: 2, ..DEAF }));
    assert_eq!(lives(&service, &machine).await, (Ending::Idle(300), 312.0));
    assert_eq!(machine.deeds().asked, [(310, Signal::Quit)]);
    assert_eq!(finish(&service), (Class::NoJob, Some("no job came within 300 s".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_is_never_ready_is_for_another_machine() {
    let service = Service::kind(plan());
    let (ending, took) = lives(&service, &Scripted::runner(ScriptedRunner { ready: 61, heeds: 1, ..DEAF })).await;
    assert_eq!((ending, took), (Ending::Unready(60), 61.0));
    assert_eq!(finish(&service).0, Class::RetryFreshVm);
    let late = Scripted::runner(ScriptedRunner { ready: 70, job: 62, heeds: 4, ..DEAF });
    assert_eq!(lives(&Service::kind(plan()), &late).await.0, Ending::Finished(Exit::Code(0)), "it had one after all");
}

#[tokio::test(start_paused = true)]
async fn a_drained_runner_is_asked_in_its_ways_and_then_made_to_go() {
    let (service, machine) = (ordering(Order::Drain, 0.0), Scripted::runner(DEAF));
    assert_eq!(lives(&service, &machine).await, (Ending::Drained, 40.0));
    assert_eq!(machine.deeds().asked, [(30, Signal::Quit), (35, Signal::Term)]);
    assert_eq!(finish(&service).0, Class::NoJob);
    let heeding = Scripted::runner(ScriptedRunner { heeds: 3, ..DEAF });
    assert_eq!(lives(&ordering(Order::Drain, 0.0), &heeding).await, (Ending::Drained, 33.0));
}

#[tokio::test(start_paused = true)]
async fn a_busy_runner_that_should_drain_finishes_its_job() {
    let machine = Scripted { takes: Duration::from_secs(90), ..Scripted::runner(ScriptedRunner { job: 20, ..DEAF }) };
    let service = ordering(Order::Drain, 0.0);
    assert_eq!(lives(&service, &machine).await, (Ending::Finished(Exit::Code(0)), 110.0));
    assert!(machine.deeds().asked.is_empty());
    assert_eq!(finish(&service).0, Class::JobDone);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_begins_while_its_runner_is_drained_is_finished() {
    // Asked at 30 s, the runner would be gone at 45; its job begins at 33 and it is a graceful one.
    let runner = ScriptedRunner { job: 33, heeds: 15, ..DEAF };
    let machine = Scripted::runner(runner);
    let service = ordering(Order::Drain, 0.0);
    assert_eq!(lives(&service, &machine).await, (Ending::Finished(Exit::Code(0)), 43.0));
    assert_eq!(machine.deeds().asked, [(30, Signal::Quit)], "it is not asked again");
    assert_eq!(finish(&service).0, Class::JobDone);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_seen_too_late_is_lost_and_not_denied() {
    let runner = ScriptedRunner { job: 38, hides: true, ..DEAF };
    let machine = Scripted { takes: Duration::from_secs(NEVER), ..Scripted::runner(runner) };
    let service = ordering(Order::Drain, 0.0);
    assert_eq!(lives(&service, &machine).await.0, Ending::JobLost);
    assert!(words(&service).contains(&Report::Started { job: None }));
    assert_eq!(finish(&service).0, Class::RunnerFailed);
}

#[tokio::test(start_paused = true)]
async fn the_service_ends_a_runner_in_the_way_that_its_state_asks_for() {
    for (job, asked) in [(NEVER, vec![(30, Signal::Quit), (35, Signal::Term)]), (5, vec![(30, Signal::Int)])] {
        let runner = ScriptedRunner { job, ..DEAF };
        let machine = Scripted { takes: Duration::from_secs(NEVER), ..Scripted::runner(runner) };
        let service = ordering(Order::End, 0.0);
        assert_eq!(lives(&service, &machine).await.0, Ending::EndedByService);
        assert_eq!(machine.deeds().asked, asked);
        assert_eq!(finish(&service).0, Class::Ended, "whether it had a job or not");
    }
}

#[rstest]
#[case::right(0, 0, None)]
#[case::within(60, 100, None)]
#[case::set_late(-3_600, 9, None)]
#[case::ahead(61, 100, Some("61 s ahead"))]
#[case::behind(-3_600, 100, Some("3600 s behind"))]
#[tokio::test(start_paused = true)]
async fn class_6_13_a_runner_is_begun_only_by_a_clock_that_is_right(
    #[case] skew: i64,
    #[case] until: u64,
    #[case] refused: Option<&str>,
) {
    let skew = (skew, Duration::from_secs(until));
    let machine = Scripted { skew, ..Scripted::runner(ScriptedRunner { job: 1, ..DEAF }) };
    let service = Service::kind(plan());
    let (_, took) = lives(&service, &machine).await;
    let (class, trouble) = finish(&service);
    match refused {
        None => assert_eq!((class, machine.deeds().begun), (Class::JobDone, true)),
        Some(words) => {
            assert_eq!((class, took, machine.deeds().begun), (Class::Unprepared, 15.0, false));
            assert!(trouble.unwrap().contains(words));
        }
    }
    let command = Scripted { skew: (9_999, Duration::from_secs(100)), ..Scripted::new(1, Exit::Code(0)) };
    assert_eq!(lives(&Service::kind(stage::plan()), &command).await.0, Ending::Finished(Exit::Code(0)));
}

#[tokio::test(start_paused = true)]
async fn what_ran_out_is_evidence() {
    let shortage = Some(crate::Shortage::Memory(2));
    let machine = Scripted { shortage, ..Scripted::runner(ScriptedRunner { job: 1, ..DEAF }) };
    let service = Service::kind(plan());
    lives(&service, &machine).await;
    let (class, trouble) = finish(&service);
    assert_eq!(class, Class::OutOfMemory);
    assert!(trouble.unwrap().contains("lack of memory, 2"));
}

fn runners() -> impl Strategy<Value = ScriptedRunner> {
    let late = || prop_oneof![8 => 0_u64..60, 1 => Just(NEVER)];
    (late(), late(), any::<bool>(), late(), late()).prop_map(|(ready, job, hides, heeds, aborts)| ScriptedRunner {
        ready,
        job,
        hides,
        heeds,
        aborts,
    })
}

/// A whole life in paused time of its own.
fn lived(service: &dyn Fn() -> Service, machine: &dyn Fn() -> Scripted) -> (Service, Scripted) {
    let time = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    time.block_on(async {
        let (service, machine) = (service(), machine());
        lives(&service, &machine).await;
        (service, machine)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The platform may give a runner a job at any moment of a drain, and the agent may see that late or never before it looks.
    #[test]
    fn class_6_4_a_drain_at_any_moment_never_denies_a_job(
        runner in runners(), takes in 1_u64..200, from in 0_u32..90, end: bool,
    ) {
        let order = if end { Order::End } else { Order::Drain };
        let machine = || Scripted { takes: Duration::from_secs(takes), ..Scripted::runner(runner) };
        let (service, machine) = lived(&|| ordering(order, f64::from(from)), &machine);
        let (class, _) = finish(&service);
        let words = words(&service);
        let started = words.iter().any(|report| matches!(report, Report::Started { .. }));
        let had_job = machine.deeds().had_job;
        prop_assert_eq!(started, had_job, "{:?}", words);
        prop_assert!(!had_job || class != Class::NoJob);
        prop_assert!(had_job || !end || matches!(class, Class::Ended | Class::NoJob | Class::RetryFreshVm), "{:?}", class);
        prop_assert_eq!(words.iter().filter(|report| matches!(report, Report::Finished(_))).count(), 1);
        prop_assert!(matches!(words.last(), Some(Report::Finished(_))));
        prop_assert!(machine.deeds().ended);
    }
}
