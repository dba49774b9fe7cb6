//! One computation for all, none for nobody, and not too often.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, header};
use chassis::{Clock, Tasks};
use http_body_util::BodyExt;
use tokio::time::{Instant, advance, sleep};
use tower::ServiceExt;

use super::super::rows::Place;
use super::super::seat;
use super::super::show::Show;
use super::super::state::State;

struct Studio {
    show: Arc<Show>,
    looks: Arc<AtomicU32>,
    tasks: Tasks,
}

/// A show whose picture is another one each time that somebody made it, if `lively`.
fn studio(lively: bool) -> Studio {
    let looks = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&looks);
    let show = Arc::new(Show::new(Clock::starting_at(jiff::Timestamp::UNIX_EPOCH), move || {
        let look = counted.fetch_add(1, Ordering::Relaxed);
        let instance = if lively { look.to_string() } else { "calm".to_owned() };
        State { place: Place { instance, ..Place::default() }, ..State::default() }
    }));
    let (tasks, painter) = (Tasks::new(), Arc::clone(&show));
    let stopping = tasks.stopping();
    tasks.spawn("painter", async move {
        tokio::select! {
            () = stopping => {}
            () = painter.run() => {}
        }
    });
    Studio { show, looks, tasks }
}

impl Studio {
    fn looks(&self) -> u32 {
        self.looks.swap(0, Ordering::Relaxed)
    }

    /// Something changes every ten milliseconds, for so many seconds.
    async fn storm(&self, seconds: u32) {
        for _ in 0..seconds * 100 {
            self.show.stir();
            sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_who_looks_means_nothing_to_do_and_ten_cost_as_much_as_one() {
    let studio = studio(true);
    studio.storm(10).await;
    assert_eq!(studio.looks(), 0);
    let mut seats: Vec<_> = (0..10).map(|_| studio.show.join()).collect();
    studio.storm(3).await;
    let looks = studio.looks();
    assert!((9..=11).contains(&looks), "{looks} pictures in three seconds");
    for (serial, _, changes) in &mut seats {
        let first = changes.try_recv().unwrap();
        assert_eq!(first.serial, *serial + 1, "no change is missed");
    }
    drop(seats);
    sleep(Duration::from_secs(3)).await;
    studio.looks();
    studio.storm(10).await;
    assert_eq!(studio.looks(), 0, "they have all gone");
    studio.tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_calm_picture_is_looked_at_again_but_not_sent_again() {
    let studio = studio(false);
    let (_, _, mut changes) = studio.show.join();
    sleep(Duration::from_secs(10)).await;
    let looks = studio.looks();
    assert!((4..=6).contains(&looks), "{looks} pictures in ten seconds");
    assert!(changes.try_recv().is_err());
    let told = || serde_json::from_slice::<serde_json::Value>(&studio.show.whole().1).unwrap();
    let before = told();
    sleep(Duration::from_mins(10)).await;
    let after = told();
    assert_eq!((&before["serial"], &before["state"]), (&after["serial"], &after["state"]));
    let passed = after["now"].as_i64().unwrap() - before["now"].as_i64().unwrap();
    assert!(passed >= 600_000, "whoever comes later learns the time that it is then, not {passed} ms later");
}

#[tokio::test(start_paused = true)]
async fn who_only_asks_for_the_picture_shares_it_too() {
    let studio = studio(true);
    for _ in 0..100 {
        studio.show.whole();
        advance(Duration::from_millis(10)).await;
    }
    assert_eq!(studio.looks(), 4, "one for 300 milliseconds each");
    let (serial, whole) = studio.show.whole();
    let whole: serde_json::Value = serde_json::from_slice(&whole).unwrap();
    assert_eq!((whole["serial"].as_u64(), whole["state"]["place"]["instance"].as_str()), (Some(serial), Some("3")));
}

/// A connection lives for a while longer than a sitting: a second sitting on it would be cut off in the middle.
#[tokio::test(start_paused = true)]
async fn a_sitting_is_over_before_its_connection_which_goes_with_it() {
    let studio = studio(true);
    let request = Request::get("/console/events").body(Body::empty()).unwrap();
    let seat = seat::closed(&studio.show, &studio.tasks).oneshot(request).await.unwrap();
    assert_eq!(seat.headers()[header::CONNECTION], "close");
    let begun = Instant::now();
    let said = tokio::select! {
        said = seat.into_body().collect() => said.unwrap().to_bytes(),
        () = studio.storm(600) => panic!("it has no end"),
    };
    let lasted = begun.elapsed().as_secs();
    assert!((235..245).contains(&lasted), "it lasted {lasted} seconds");
    assert!(said.starts_with(b"event: state\n") && said.ends_with(b"}\n\n"), "no event is cut off");
    studio.tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}
