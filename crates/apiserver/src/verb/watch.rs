//! Follows a collection: a stream of changes from a version on, with bookmarks and an end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use api::{Cause, Violation};
use bytes::Bytes;
use futures::stream;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::answer::{Answer, Content};
use crate::call::Call;
use crate::cluster::Cluster;
use crate::failure::{Failure, Of};
use crate::form::Form;
use crate::query::{Query, unsupported};
use crate::server::ApiServer;
use crate::store::{Change, Entry, OutOfReach, Record};
use crate::table;
use crate::verb::list::Selection;
use crate::verb::{present, read};

/// How often a client that takes bookmarks gets one, as on the real server.
const BOOKMARKS: Duration = Duration::from_mins(1);

/// A watch without a timeout of its own lasts at least this long, and at most twice.
const LEAST: u64 = 1_800;

/// One client's watch.
struct Watch {
    server: ApiServer,
    call: Call,
    selection: Selection,
    /// Everything up to here was sent.
    seen: u64,
    news: Arc<Notify>,
    ready: VecDeque<Bytes>,
    bookmark: Option<Instant>,
    end: Instant,
    over: bool,
    headed: bool,
}

/// `GET` of a collection with `watch`.
pub(crate) fn watch(server: &ApiServer, cluster: &mut Cluster, call: Call) -> Result<Answer, Failure> {
    judge(&call.query)?;
    let selection = Selection::read(&call)?;
    let seconds = call.query.number::<u64>("timeoutSeconds")?.filter(|seconds| *seconds > 0);
    let seconds = seconds.unwrap_or_else(|| LEAST + cluster.entropy.below(LEAST));
    let version = match call.query.text("resourceVersion") {
        "" => 0,
        text => text.parse().map_err(|_| read::not_a_version(text))?,
    };
    let initial = call.query.flag("sendInitialEvents");
    if initial == Some(true) {
        read::reached(version, cluster.store.revision())?;
    }
    let takes_bookmarks = call.query.flag("allowWatchBookmarks") == Some(true);
    let now = Instant::now();
    let mut watch = Watch {
        server: server.clone(),
        selection,
        seen: if version == 0 { cluster.store.revision() } else { version },
        news: cluster.store.news(),
        ready: VecDeque::new(),
        bookmark: takes_bookmarks.then_some(now + BOOKMARKS),
        end: now + Duration::from_secs(seconds),
        over: false,
        headed: true,
        call,
    };
    if initial == Some(true) || (initial.is_none() && version == 0) {
        watch.begin(cluster, initial == Some(true) && takes_bookmarks);
    } else {
        watch.catch_up(cluster);
    }
    let events = stream::unfold(watch, async |mut watch| Some((watch.next().await?, watch)));
    Ok(Answer {
        code: StatusCode::OK,
        body: Content::Events(Box::pin(events)),
        warnings: Vec::new(),
        content_type: "application/json",
    })
}

