//! What is believed, what it says, and what no bytes can do.

use super::*;
use crate::platform::{Job, JobState};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

const SECRET: &str = "It's a Secret to Everybody";

fn signed(secret: &str, body: &[u8]) -> HeaderMap {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    let signature = format!("sha256={}", hex::encode(&mac.finalize().into_bytes()));
    HeaderMap::from_iter([
        (SIGNATURE.parse().unwrap(), signature.parse().unwrap()),
        (EVENT.parse().unwrap(), WORKFLOW_JOB.parse().unwrap()),
        (CONTENT_TYPE, "application/json; charset=utf-8".parse().unwrap()),
    ])
}

fn believe(headers: &HeaderMap, body: &[u8], secrets: &[&str]) -> Result<Verified, Rejected> {
    let secrets: Vec<SecretString> = secrets.iter().map(|secret| (*secret).into()).collect();
    verify(headers, &Bytes::copy_from_slice(body), &secrets)
}

fn organization() -> Scope {
    Scope::Organization("Codertocat".into())
}

fn payload(action: &str, status: &str, attempt: u64) -> Value {
    json!({
        "action": action,
        "workflow_job": { "id": 40 + attempt, "run_id": 4, "run_attempt": attempt, "status": status, "labels": ["a"] },
        "repository": { "full_name": "Codertocat/Hello-World", "private": false },
    })
}

fn read(event: &str, payload: &Value, scope: &Scope, installation: Option<u64>) -> Hint {
    let delivery = Verified::new(event.to_owned(), Bytes::from(payload.to_string()));
    parse(&delivery, scope, installation).pop().expect("a delivery says one thing")
}

fn job(hint: Hint) -> Job {
    let Hint::Job(job) = hint else { panic!("{hint:?}") };
    *job
}

#[test]
fn r5_4_the_vendors_own_example_is_believed() {
    let headers = signed(SECRET, b"Hello, World!");
    let expected = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    assert_eq!(headers[SIGNATURE], expected);
    let verified = believe(&headers, b"Hello, World!", &["other", SECRET]).unwrap();
    assert_eq!((verified.event(), verified.body()), (WORKFLOW_JOB, b"Hello, World!".as_slice()));
}

#[rstest]
#[case::no_secret(&[], None, None, Rejected::NoSecret)]
#[case::empty_secret(&[""], None, None, Rejected::NoSecret)]
#[case::other_secret(&["other"], None, None, Rejected::Forged)]
#[case::form(&[SECRET], Some((CONTENT_TYPE.as_str(), "application/x-www-form-urlencoded")), None, Rejected::WrongType)]
#[case::sha1(&[SECRET], Some((SIGNATURE, "sha1=0123456789012345678901234567890123456789")), None, Rejected::Unsigned)]
#[case::empty(&[SECRET], Some((SIGNATURE, "")), None, Rejected::Unsigned)]
#[case::short(&[SECRET], Some((SIGNATURE, "sha256=75")), None, Rejected::Unsigned)]
#[case::other_bytes(&[SECRET], None, Some("Hello, World?"), Rejected::Forged)]
fn c6_16_anything_else_is_rejected(
    #[case] secrets: &[&str],
    #[case] header: Option<(&'static str, &str)>,
    #[case] body: Option<&str>,
    #[case] expected: Rejected,
) {
    let mut headers = signed(SECRET, b"Hello, World!");
    if let Some((name, value)) = header {
        headers.insert(name, value.parse().unwrap());
    }
    let body = body.unwrap_or("Hello, World!");
    assert_eq!(believe(&headers, body.as_bytes(), secrets).unwrap_err(), expected);
}

#[test]
fn the_traps_of_the_published_examples_are_seen() {
    let waiting = payload("queued", "waiting", 1);
    assert_eq!(job(read(WORKFLOW_JOB, &waiting, &organization(), None)).state, JobState::Blocked);
    let mut assigned = payload("queued", "queued", 1);
    assigned["workflow_job"]["runner_id"] = json!(7);
    assigned["workflow_job"]["runner_name"] = json!("somebody");
    let queued = job(read(WORKFLOW_JOB, &assigned, &organization(), None));
    assert_eq!((queued.state, queued.runner, queued.public), (JobState::Queued, None, Some(true)));
    let mut unnamed = payload("in_progress", "in_progress", 1);
    unnamed["workflow_job"]["runner_name"] = json!("");
    assert_eq!(job(read(WORKFLOW_JOB, &unnamed, &organization(), None)).runner, None);
}

