//! Deliveries: which are believed, and what they say.

use std::collections::BTreeSet;

use ::http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::hex;
use crate::platform::{Hook, JobResult, Rejected, Verified};
use hmac::{Hmac, KeyInit, Mac};

const SECRET: &str = "s3cret";

fn gitea() -> Gitea {
    Scripted::default().gitea(organization())
}

fn signed(secret: &str, body: &[u8]) -> HeaderMap {
    let mut hmac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    hmac.update(body);
    headers(&hex::encode(&hmac.finalize().into_bytes()))
}

fn headers(signature: &str) -> HeaderMap {
    let pairs = [
        ("content-type", "application/json"),
        ("x-gitea-event", "workflow_job"),
        // Gitea sends these too; neither counts.
        ("x-github-event", "workflow_job"),
        ("x-hub-signature-256", "sha256=787fbd13de613d153169a9eeb7014d093a827be494734a257f3236e5fba0219d"),
        ("x-gitea-signature", signature),
    ];
    let header =
        |(name, value): (&'static str, &str)| (HeaderName::from_static(name), HeaderValue::try_from(value).unwrap());
    pairs.map(header).into_iter().collect()
}

fn told(gitea: &Gitea, body: &str) -> Vec<Hint> {
    let body = Bytes::from(body.to_owned());
    let verified = gitea.verify(&signed(SECRET, &body), &body, &[SECRET.into()]);
    gitea.parse(&verified.expect("it is signed"))
}

fn job(gitea: &Gitea, body: &Value) -> Job {
    let mut hints = told(gitea, &body.to_string());
    let (Some(Hint::Job(job)), 0) = (hints.pop(), hints.len()) else { panic!("it tells of one job") };
    *job
}

#[test]
fn the_signature_is_that_of_the_known_example() {
    let body = Bytes::from_static(br#"{"action":"queued"}"#);
    let known = headers("787fbd13de613d153169a9eeb7014d093a827be494734a257f3236e5fba0219d");
    assert!(gitea().verify(&known, &body, &[SECRET.into()]).is_ok());
    assert!(gitea().verify(&known, &body, &["old".into(), SECRET.into()]).is_ok(), "either of two secrets");
}

#[rstest]
#[case::without_a_secret_the_header_is_there_and_empty("", Rejected::Unsigned)]
#[case::github_prefix("sha256=787fbd13de613d153169a9eeb7014d093a827be494734a257f3236e5fba0219d", Rejected::Unsigned)]
#[case::a_part("787fbd13de613d153169a9eeb7014d09", Rejected::Unsigned)]
#[case::no_digits("787fbd13de613d153169a9eeb7014d093a827be494734a257f3236e5fba0219x", Rejected::Unsigned)]
#[case::another("887fbd13de613d153169a9eeb7014d093a827be494734a257f3236e5fba0219d", Rejected::Forged)]
fn any_other_signature_is_rejected(#[case] signature: &str, #[case] why: Rejected) {
    let body = Bytes::from_static(br#"{"action":"queued"}"#);
    assert_eq!(gitea().verify(&headers(signature), &body, &[SECRET.into()]).err(), Some(why));
}

#[test]
fn two_signatures_are_none() {
    let body = Bytes::from_static(b"{}");
    let mut twice = signed(SECRET, &body);
    twice.append("x-gitea-signature", HeaderValue::from_static("00"));
    assert_eq!(gitea().verify(&twice, &body, &[SECRET.into()]).err(), Some(Rejected::Unsigned));
}

#[test]
fn nobody_signs_with_no_secret_or_an_empty_one() {
    let body = Bytes::from_static(b"{}");
    for secrets in [vec![], vec![SecretString::from("")]] {
        assert_eq!(gitea().verify(&signed("", &body), &body, &secrets).err(), Some(Rejected::NoSecret));
    }
}

#[test]
fn a_form_is_not_taken_although_its_signature_may_be_right() {
    let body = Bytes::from_static(b"payload=%7B%7D");
    let mut form = signed(SECRET, &body);
    form.insert("content-type", HeaderValue::from_static("application/x-www-form-urlencoded"));
    assert_eq!(gitea().verify(&form, &body, &[SECRET.into()]).err(), Some(Rejected::WrongType));
}

#[test]
fn every_recorded_delivery_of_a_job_has_its_key() {
    let gitea = gitea();
    let keys = |words: &str| -> BTreeSet<JobKey> {
        let of = RECORDED.iter().filter(|(name, _)| name.starts_with(words));
        of.map(|(name, _)| job(&gitea, &recorded(name)).key).collect()
    };
    let mut first = keys("queued");
    first.extend(keys("in_progress"));
    first.extend(keys("completed."));
    assert_eq!(first, BTreeSet::from([JobKey::new("git.example.com/fleet/demo/jobs/1")]));
    assert_eq!(keys("completed-cancelled"), BTreeSet::from([JobKey::new("git.example.com/fleet/demo/jobs/2")]));
    assert_eq!(keys("waiting"), BTreeSet::from([JobKey::new("git.example.com/fleet/demo/jobs/15")]));
}

#[rstest]
#[case("queued.repo", JobState::Queued, None)]
#[case("waiting.repo", JobState::Blocked, None)]
#[case("in_progress.org", JobState::Running, Some("eph-1"))]
#[case("completed.org", JobState::Done(JobResult::Succeeded), Some("eph-1"))]
#[case("completed-cancelled-queued.repo", JobState::Done(JobResult::Cancelled), None)]
fn a_recorded_delivery_says_how_far_its_job_is(
    #[case] name: &str,
    #[case] state: JobState,
    #[case] runner: Option<&str>,
) {
    let job = job(&gitea(), &recorded(name));
    assert_eq!((job.state, job.runner.as_deref()), (state, runner));
    assert_eq!(job.labels[0], "hyperfleet");
    assert_eq!(job.repository.as_deref(), Some("fleet/demo"));
    assert_eq!(job.started_at.is_some(), runner.is_some(), "1970 is no beginning");
    assert_eq!(job.ended_at.is_some(), matches!(state, JobState::Done(_)));
    assert_eq!((job.public, job.fork), (Some(true), None));
    assert!(job.queued_at.is_some());
}

#[test]
fn a_rerun_is_the_same_job_that_waits_since_nobody_knows_when() {
    let mut again = recorded("queued.repo");
    again["workflow_job"]["run_attempt"] = json!(1);
    let (first, again) = (job(&gitea(), &recorded("completed.repo")), job(&gitea(), &again));
    assert_eq!(again.key, first.key);
    assert_eq!((again.state, again.queued_at), (JobState::Queued, None));
    assert!(first.queued_at.is_some());
}

#[rstest]
#[case(false, false, true)]
#[case(true, false, false)]
#[case(false, true, false)]
fn public_is_what_anybody_can_see(#[case] private: bool, #[case] internal: bool, #[case] public: bool) {
    let mut body = recorded("queued.repo");
    body["repository"]["private"] = json!(private);
    body["repository"]["internal"] = json!(internal);
    assert_eq!(job(&gitea(), &body).public, Some(public));
}

#[test]
fn what_is_about_another_scope_or_event_is_ignored() {
    let body = recorded("queued.repo").to_string();
    for scope in [
        GiteaScope::Organization("other".to_owned()),
        GiteaScope::Repository { owner: "fleet".to_owned(), name: "other".to_owned() },
    ] {
        assert_eq!(told(&Scripted::default().gitea(scope), &body), [Hint::Ignored("other-scope")]);
    }
    for scope in [GiteaScope::Instance, GiteaScope::Repository { owner: "Fleet".to_owned(), name: "demo".to_owned() }] {
        assert!(matches!(told(&Scripted::default().gitea(scope), &body)[..], [Hint::Job(_)]));
    }
    let push = Verified::new("push".to_owned(), Bytes::from(body));
    assert_eq!(gitea().parse(&push), [Hint::Ignored("other-event")]);
}

#[rstest]
#[case::no_json("{")]
#[case::no_job(r#"{"action":"queued","repository":{"private":false}}"#)]
fn what_cannot_be_read_is_said_to_be(#[case] body: &str) {
    assert_eq!(told(&gitea(), body), [Hint::Unreadable]);
}

#[rstest]
#[case("url", json!("https://git.example.com/api/v1/repos/fleet/../actions/jobs/1"))]
#[case("url", json!("https://git.example.com/api/v1/repos/fleet/a%2Fb/actions/jobs/1"))]
#[case("url", json!("https://git.example.com/api/v1/repos/fleet/demo/actions/jobs/7"))]
#[case("url", json!("https://git.example.com/api/v1/repos/fleet/demo/actions/jobs/1/logs"))]
#[case("status", json!("dreaming"))]
#[case("id", json!(-1))]
fn a_job_that_makes_no_sense_is_unreadable(#[case] field: &str, #[case] value: Value) {
    let mut body = recorded("queued.repo");
    body["workflow_job"][field] = value;
    assert_eq!(told(&gitea(), &body.to_string()), [Hint::Unreadable]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_give_one_hint_and_nothing_worse(bytes: Vec<u8>, event in "[a-z_]{0,12}|workflow_job") {
        prop_assert_eq!(gitea().parse(&Verified::new(event, bytes.into())).len(), 1);
    }

    #[test]
    fn a_damaged_recording_gives_one_hint_and_nothing_worse(
        which in 0..RECORDED.len(), at: prop::sample::Index, byte: u8, cut: prop::sample::Index
    ) {
        let mut body = RECORDED[which].1.as_bytes().to_vec();
        let at = at.index(body.len());
        body[at] = byte;
        body.truncate(cut.index(body.len() * 4));
        prop_assert_eq!(gitea().parse(&Verified::new("workflow_job".to_owned(), body.into())).len(), 1);
    }

    #[test]
    fn one_bit_off_is_forged(at: prop::sample::Index, bit in 0..8_u8) {
        let body = RECORDED[0].1.as_bytes();
        let (mut changed, headers) = (body.to_vec(), signed(SECRET, body));
        changed[at.index(body.len())] ^= 1 << bit;
        let verdict = gitea().verify(&headers, &changed.into(), &[SECRET.into()]);
        prop_assert_eq!(verdict.err(), Some(Rejected::Forged));
    }
}

#[tokio::test]
async fn hooks_of_the_scope_are_listed_with_what_they_tell() {
    let row = |url: &str, active: bool, events: &[&str], content: &str| {
        json!({
            "id": 1, "type": "gitea", "active": active, "events": events,
            "config": { "url": url, "content_type": content },
        })
    };
    let first = json!([
        row("https://a.example.com", true, &["push", "workflow_job"], "json"),
        row("https://off.example.com", false, &["workflow_job"], "json"),
    ]);
    let second = json!([row("https://b.example.com", true, &["push"], "form")]);
    let server = Scripted::new([(200, first), (200, second), (200, json!([]))]);
    let heard = server.gitea(organization()).hearings().await.unwrap();
    let hearing =
        |url: &str, jobs, json| crate::platform::Hearing { url: url.to_owned(), jobs, json, deliveries: None };
    assert_eq!(heard, [hearing("https://a.example.com", true, true), hearing("https://b.example.com", false, false)]);
    assert_eq!(server.made()[0].1, "/api/v1/orgs/fleet/hooks?page=1&limit=50");
}

#[tokio::test]
async fn hooks_that_may_not_be_listed_are_not_taken_for_none() {
    let server = Scripted::new([(403, json!({ "message": "user should be an owner of the organization" }))]);
    let told = server.gitea(organization()).hearings().await.unwrap_err().to_string();
    assert!(told.contains("may not list webhooks") && told.contains("should be an owner"), "{told}");
}
