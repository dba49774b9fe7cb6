//! Each fault does what it is called.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use sim::world::{Desk, Fault, Weather, World};
use std::sync::{Arc, Mutex};
use tower::Service as _;

use crate::counter::{COUNTERS, count, counter, counting, reading, send};

fn only(change: impl FnOnce(&mut Weather)) -> Weather {
    let mut weather = Weather::CALM;
    change(&mut weather);
    weather
}

/// What one write of an actor meets in this weather: its answer, and how often it took effect.
fn one_write(weather: Weather) -> (Option<u16>, u64, Vec<Fault>) {
    World::run(1, async |world: World| {
        world.kubernetes("kube");
        let person = world.person("person", "kube");
        person.create(COUNTERS, &counter("a", 0)).await.unwrap();
        world.weather(weather);
        let answers: Arc<Mutex<Vec<Option<u16>>>> = Arc::default();
        let heard = Arc::clone(&answers);
        world.start("a", move |desk| {
            let (line, heard) = (desk.line("kube"), Arc::clone(&heard));
            desk.tasks.spawn("write", async move {
                // Without a version: a doubled write takes effect twice.
                let answer = send(&line, "PUT", &format!("{COUNTERS}/a"), counter("a", 1)).await;
                heard.lock().unwrap().push(answer.map(|(code, _)| code));
            });
        });
        world.pass(Duration::from_mins(1)).await;
        let acted = world.history().writes().flat_map(|call| call.acted.clone()).count();
        let answer = answers.lock().unwrap()[0];
        (answer, u64::try_from(acted).unwrap(), world.figures().faults.into_keys().collect())
    })
}