impl Watch {
    /// Everything there is, as if it had just been added.
    fn begin(&mut self, cluster: &Cluster, say_when_done: bool) {
        let namespace = Some(self.call.target.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        for (_, record) in cluster.store.list(&self.call.served.resource, namespace) {
            if self.selection.matches(self.call.kind(), &record) {
                self.send("ADDED", &record);
            }
        }
        self.seen = cluster.store.revision();
        if say_when_done {
            let annotations = json!({ "k8s.io/initial-events-end": "true" });
            self.send_bookmark(Some(annotations));
        }
    }

    /// What happened since the last look.
    fn catch_up(&mut self, cluster: &Cluster) {
        match cluster.store.journal().after(self.seen) {
            Ok(entries) => {
                let entries: Vec<Entry> = entries.filter(|entry| self.concerns(entry)).cloned().collect();
                for entry in entries {
                    self.tell(&entry);
                }
                self.seen = self.seen.max(cluster.store.revision());
            }
            Err(out) => {
                let oldest = match out {
                    OutOfReach::Compacted { oldest } => oldest,
                    OutOfReach::Future { newest } => newest,
                };
                let message = format!("too old resource version: {} ({oldest})", self.seen);
                self.push(&json!({ "type": "ERROR", "object": Failure::expired(message).to_status() }));
                self.over = true;
            }
        }
    }

    fn concerns(&self, entry: &Entry) -> bool {
        let namespace = self.call.target.namespace.as_str();
        entry.resource == self.call.served.resource && (namespace.is_empty() || entry.key.namespace == namespace)
    }

    /// A selector makes objects come and go without being made or removed.
    fn tell(&mut self, entry: &Entry) {
        let matches = |record: &Arc<Record>| self.selection.matches(self.call.kind(), record);
        match &entry.change {
            Change::Added { after } if matches(after) => self.send("ADDED", after),
            Change::Modified { before, after } => match (matches(before), matches(after)) {
                (true, true) => self.send("MODIFIED", after),
                (false, true) => self.send("ADDED", after),
                (true, false) => self.send("DELETED", &left(before, entry.revision)),
                (false, false) => {}
            },
            Change::Deleted { before, last } if matches(before) => self.send("DELETED", last),
            Change::Added { .. } | Change::Deleted { .. } => {}
        }
    }

    fn send(&mut self, what: &str, record: &Record) {
        let object = match self.call.form {
            Form::Object => self.call.served.text(record).into_owned(),
            Form::Table(version) => {
                let object = self.call.served.value(record);
                self.table(version, object, record.revision).to_string()
            }
            Form::Metadata(version) | Form::MetadataList(version) => {
                table::partial(&self.call.served.value(record), version).to_string()
            }
        };
        self.ready.push_back(format!("{{\"type\":\"{what}\",\"object\":{object}}}\n").into());
    }

    fn send_bookmark(&mut self, annotations: Option<Value>) {
        let kind = self.call.kind();
        let mut object = self.call.served.blank.as_deref().cloned().unwrap_or_else(|| json!({}));
        object["kind"] = json!(kind.kind);
        object["apiVersion"] = json!(kind.api_version());
        object["metadata"] = json!({ "resourceVersion": self.seen.to_string() });
        if let Some(annotations) = annotations {
            object["metadata"]["annotations"] = annotations;
        }
        let object = match self.call.form {
            Form::Object => object,
            Form::Metadata(version) | Form::MetadataList(version) => table::partial(&object, version),
            Form::Table(version) => self.table(version, object, self.seen),
        };
        self.push(&json!({ "type": "BOOKMARK", "object": object }));
    }

    /// A table of one row. Its ages are counted to now, not to when the watch began.
    fn table(&mut self, version: &str, object: Value, revision: u64) -> Value {
        self.call.now = self.server.now();
        let list = json!({ "resourceVersion": revision.to_string() });
        let headed = std::mem::take(&mut self.headed);
        present::rendered(&self.call, version, &[object], list, headed)
    }

    fn push(&mut self, event: &Value) {
        self.ready.push_back(format!("{event}\n").into());
    }

    /// The next event, or none when the watch is over.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.over {
                return None;
            }
            let bookmark = self.bookmark.unwrap_or(self.end);
            // Asked for before the look, so that no commit falls between the two.
            let news = Arc::clone(&self.news);
            let changed = news.notified();
            let server = self.server.clone();
            if server.look(|cluster| cluster.store.revision()) > self.seen {
                server.look(|cluster| self.catch_up(cluster));
                continue;
            }
            tokio::select! {
                biased;
                () = changed => {}
                () = tokio::time::sleep_until(self.end) => self.over = true,
                () = tokio::time::sleep_until(bookmark) => {
                    self.bookmark = Some(bookmark + BOOKMARKS);
                    self.send_bookmark(None);
                }
            }
        }
    }
}

/// An object that a selector does not pick any more: as it was, with the version of the change that took it out.
fn left(before: &Record, revision: u64) -> Record {
    let mut object = before.parse();
    crate::object::set(&mut object, "resourceVersion", json!(revision.to_string()));
    Record::new(&object, revision)
}

/// Options that contradict each other.
fn judge(query: &Query) -> Result<(), Failure> {
    const MATCH: &str = "resourceVersionMatch";
    let forbidden = |why: &str| Violation::at(MATCH, Cause::Forbidden, format!("Forbidden: {why}"));
    let matching = query.text(MATCH);
    let initial = query.flag("sendInitialEvents").is_some();
    let mut violations = Vec::new();
    if initial && matching != "NotOlderThan" {
        violations.push(forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
    }
    if !matching.is_empty() {
        if !initial {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            violations.push(forbidden(why));
        }
        if matching != "NotOlderThan" {
            violations.push(unsupported(MATCH, matching, &["NotOlderThan"]));
        }
        if !query.text("continue").is_empty() {
            violations.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
        }
    }
    if violations.is_empty() {
        return Ok(());
    }
    Err(Failure::invalid(Of { group: "meta.k8s.io", name: "ListOptions" }, "", &violations))
}
