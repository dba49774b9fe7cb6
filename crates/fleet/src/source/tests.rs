//! Sources from their first look to their end.

use api::{Condition, RunnerSourceSpec, Time};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn source(spec: Value) -> RunnerSource {
    let spec: RunnerSourceSpec = serde_json::from_value(spec).unwrap();
    let mut source = RunnerSource::new("gh", spec);
    source.metadata.namespace = Some("ci".to_owned());
    source.metadata.uid = Some("5d1d9be8-aaaa-4000-8000-000000000001".to_owned());
    source.metadata.generation = Some(1);
    source
}

fn github() -> Value {
    json!({
        "platform": "github", "url": "https://github.com",
        "github": {
            "scope": { "organization": "acme" },
            "credentials": { "pat": { "name": "github", "key": "token" } },
        },
    })
}

fn gitea(demand: &Value, webhook: Option<Value>) -> Value {
    let mut spec = json!({
        "platform": "gitea", "url": "https://gitea.example.com", "demand": demand,
        "gitea": {
            "scope": { "organization": "acme" },
            "credentials": { "token": { "name": "gitea", "key": "token" } },
        },
    });
    if let Some(webhook) = webhook {
        spec["webhook"] = webhook;
    }
    spec
}

fn settings(text: &str) -> Settings {
    Settings(text.to_owned())
}

fn report() -> Report {
    Report { version: Some("3.17.2".to_owned()), ..Report::default() }
}

fn up(probe: Probe) -> Link {
    Link::Up { settings: settings("one"), probe, session: Session::Held }
}

fn answered(report: Report) -> Link {
    up(Probe { report: Some(report), trouble: None })
}

fn trouble(kind: Reason, failures: u32, may_pass: bool) -> Trouble {
    Trouble { kind, message: "it said no: ask its owner".to_owned(), failures, may_pass, until: None }
}

fn observed(link: Link) -> Observed {
    Observed {
        source: Arc::new(source(github())),
        login: Login::Complete(settings("one")),
        link,
        pools: Vec::new(),
        claims: Vec::new(),
        period: Duration::from_mins(5),
    }
}

fn going(observed: Observed) -> Observed {
    with(observed, |source| source.metadata.deletion_timestamp = Some(Time(NOW)))
}

fn with(mut observed: Observed, change: impl FnOnce(&mut RunnerSource)) -> Observed {
    change(Arc::make_mut(&mut observed.source));
    observed
}

/// The same, seen again after its last plan was carried out.
fn again(before: &Observed, link: Link) -> Observed {
    let status = plan(before, NOW).status;
    with(Observed { link, ..before.clone() }, |source| source.status = status)
}

/// The plan, which breaks no promise and writes what the server takes.
fn decide(observed: &Observed) -> SourcePlan {
    let plan = plan(observed, NOW);
    assert_eq!(audit(observed, &plan), []);
    if plan.status.is_some() {
        let old = serde_json::to_value(&*observed.source).unwrap();
        let new = with(observed.clone(), |source| source.status.clone_from(&plan.status));
        api::admit(&serde_json::to_value(&*new.source).unwrap(), Some(&old)).unwrap_or_else(|no| panic!("{no}"));
    }
    plan
}

fn says(observed: &Observed) -> (String, String, String) {
    let status = decide(observed).status.expect("a status");
    let ready = api::condition::find(&status.conditions, ConditionType::Ready).cloned();
    let Condition { status, reason, message, .. } = ready.expect("a verdict");
    (status, reason, message)
}

#[test]
fn a_source_that_answers_is_ready_and_tells_what_it_is() {
    let observed = observed(answered(report()));
    let (status, reason, message) = says(&observed);
    assert_eq!((status.as_str(), reason.as_str()), ("True", "PlatformReachable"));
    assert_eq!(message, "connected to https://github.com, version 3.17.2");
    let status = decide(&observed).status.unwrap();
    assert_eq!(status.version.as_deref(), Some("3.17.2"));
    assert_eq!((status.demand_mode, status.webhook_path), (Some(DemandMode::Session), None));
    assert_eq!(decide(&observed).next, Next::After(Duration::from_mins(5), Why::Recheck));
}