#[test]
fn each_fault_has_its_effect_and_its_answer() {
    assert_eq!(one_write(Weather::CALM), (Some(200), 1, vec![]));
    assert_eq!(one_write(only(|weather| weather.request_lost = 1.0)), (None, 0, vec![Fault::RequestLost]));
    assert_eq!(one_write(only(|weather| weather.answer_lost = 1.0)), (None, 1, vec![Fault::AnswerLost]));
    assert_eq!(one_write(only(|weather| weather.duplicated = 1.0)), (Some(200), 2, vec![Fault::Duplicated]));
    assert_eq!(one_write(only(|weather| weather.half_open = 1.0)), (None, 1, vec![Fault::HalfOpen]));
    assert_eq!(one_write(only(|weather| weather.conflict = 1.0)), (Some(409), 0, vec![Fault::Conflict]));
    assert_eq!(one_write(only(|weather| weather.throttled = 1.0)), (Some(429), 0, vec![Fault::Throttled]));
    let (answer, _, faults) = one_write(only(|weather| weather.reset = 1.0));
    assert_eq!(answer, None);
    assert!(matches!(faults[..], [Fault::Reset | Fault::ResetLate]));
    let (answer, effects, faults) = one_write(only(|weather| weather.broken = 1.0));
    match faults[..] {
        [Fault::ServerError] => assert_eq!((answer, effects), (Some(500), 0)),
        [Fault::Unavailable] => assert_eq!((answer, effects), (Some(503), 0)),
        [Fault::GatewayTimeout] => assert_eq!((answer, effects), (Some(504), 1)),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_stale_read_is_an_answer_that_was_true_before() {
    World::run(9, async |world: World| {
        world.kubernetes("kube");
        let person = world.person("person", "kube");
        person.create(COUNTERS, &counter("a", 0)).await.unwrap();
        for count in 1..=20 {
            person.replace(&format!("{COUNTERS}/a"), &counter("a", count)).await.unwrap();
            person.get(&format!("{COUNTERS}/a")).await.unwrap();
        }
        world.weather(only(|weather| weather.stale = 1.0));
        let seen: Arc<Mutex<Vec<u64>>> = Arc::default();
        let heard = Arc::clone(&seen);
        world.start("a", move |desk: &Desk| {
            let (line, heard) = (desk.line("kube"), Arc::clone(&heard));
            desk.tasks.spawn("read", async move {
                for _ in 0..50 {
                    let (_, object) =
                        send(&line, "GET", &format!("{COUNTERS}/a?resourceVersion=0"), Value::Null).await.unwrap();
                    heard.lock().unwrap().push(reading(&object).unwrap());
                }
            });
        });
        world.pass(Duration::from_mins(1)).await;
        let seen = seen.lock().unwrap().clone();
        assert_eq!(seen.len(), 50);
        assert!(seen.iter().all(|count| (15..=20).contains(count)) && seen.iter().any(|count| *count < 20), "{seen:?}");
    });
}

/// Follows the counters until the stream ends; what was seen of each counter, and how it ended.
async fn follow(desk: Desk, seen: Arc<Mutex<Vec<(String, u64)>>>) -> Result<Option<Value>, ()> {
    let request = Request::builder()
        .uri(format!("{COUNTERS}?watch=true&resourceVersion=1"))
        .body(Full::new(Bytes::new()))
        .unwrap();
    let mut body = desk.line("kube").call(request).await.map_err(drop)?.into_body();
    let mut last = None;
    while let Some(frame) = body.frame().await {
        let bytes = frame.map_err(drop)?.into_data().unwrap();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let event: Value = serde_json::from_slice(line).unwrap();
            if event["type"] == "ERROR" {
                last = Some(event["object"]["code"].clone());
                continue;
            }
            let object = &event["object"];
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            seen.lock().unwrap().extend(reading(object).map(|count| (name, count)));
        }
    }
    Ok(last)
}

type Ending = Option<Result<Option<Value>, ()>>;

type Followed = (Vec<(String, u64)>, Ending);

fn watched(weather: Weather) -> Followed {
    World::run(3, async |world: World| {
        world.kubernetes("kube");
        world.start("a", counting);
        world.start("b", counting);
        world.start("c", counting);
        let seen: Arc<Mutex<Vec<(String, u64)>>> = Arc::default();
        let end: Arc<Mutex<Ending>> = Arc::default();
        let (told, ended) = (Arc::clone(&seen), Arc::clone(&end));
        world.start("w", move |desk: &Desk| {
            let (told, ended, desk) = (Arc::clone(&told), Arc::clone(&ended), desk.clone());
            desk.tasks.clone().spawn("follow", async move {
                let how = follow(desk, told).await;
                *ended.lock().unwrap() = Some(how);
            });
        });
        world.pass(Duration::from_secs(2)).await;
        world.weather_between("w", "kube", weather);
        world.pass(Duration::from_mins(2)).await;
        assert!(count(&world, "a").unwrap() > 200);
        let seen = seen.lock().unwrap().clone();
        let end = end.lock().unwrap().clone();
        (seen, end)
    })
}

#[test]
fn a_stream_may_break_end_expire_or_fall_silent() {
    assert_eq!(watched(only(|weather| weather.watch_cut = 1.0)).1, Some(Err(())));
    assert_eq!(watched(only(|weather| weather.watch_closed = 1.0)).1, Some(Ok(None)));
    assert_eq!(watched(only(|weather| weather.watch_expired = 1.0)).1, Some(Ok(Some(json!(410)))));
    let (seen, end) = watched(only(|weather| weather.half_open = 1.0));
    assert_eq!(end, None);
    assert!(seen.len() < 30, "nothing comes any more: {}", seen.len());
}

#[test]
fn a_slow_stream_mixes_objects_but_never_the_story_of_one() {
    let slow = only(|weather| {
        (weather.delay, weather.reordered) = ((Duration::from_millis(100), Duration::from_millis(900)), 1.0);
    });
    let (seen, end) = watched(slow);
    assert_eq!(end, None);
    assert!(seen.len() > 500);
    for name in ["a", "b", "c"] {
        let counts: Vec<u64> = seen.iter().filter(|(of, _)| of == name).map(|(_, count)| *count).collect();
        assert!(counts.is_sorted() && counts.windows(2).all(|pair| pair[1] == pair[0] + 1), "{name}: {counts:?}");
    }
}
