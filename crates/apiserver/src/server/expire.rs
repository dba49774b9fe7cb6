//! Events are news: after a while they are gone, as on a real server.

use jiff::Timestamp;
use serde_json::Value;

use super::ApiServer;
use crate::object;
use crate::store::{Key, Resource};

/// When an event happened last, by whatever it says of that.
fn last_seen(event: &Value) -> Option<Timestamp> {
    let told = ["series.lastObservedTime", "lastTimestamp", "eventTime", "metadata.creationTimestamp"];
    let times = told.iter().filter_map(|path| object::at(event, path)?.as_str()?.parse().ok());
    times.max()
}

impl ApiServer {
    /// Removes events that happened before then for the last time, `most` of them at the most; how many there were. What the
    /// storage does not take now is removed another time.
    pub fn expire_events(&self, before: Timestamp, most: usize) -> usize {
        let events = Resource::new("", "events");
        let mut cluster = self.cluster();
        let all = cluster.store.list(&events, None).into_iter();
        let old = all.filter(|(_, record)| last_seen(&record.parse()).is_none_or(|last| last < before));
        let old: Vec<Key> = old.map(|(key, _)| key).take(most).collect();
        old.iter().take_while(|key| cluster.remove(&events, key).is_ok()).count()
    }
}