#[test]
fn a_new_source_is_connected_and_judged_only_when_it_has_answered() {
    let plan = decide(&observed(Link::Down));
    assert_eq!((plan.finalizer, plan.steps.as_slice()), (Finalizer::Add, [Step::Connect].as_slice()));
    assert_eq!(plan.status.unwrap().conditions, []);
}

#[rstest]
#[case::github(github(), DemandMode::Session, None)]
#[case::gitea(gitea(&json!({}), None), DemandMode::Poll, None)]
#[case::deliveries(
    gitea(&json!({ "mode": "webhook" }), Some(json!({ "secret": { "name": "gitea", "key": "hook" } }))),
    DemandMode::Webhook,
    Some("/webhooks/5d1d9be8-aaaa-4000-8000-000000000001")
)]
fn how_jobs_are_learnt_of_is_told_with_the_default_resolved(
    #[case] spec: Value,
    #[case] mode: DemandMode,
    #[case] path: Option<&str>,
) {
    let observed = Observed { source: Arc::new(source(spec)), ..observed(Link::Down) };
    let status = decide(&observed).status.unwrap();
    assert_eq!((status.demand_mode, status.webhook_path.as_deref()), (Some(mode), path));
}

#[rstest]
#[case::missing(Login::Missing(vec!["Secret github does not exist: create it".to_owned()]), "CredentialsMissing")]
#[case::malformed(
    Login::Malformed(vec!["entry token of Secret github has more than one line: enter the token alone".to_owned()]),
    "CredentialsInvalid"
)]
fn credentials_that_are_not_right_close_the_gate_and_keep_the_connection(#[case] login: Login, #[case] word: &str) {
    let observed = Observed { login, ..observed(answered(report())) };
    let (status, reason, message) = says(&observed);
    assert_eq!((status.as_str(), reason.as_str()), ("False", word));
    assert!(message.contains("Secret github"), "{message}");
    assert_eq!(decide(&observed).steps, []);
}

#[test]
fn credentials_that_change_are_used_without_a_word_about_the_source() {
    let before = again(&observed(answered(report())), answered(report()));
    let after = Observed { login: Login::Complete(settings("two")), ..before.clone() };
    assert_eq!(decide(&after).steps, [Step::Connect]);
    assert_eq!(decide(&after).status, before.source.status);
}

#[rstest]
#[case::refused(trouble(Reason::AuthenticationFailed, 1, false))]
#[case::unreachable(trouble(Reason::PlatformUnreachable, 2, true))]
#[case::limited(Trouble { until: Some(NOW + Duration::from_mins(15)), ..trouble(Reason::RateLimited, 1, true) })]
fn trouble_that_counts_is_told_at_once(#[case] trouble: Trouble) {
    let before = again(&observed(answered(report())), answered(report()));
    let troubled = again(&before, up(Probe { report: Some(report()), trouble: Some(trouble.clone()) }));
    let told = ("False".to_owned(), trouble.kind.as_str().to_owned(), trouble.message.clone());
    assert_eq!(says(&troubled), told);
    if trouble.until.is_some() {
        let by = "https://github.com".to_owned();
        assert_eq!(decide(&troubled).next, Next::After(Duration::from_mins(15), Why::Throttled { by }));
    }
}

#[test]
fn one_lost_answer_is_no_outage() {
    let before = again(&observed(answered(report())), answered(report()));
    let lost = trouble(Reason::PlatformUnreachable, 1, true);
    let after = again(&before, up(Probe { report: Some(report()), trouble: Some(lost.clone()) }));
    assert_eq!(says(&after).0, "True");
    let never = again(&observed(Link::Down), up(Probe { report: None, trouble: Some(lost) }));
    assert_eq!(says(&never).0, "False", "but one that never answered is not ready");
}

