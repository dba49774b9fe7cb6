//! The forms that other versions of the other side will read.

use serde_json::{from_value, json, to_value};

use super::*;

fn seed() -> Seed {
    Seed {
        version: VERSION,
        url: "https://10.0.0.1:8444".to_owned(),
        authority: "-----BEGIN CERTIFICATE-----".to_owned(),
        id: "5d1d9be8-0000-4000-8000-000000000001".to_owned(),
        token: "very-secret".to_owned().into(),
        machine: "5d1d9be8-0000-4000-8000-000000000002".to_owned(),
        agent: None,
    }
}

#[test]
fn a_seed_reads_back_and_never_shows_its_token() {
    let written = to_value(seed()).unwrap();
    assert_eq!(written["token"], "very-secret");
    let read: Seed = from_value(written).unwrap();
    assert!(!format!("{read:?}").contains("very-secret"));
    assert_eq!(read.machine, seed().machine);
}

#[test]
fn an_unknown_field_in_a_seed_is_refused() {
    let mut written = to_value(seed()).unwrap();
    written["insecure"] = json!(true);
    assert!(from_value::<Seed>(written).unwrap_err().to_string().contains("insecure"));
}

fn runner() -> Runner {
    Runner {
        root: Some(Root { path: "/opt/runner".to_owned(), work: Some("_work".to_owned()) }),
        ready: Some(Sign::Line("Listening for Jobs".to_owned())),
        began: vec![Sign::File("began".to_owned()), Sign::Line("Running job".to_owned())],
        idle_seconds: Some(300),
        drain: vec![Stop { signal: Signal::Term, seconds: 30 }],
        exits: [(0, Class::JobDone), (7, Class::VersionTooOld), (-1, Class::RunnerFailed)].into(),
        ..Runner::default()
    }
}

#[test]
fn what_a_plan_carries_is_not_shown() {
    let plan = Plan {
        argv: vec!["run".to_owned()],
        env: [("JITCONFIG".to_owned(), "canary".to_owned())].into(),
        user: None,
        files: vec![Item { path: "a".to_owned(), content: "canary".to_owned(), mode: 0o400 }],
        deadline_seconds: Some(60),
        output_bytes: 0,
        runner: Some(runner()),
    };
    assert!(!format!("{plan:?}").contains("canary"));
    assert_eq!(from_value::<Plan>(to_value(&plan).unwrap()).unwrap(), plan);
}

#[test]
fn words_on_the_wire_are_fixed() {
    assert_eq!(to_value(Order::GoOn).unwrap(), "go-on");
    assert_eq!(to_value(Report::Listening).unwrap(), json!({ "report": "listening" }));
    assert_eq!(to_value(Report::Started { job: None }).unwrap(), json!({ "report": "started" }));
    let job = Report::Started { job: Some("build".to_owned()) };
    assert_eq!(to_value(job).unwrap(), json!({ "report": "started", "job": "build" }));
    let finish = Finish { class: Class::RetryFreshVm, exit_code: Some(3), trouble: None, output: None };
    let finished = json!({ "report": "finished", "class": "retry-fresh-vm", "exitCode": 3 });
    assert_eq!(to_value(Report::Finished(finish)).unwrap(), finished);
    assert_eq!(to_value(Sign::Line("x".to_owned())).unwrap(), json!({ "line": "x" }));
    assert_eq!(to_value(runner()).unwrap()["exits"]["7"], "version-too-old");
    assert_eq!(to_value(Stage::Trust).unwrap(), "trust");
}
