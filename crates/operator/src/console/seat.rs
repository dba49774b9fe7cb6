//! What those get who may look: the picture, and a seat from which they see it change.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::{BufMut, Bytes, BytesMut};
use chassis::Tasks;
use futures::stream;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};
use tokio::time::{Instant, sleep, sleep_until};

use super::page::dress;
use super::show::{Frame, Show};

/// Seats; half of the listener's connections, so that whoever scrapes metrics finds one.
const SEATS: usize = 64;
/// How long one is kept: below the life of a connection, which it takes with it, so that the next one has a whole life, too.
/// And how long a token is trusted without asking again.
const SITTING: Duration = Duration::from_mins(4);
/// How often something is said when nothing happens, so that a dead connection can be told from a calm one.
const HEARTBEAT: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct House {
    show: Arc<Show>,
    seats: Arc<Semaphore>,
    tasks: Tasks,
}

/// The pages that need a token.
pub(super) fn closed(show: &Arc<Show>, tasks: &Tasks) -> Router {
    let house = House { show: Arc::clone(show), seats: Arc::new(Semaphore::new(SEATS)), tasks: tasks.clone() };
    let pages = Router::new()
        .route("/console/state", get(|State(house): State<House>| async move { seated(&house, state) }))
        .route("/console/events", get(|State(house): State<House>| async move { seated(&house, events) }));
    dress(pages.with_state(house))
}

const FRESH: (header::HeaderName, HeaderValue) = (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));

/// Gives a seat, if there is one.
fn seated(house: &House, serve: impl FnOnce(&House, OwnedSemaphorePermit) -> Response) -> Response {
    let Ok(place) = Arc::clone(&house.seats).try_acquire_owned() else {
        let later = (header::RETRY_AFTER, HeaderValue::from_static("5"));
        return (StatusCode::SERVICE_UNAVAILABLE, [FRESH, later], "too many are looking already\n").into_response();
    };
    serve(house, place)
}

fn state(house: &House, place: OwnedSemaphorePermit) -> Response {
    // The seat is given up after the last of it was asked for.
    let whole = stream::unfold((Some(house.show.whole().1), place), |(whole, place)| async move {
        Some((Ok::<_, Infallible>(whole?), (None, place)))
    });
    let json = HeaderValue::from_static("application/json");
    ([FRESH, (header::CONTENT_TYPE, json)], Body::from_stream(whole)).into_response()
}

fn events(house: &House, place: OwnedSemaphorePermit) -> Response {
    let said = stream::unfold(Seat::take(house, place), |mut seat| async move {
        let said = seat.next().await?;
        Some((Ok::<_, Infallible>(said), seat))
    });
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    let last = (header::CONNECTION, HeaderValue::from_static("close"));
    ([FRESH, kind, last], Body::from_stream(said)).into_response()
}

/// Somebody who looks.
struct Seat {
    show: Arc<Show>,
    /// The picture that they have.
    serial: u64,
    first: Option<Bytes>,
    changes: broadcast::Receiver<Arc<Frame>>,
    until: Instant,
    stopping: Pin<Box<dyn Future<Output = ()> + Send>>,
    _place: OwnedSemaphorePermit,
}

impl Seat {
    fn take(house: &House, place: OwnedSemaphorePermit) -> Self {
        let (serial, whole, changes) = house.show.join();
        Self {
            show: Arc::clone(&house.show),
            serial,
            first: Some(event("state", &whole)),
            changes,
            until: Instant::now() + SITTING,
            stopping: Box::pin(house.tasks.stopping()),
            _place: place,
        }
    }

    /// What is sent next; nothing if the sitting is over and they have to come again.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            tokio::select! {
                biased;
                () = &mut self.stopping => return None,
                () = sleep_until(self.until) => return None,
                heard = self.changes.recv() => match heard {
                    Ok(frame) if frame.serial <= self.serial => {}
                    Ok(frame) => {
                        self.serial = frame.serial;
                        return Some(event("change", &frame.text));
                    }
                    Err(RecvError::Lagged(_)) => return Some(self.start_over()),
                    Err(RecvError::Closed) => return None,
                },
                () = sleep(HEARTBEAT) => return Some(Bytes::from_static(b": calm\n\n")),
            }
        }
    }

    fn start_over(&mut self) -> Bytes {
        let (serial, whole, changes) = self.show.join();
        (self.serial, self.changes) = (serial, changes);
        event("state", &whole)
    }
}

/// An event as browsers read it. JSON has no line breaks of its own.
fn event(name: &str, json: &[u8]) -> Bytes {
    let mut text = BytesMut::with_capacity(json.len() + 32);
    text.put_slice(b"event: ");
    text.put_slice(name.as_bytes());
    text.put_slice(b"\ndata: ");
    text.put_slice(json);
    text.put_slice(b"\n\n");
    text.freeze()
}