fn lack(message: &str, required: bool) -> Lack {
    Lack { message: message.to_owned(), required }
}

#[rstest]
#[case::too_old(
    Report { outdated: Some("version 1.23 has no ephemeral runners: upgrade to 1.24 or newer".to_owned()), ..report() },
    "PlatformTooOld",
    "upgrade to 1.24"
)]
#[case::not_allowed(
    Report { lacks: vec![lack("Self-hosted runners: write, to register them", true)], ..report() },
    "InsufficientPrivileges",
    "permissions are missing: Self-hosted runners: write"
)]
fn a_platform_that_cannot_be_used_says_why_and_what_to_do(
    #[case] report: Report,
    #[case] word: &str,
    #[case] text: &str,
) {
    let (status, reason, message) = says(&observed(answered(report)));
    assert_eq!((status.as_str(), reason.as_str()), ("False", word));
    assert!(message.contains(text), "{message}");
}

#[test]
fn a_session_that_somebody_else_holds_is_told() {
    let probe = Probe { report: Some(report()), trouble: None };
    let session = Session::Taken("runner-controller-7".to_owned());
    let (_, reason, message) = says(&observed(Link::Up { settings: settings("one"), probe, session }));
    assert_eq!(reason, "SessionTaken");
    assert!(message.contains("runner-controller-7") && message.contains("stop the other installation"), "{message}");
}

#[test]
fn what_is_not_urgent_is_told_without_closing_the_gate() {
    let soon = NOW + Duration::from_hours(3 * 24);
    let found = Report { lacks: vec![lack("Actions: read, to re-run jobs", false)], expires: Some(soon), ..report() };
    let (status, _, message) = says(&observed(answered(found.clone())));
    assert_eq!(status, "True");
    assert!(message.contains("a permission is missing: Actions: read"), "{message}");
    assert!(message.contains("the credential runs out at 1970-01-04T00:00:00Z: put another"), "{message}");
    let told = decide(&observed(answered(found))).status.unwrap().credential_expires_at;
    assert_eq!(told, Some(Moment::from(soon)));
    let far = Report { expires: Some(NOW + Duration::from_hours(30 * 24)), ..report() };
    assert_eq!(says(&observed(answered(far))).2, "connected to https://github.com, version 3.17.2");
}

#[test]
fn a_deleted_source_stays_while_something_depends_on_it() {
    let used = Observed {
        pools: vec!["ci/linux".to_owned()],
        claims: vec!["ci/a".to_owned(), "ci/b".to_owned()],
        ..going(observed(answered(report())))
    };
    let plan = decide(&used);
    assert_eq!((plan.finalizer, plan.steps.as_slice()), (Finalizer::Keep, [].as_slice()));
    let status = plan.status.unwrap();
    let told = api::condition::find(&status.conditions, ConditionType::InUse).unwrap();
    assert!(told.message.contains("still there: pools: ci/linux; claims: ci/a, ci/b. Delete them"), "{}", told.message);
    let runners = Observed { pools: Vec::new(), ..used };
    assert_eq!(decide(&runners).finalizer, Finalizer::Keep, "its runners must be let go");
    let free = Observed { claims: Vec::new(), ..runners };
    assert_eq!(decide(&free), Plan { finalizer: Finalizer::Remove, steps: vec![Step::Disconnect], ..Plan::rest() });
    assert_eq!(decide(&Observed { link: Link::Down, ..free }).steps, []);
}

#[test]
fn a_plan_that_broke_a_promise_would_be_noticed() {
    let used = Observed { claims: vec!["ci/a".to_owned()], ..going(observed(Link::Down)) };
    let wrong = Plan { finalizer: Finalizer::Remove, steps: vec![Step::Disconnect], ..Plan::rest() };
    assert_eq!(audit(&used, &wrong).len(), 2);
    let ready = plan(&observed(answered(report())), NOW);
    assert_eq!(audit(&observed(Link::Down), &ready).len(), 1);
    let names: std::collections::BTreeSet<String> =
        [Step::Connect, Step::Disconnect].iter().map(ToString::to_string).collect();
    assert_eq!(names.len(), 2);
}

