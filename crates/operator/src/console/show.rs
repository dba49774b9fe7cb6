//! One picture for everybody who looks, made anew some times a second while somebody does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use chassis::Clock;
use serde::Serialize;
use tokio::sync::{Notify, broadcast};
use tokio::time::{Instant, sleep};

use super::diff::Change;
use super::state::State;

/// The shortest time from one picture to the next: what comes within it is shown together.
const PACE: Duration = Duration::from_millis(300);
/// The longest: nobody says when another replica begins to lead.
const STALE: Duration = Duration::from_secs(2);
/// Looking takes at most this part of one processor, however much there is to see.
const SHARE: u32 = 10;
/// Changes that are kept for somebody who is slow; who is slower gets the whole picture again.
const KEPT: usize = 16;

/// The picture and those who look.
pub(super) struct Show {
    look: Box<dyn Fn() -> State + Send + Sync>,
    clock: Clock,
    picture: Mutex<Picture>,
    changes: broadcast::Sender<Arc<Frame>>,
    arrived: Notify,
    stirred: Notify,
}

/// A change, ready to be sent.
#[derive(Debug)]
pub(super) struct Frame {
    /// The number of the picture that it leads to.
    pub(super) serial: u64,
    /// What is sent.
    pub(super) text: Bytes,
}

#[derive(Default)]
struct Picture {
    state: State,
    serial: u64,
    /// When it was made, and how long that took.
    made: Option<(Instant, Duration)>,
    /// The whole of it as JSON, once somebody wanted it.
    whole: Option<Bytes>,
}

/// What has changed, with what our clock says, by which the page tells ages.
#[derive(Serialize)]
struct News<'a> {
    serial: u64,
    now: i64,
    change: Change<'a>,
}

impl Show {
    /// Shows what `look` sees.
    pub(super) fn new(clock: Clock, look: impl Fn() -> State + Send + Sync + 'static) -> Self {
        Self {
            look: Box::new(look),
            clock,
            picture: Mutex::default(),
            changes: broadcast::Sender::new(KEPT),
            arrived: Notify::new(),
            stirred: Notify::new(),
        }
    }

    /// Something has changed; costs next to nothing.
    pub(super) fn stir(&self) {
        self.stirred.notify_one();
    }

    /// The whole picture as JSON, and its number.
    pub(super) fn whole(&self) -> (u64, Bytes) {
        let mut picture = self.refreshed();
        (picture.serial, self.written(&mut picture))
    }

    /// The whole picture, and every change from it on.
    pub(super) fn join(&self) -> (u64, Bytes, broadcast::Receiver<Arc<Frame>>) {
        let mut picture = self.refreshed();
        // Under the lock: no change falls between the two.
        let changes = self.changes.subscribe();
        self.arrived.notify_one();
        (picture.serial, self.written(&mut picture), changes)
    }

    /// Makes pictures while somebody looks.
    pub(super) async fn run(&self) {
        loop {
            if self.changes.receiver_count() == 0 {
                self.arrived.notified().await;
                continue;
            }
            let rest = pause(self.refreshed().made.map(|(_, took)| took));
            sleep(rest).await;
            tokio::select! {
                () = self.stirred.notified() => {}
                () = sleep(STALE) => {}
            }
        }
    }

    /// The whole picture as it is sent. The time is that of sending: a calm picture stays the same for hours.
    fn written(&self, picture: &mut Picture) -> Bytes {
        let Picture { state, serial, whole, .. } = picture;
        let state = whole.get_or_insert_with(|| json(&*state));
        let head = format!("{{\"serial\":{serial},\"now\":{},\"state\":", self.now());
        [head.as_bytes(), &state[..], &b"}"[..]].concat().into()
    }

    /// The picture, made anew if it is not of this moment.
    fn refreshed(&self) -> MutexGuard<'_, Picture> {
        let mut picture = self.picture.lock().unwrap_or_else(PoisonError::into_inner);
        if picture.made.is_some_and(|(at, took)| at.elapsed() < pause(Some(took))) {
            return picture;
        }
        let begun = Instant::now();
        let state = (self.look)();
        if state != picture.state {
            picture.serial += 1;
            picture.whole = None;
            if self.changes.receiver_count() > 0 {
                let change = Change::between(&picture.state, &state);
                let text = json(&News { serial: picture.serial, now: self.now(), change });
                // An error means that the last one has just left.
                let _ = self.changes.send(Arc::new(Frame { serial: picture.serial, text }));
            }
            picture.state = state;
        }
        picture.made = Some((Instant::now(), begun.elapsed()));
        picture
    }

    fn now(&self) -> i64 {
        self.clock.now().as_millisecond()
    }
}

fn json(content: &impl Serialize) -> Bytes {
    serde_json::to_vec(content).expect("rows are plain JSON").into()
}

/// How long a picture that took so long counts as one of this moment.
fn pause(took: Option<Duration>) -> Duration {
    PACE.max(took.unwrap_or_default() * SHARE)
}