#[test]
fn c6_16_strangers_jobs_are_ignored_however_well_they_are_signed() {
    let mut payload = payload("queued", "queued", 1);
    let ignored = |payload: &Value, scope: Scope, ours| {
        let hint = read(WORKFLOW_JOB, payload, &scope, ours);
        let Hint::Ignored(why) = hint else { panic!("{hint:?}") };
        why
    };
    assert_eq!(ignored(&payload, Scope::Organization("acme".into()), None), "scope");
    assert_eq!(ignored(&payload, Scope::Enterprise("acme".into()), None), "scope");
    payload["installation"] = json!({ "id": 8 });
    assert_eq!(ignored(&payload, organization(), Some(7)), "installation");
    assert_eq!(read("ping", &json!({}), &organization(), None), Hint::Ignored("ping"));
    assert_eq!(read("push", &json!({}), &organization(), None), Hint::Ignored("event"));
    assert_eq!(read(WORKFLOW_JOB, &json!({ "action": "queued" }), &organization(), None), Hint::Unreadable);
    payload["installation"] = json!({ "id": 7 });
    payload["pad"] = json!("x".repeat(LARGEST));
    assert_eq!(read(WORKFLOW_JOB, &payload, &organization(), Some(7)), Hint::Unreadable);
}

/// Deliveries that were of interest once: what others found breaking parsers, and what broke this one.
const CORPUS: &str = include_str!("corpus.txt");

#[test]
fn the_corpus_is_read_without_a_panic() {
    for line in CORPUS.lines() {
        let delivery = Verified::new(WORKFLOW_JOB.to_owned(), Bytes::from_static(line.as_bytes()));
        let hints = parse(&delivery, &organization(), Some(1));
        assert_eq!(hints.len(), 1, "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn p13_only_the_very_bytes_that_were_signed_are_believed(body: Vec<u8>, other: Vec<u8>, bit in 0_usize..8, at: prop::sample::Index) {
        let headers = signed(SECRET, &body);
        prop_assert!(believe(&headers, &body, &[SECRET]).is_ok());
        prop_assert_eq!(believe(&headers, &other, &[SECRET]).is_ok(), other == body);
        if !body.is_empty() {
            let mut changed = body.clone();
            changed[at.index(body.len())] ^= 1 << bit;
            prop_assert_eq!(believe(&headers, &changed, &[SECRET]).unwrap_err(), Rejected::Forged);
        }
        let mut digits = headers[SIGNATURE].to_str().unwrap().as_bytes().to_vec();
        let place = 7 + at.index(64);
        digits[place] = if digits[place] == b'0' { b'1' } else { b'0' };
        let mut forged = headers.clone();
        forged.insert(SIGNATURE, std::str::from_utf8(&digits).unwrap().parse().unwrap());
        prop_assert_eq!(believe(&forged, &body, &[SECRET]).unwrap_err(), Rejected::Forged);
    }

    #[test]
    fn c6_16_no_bytes_make_the_parser_panic(body: Vec<u8>, event in "workflow_job|ping|.{0,10}") {
        let delivery = Verified::new(event, Bytes::from(body));
        prop_assert_eq!(parse(&delivery, &organization(), None).len(), 1);
    }

    #[test]
    fn c6_16_no_change_of_a_payload_makes_the_parser_panic(at: prop::sample::Index, piece in ".{0,6}", cut: prop::sample::Index) {
        let mut text = payload("queued", "queued", 1).to_string();
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        text.insert_str(places[at.index(places.len())], &piece);
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        text.truncate(places[cut.index(places.len())]);
        let delivery = Verified::new(WORKFLOW_JOB.to_owned(), Bytes::from(text));
        prop_assert_eq!(parse(&delivery, &organization(), None).len(), 1);
    }

    #[test]
    fn p13_c6_3_events_in_any_order_give_one_key_for_each_attempt(order in Just(vec![0_usize, 1, 2, 3, 4, 5, 6, 7]).prop_shuffle(), twice: bool) {
        let events = [("queued", "queued"), ("waiting", "waiting"), ("in_progress", "in_progress"), ("completed", "completed")];
        let mut keys = std::collections::BTreeMap::<_, Vec<JobState>>::new();
        for number in order.iter().chain(if twice { order.as_slice() } else { &[] }) {
            let (action, status) = events[number % 4];
            let told = payload(action, status, u64::try_from(number / 4).unwrap() + 1);
            let job = job(read(WORKFLOW_JOB, &told, &organization(), None));
            keys.entry(job.key).or_default().push(job.state);
        }
        prop_assert_eq!(keys.len(), 2);
        for states in keys.values() {
            let last = states.iter().max().unwrap();
            prop_assert!(matches!(last, JobState::Done(_)), "whatever came last, the end is the end: {:?}", last);
        }
    }
}