#[test]
fn a_lost_answer_changes_nothing_whatever_the_session_does_meanwhile() {
    let up = |trouble, session| Link::Up {
        settings: Settings("one".to_owned()),
        probe: Probe { report: Some(report()), trouble },
        session,
    };
    let now = observed(up(None, Session::None));
    let now = with(now.clone(), |source| source.status = decide(&now).status);
    let lost = Some(trouble(Reason::PlatformUnreachable, 1, true));
    let now = Observed { link: up(lost, Session::Taken("them".to_owned())), ..now };
    assert_eq!(decide(&now).status, now.source.status, "one lost answer is no outage");
}

fn any_link() -> impl Strategy<Value = Link> {
    let kinds = vec![Reason::AuthenticationFailed, Reason::PlatformUnreachable, Reason::RateLimited];
    let trouble = (prop::sample::select(kinds), 1_u32..4, any::<bool>(), proptest::option::of(0_u64..3_600)).prop_map(
        |(kind, failures, may_pass, until)| {
            let until = until.map(|seconds| NOW + Duration::from_secs(seconds));
            Trouble { until, ..trouble(kind, failures, may_pass) }
        },
    );
    let report = (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(old, lacks, required)| Report {
        outdated: old.then(|| "it is too old: upgrade it".to_owned()),
        lacks: lacks.then(|| lack("something, for something", required)).into_iter().collect(),
        ..report()
    });
    let session = prop_oneof![Just(Session::None), Just(Session::Held), Just(Session::Taken("them".to_owned()))];
    let probe = (proptest::option::of(report), proptest::option::of(trouble));
    let up = ("one|two", probe, session).prop_map(|(made, (report, trouble), session)| Link::Up {
        settings: Settings(made),
        probe: Probe { report, trouble },
        session,
    });
    prop_oneof![1 => Just(Link::Down), 5 => up]
}

fn any_login() -> impl Strategy<Value = Login> {
    prop_oneof![
        4 => "one|two".prop_map(|made| Login::Complete(Settings(made))),
        1 => Just(Login::Missing(vec!["Secret x does not exist".to_owned()])),
        1 => Just(Login::Malformed(vec!["entry y of Secret x is empty".to_owned()])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn whatever_is_seen_of_a_source_it_says_one_thing_and_says_it_once(
        links in prop::collection::vec(any_link(), 1..4), login in any_login(), deleted: bool, pools in 0_usize..2, claims in 0_usize..2,
    ) {
        let named = |count: usize| vec!["ci/x".to_owned(); count];
        let mut now = Observed { login, pools: named(pools), claims: named(claims), ..observed(Link::Down) };
        if deleted {
            now = going(now);
        }
        for link in links {
            now = Observed { link, ..now };
            let first = decide(&now);
            let Some(status) = first.status else { return Ok(()) };
            let after = with(now.clone(), |source| source.status = Some(status.clone()));
            prop_assert_eq!(decide(&after).status, Some(status), "a second look changes nothing");
            now = after;
        }
    }
}

#[test]
fn pools_of_one_name_in_two_namespaces_have_queues_of_their_own() {
    assert_eq!(queue_name("ci", "linux-x64"), "ci.linux-x64");
    assert_ne!(queue_name("team-a", "linux"), queue_name("team-b", "linux"));
    assert_ne!(queue_name("a-b", "c"), queue_name("a", "b-c"));
    let (long, other) = ("p".repeat(100), format!("{}q", "p".repeat(99)));
    assert_eq!(queue_name("ci", &long).len(), 64);
    assert_ne!(queue_name("ci", &long), queue_name("ci", &other));
}
