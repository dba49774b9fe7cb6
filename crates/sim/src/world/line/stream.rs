//! Streams of events, which may be late, break off, end, fall silent or change the order of what they tell.
//!
//! What the API promises is kept: events about one object keep their order, and so does the last event of each
//! delivery, whose resource version is where a client goes on from after a break.

use std::collections::BTreeSet;

use bytes::{Bytes, BytesMut};
use futures::{FutureExt as _, StreamExt as _};
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use serde_json::Value;
use tokio::sync::mpsc;
use tower::BoxError;

use super::Broken;
use super::answer::Answer;
use super::journey::Journey;
use crate::world::dice::Dice;
use crate::world::fault::Fault;
use crate::world::network::Way;
use crate::world::weather::Weather;

type Pipe = mpsc::UnboundedSender<Result<Frame<Bytes>, BoxError>>;

/// `answer` with the network between its body and the reader.
pub(super) fn piped(journey: Journey, answer: Response<Answer>) -> Response<Answer> {
    let (pipe, reader) = mpsc::unbounded_channel();
    let (head, body) = answer.into_parts();
    let (world, id) = (journey.world.clone(), journey.id);
    world.tasks().spawn(format!("stream {id}"), pump(journey, body, pipe));
    let reader = futures::stream::unfold(reader, async |mut reader| Some((reader.recv().await?, reader)));
    Response::from_parts(head, StreamBody::new(reader.boxed()).boxed_unsync())
}

/// How a stream ends before its time.
#[derive(Clone, Copy)]
enum End {
    Cut,
    Closed,
    Expired,
}

/// How a stream goes on after a delivery.
enum Turn {
    On,
    Ended(End),
    /// Nothing comes any more, and nothing says so.
    Silent,
}

async fn pump(journey: Journey, mut body: Answer, pipe: Pipe) {
    let world = journey.world.clone();
    let mut dice = world.dice(&format!("stream {}", journey.id));
    let severed = world.network().severed(&journey.ends);
    let mut rest = BytesMut::new();
    loop {
        let frame = tokio::select! {
            biased;
            () = pipe.closed() => return,
            () = severed.notified() => return end(&journey, &pipe, End::Cut),
            frame = body.frame() => frame,
        };
        if !journey.desk.plain {
            tokio::time::sleep(world.network().weather(&journey.ends).travel(&mut dice)).await;
            tokio::select! {
                biased;
                () = pipe.closed() => return,
                () = world.network().open(&journey.ends, Way::Back) => {}
            }
        }
        let mut over = !take(frame, &mut rest);
        // Whatever arrived in the meantime comes along.
        while !over && let Some(frame) = body.frame().now_or_never() {
            over = !take(frame, &mut rest);
        }
        let lines = whole_lines(&mut rest);
        match deliver(&journey, lines, &pipe, &mut dice) {
            Turn::On if over => return,
            Turn::On => {}
            Turn::Ended(how) => return end(&journey, &pipe, how),
            Turn::Silent => return pipe.closed().await,
        }
    }
}

/// Adds a frame's bytes; whether the stream goes on.
fn take(frame: Option<Result<Frame<Bytes>, BoxError>>, rest: &mut BytesMut) -> bool {
    let Some(Ok(frame)) = frame else { return false };
    if let Some(bytes) = frame.data_ref() {
        rest.extend_from_slice(bytes);
    }
    true
}

fn whole_lines(rest: &mut BytesMut) -> Vec<Bytes> {
    let mut lines = Vec::new();
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        lines.push(rest.split_to(end + 1).freeze());
    }
    lines
}

fn deliver(journey: &Journey, mut lines: Vec<Bytes>, pipe: &Pipe, dice: &mut Dice) -> Turn {
    if journey.desk.brake.is_cut() {
        return Turn::Silent;
    }
    let weather = if journey.desk.plain { Weather::CALM } else { journey.world.network().weather(&journey.ends) };
    let left = dice.unit();
    let bounds = [weather.watch_cut, weather.watch_closed, weather.watch_expired, weather.half_open];
    let fates = [Turn::Ended(End::Cut), Turn::Ended(End::Closed), Turn::Ended(End::Expired), Turn::Silent];
    let mut bound = 0.0;
    for (likelihood, fate) in bounds.into_iter().zip(fates) {
        bound += likelihood;
        if left < bound {
            if matches!(fate, Turn::Silent) {
                journey.met(Fault::HalfOpen);
            }
            return fate;
        }
    }
    if dice.chance(weather.reordered) && mix(&mut lines, dice) {
        journey.met(Fault::Reordered);
    }
    if !lines.is_empty() {
        journey.world.delivered(lines.len());
        // One frame: a client that has seen the first event of a mixed delivery has seen the last.
        let _ = pipe.send(Ok(Frame::data(Bytes::from(lines.concat()))));
    }
    Turn::On
}

/// Mixes events about different objects; the last one stays the last, so that its version covers all of them.
fn mix(lines: &mut [Bytes], dice: &mut Dice) -> bool {
    let Some((_, movable)) = lines.split_last_mut() else { return false };
    let subjects: Option<BTreeSet<String>> = movable.iter().map(subject).collect();
    // A bookmark, or two events about one object: nothing of that may change places.
    if movable.len() < 2 || subjects.is_none_or(|subjects| subjects.len() < movable.len()) {
        return false;
    }
    dice.shuffle(movable);
    true
}

/// The object that an event is about; nothing if it is none.
fn subject(line: &Bytes) -> Option<String> {
    let event: Value = serde_json::from_slice(line).ok()?;
    if event["type"] == "BOOKMARK" {
        return None;
    }
    let meta = &event["object"]["metadata"];
    Some(format!("{}/{}", meta["namespace"], meta["name"]))
}

fn end(journey: &Journey, pipe: &Pipe, how: End) {
    journey.met(match how {
        End::Cut => Fault::WatchCut,
        End::Closed => Fault::WatchClosed,
        End::Expired => Fault::WatchExpired,
    });
    let last = match how {
        End::Cut => Some(Err(Broken::Reset.into())),
        End::Closed => None,
        End::Expired => {
            let expired = serde_json::json!({
                "type": "ERROR",
                "object": {
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "message": "too old resource version", "reason": "Expired", "code": 410,
                },
            });
            Some(Ok(Frame::data(Bytes::from(format!("{expired}\n")))))
        }
    };
    if let Some(last) = last {
        // The reader may be gone.
        let _ = pipe.send(last);
    }
}

#[cfg(test)]
mod tests;
