//! Events are news: after a while they are gone, as on a real server.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::ApiServer;
use crate::failure::Failure;
use crate::object;
use crate::store::{Key, Record, Resource};

/// Between two removals: a lock goes to whoever asks next, and that must not always be us.
const TURN: Duration = Duration::from_millis(1);

/// How far ahead the clocks of those may be who tell of events.
const SKEW: SignedDuration = SignedDuration::from_mins(10);

/// When an event happened last, by whatever it says of that. What is still to come has not happened: an event that says so
/// would stay until then.
fn last_seen(event: &Value, now: Timestamp) -> Option<Timestamp> {
    let told = ["series.lastObservedTime", "lastTimestamp", "eventTime", "metadata.creationTimestamp"];
    let times = told.iter().filter_map(|path| object::at(event, path)?.as_str()?.parse::<Timestamp>().ok());
    times.filter(|time| time.duration_since(now) <= SKEW).max()
}

fn events() -> Resource {
    Resource::new("", "events")
}

impl ApiServer {
    /// Removes events that happened before then for the last time, `most` of them at the most; how many there were. What the
    /// storage does not take now is removed another time. Others are served in between.
    pub async fn expire_events(&self, before: Timestamp, most: usize) -> usize {
        let mut gone = 0;
        for (key, seen) in self.aside(|| self.old_events(before, most)) {
            let Ok(removed) = self.aside(|| self.expire(&key, &seen)) else { break };
            gone += usize::from(removed);
            tokio::time::sleep(TURN).await;
        }
        gone
    }

    fn old_events(&self, before: Timestamp, most: usize) -> Vec<(Key, Arc<Record>)> {
        let (all, now) = (self.store(|store| store.list(&events(), None)).into_iter(), self.now());
        all.filter(|(_, record)| last_seen(&record.parse(), now).is_none_or(|last| last < before)).take(most).collect()
    }

    /// Removes an event; whether it was still as it was `seen`.
    fn expire(&self, key: &Key, seen: &Record) -> Result<bool, Failure> {
        let mut cluster = self.cluster();
        if cluster.store.get(&events(), key).is_none_or(|now| now.revision != seen.revision) {
            return Ok(false);
        }
        cluster.remove(&events(), key)?;
        self.tidy(&mut cluster);
        Ok(true)
    }
}
