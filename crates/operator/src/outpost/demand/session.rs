//! Listens to the queues of a source's pools: a session each.
//!
//! What a message says is stored before its receipt is given, so that whoever listens next hears it again if we die in
//! between. A session ends in order when its pool goes, when settings change and when somebody else leads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{Level, Moment, RunnerPool};
use chassis::Board;
use fleet::pool::Heard;
use fleet::source;
use futures::StreamExt;
use providers::platform::{Batch, Error, Job, JobKey, SessionOrder, Statistics};
use reconcile::Backoff;
use runtime::Key;
use tokio::sync::{Notify, mpsc};

use super::super::intake::Seen;
use super::super::link::Session;
use super::super::lock;
use super::{Desk, Outpost};
use crate::each::Life;

/// How often a session that somebody else has is asked for: when a leader dies, its session outlives it by minutes.
const TAKEN: Duration = Duration::from_secs(10);

/// Jobs of one message that are stored at the same time.
const HANDS: usize = 16;

/// What went wrong is tried again; a lost session is nothing unusual.
const BACKOFF: Backoff =
    Backoff { initial: Duration::from_secs(1), factor: 2.0, max: Duration::from_mins(1), jitter: 0.2 };

/// Listens for every pool of the source until `life` is over.
pub(super) async fn run(desk: &Desk, outpost: &Outpost, life: &Life) {
    let changes = Arc::new(Notify::new());
    follow(desk, &changes);
    let mut open: BTreeMap<Key, (SessionOrder, Board<()>)> = BTreeMap::new();
    let (present, mut left) = mpsc::channel(1);
    loop {
        let wanted = wanted(desk, outpost);
        open.retain(|pool, (order, _)| wanted.get(pool) == Some(order));
        for (pool, order) in wanted {
            open.entry(pool).or_insert_with_key(|pool| {
                let (sender, life) = Life::new();
                let (desk, outpost, present) = (desk.clone(), outpost.clone(), present.clone());
                let ear = Ear { desk, outpost, pool: pool.clone(), order: order.clone(), _present: present };
                ear.desk.outposts.0.parts.tasks.clone().spawn(format!("session/{pool}"), ear.listen(life));
                (order, sender)
            });
        }
        tokio::select! {
            biased;
            () = life.over() => break,
            () = changes.notified() => {}
        }
    }
    // Whoever listens next must not meet our own sessions.
    drop((open, present));
    let _: Option<()> = left.recv().await;
}

/// Notifies of changes to pools, as long as anybody holds `changes`.
fn follow(desk: &Desk, changes: &Arc<Notify>) {
    let (changes, source) = (Arc::downgrade(changes), desk.source.clone());
    desk.feed.caches.pools.subscribe(move |change| {
        let Some(changes) = changes.upgrade() else { return false };
        if change.key.namespace == source.namespace {
            changes.notify_one();
        }
        true
    });
}

/// The queues there should be.
fn wanted(desk: &Desk, outpost: &Outpost) -> BTreeMap<Key, SessionOrder> {
    let source = &desk.source;
    let ours = |pool: &RunnerPool| {
        pool.metadata.namespace.as_deref() == Some(source.namespace.as_str())
            && pool.spec.source_ref.name.as_str() == source.name
            && pool.metadata.deletion_timestamp.is_none()
    };
    let pools = desk.feed.caches.pools.select(ours);
    let order = |pool: &Arc<RunnerPool>| {
        let labels: Vec<String> = pool.spec.labels.iter().map(|label| label.as_str().to_owned()).collect();
        let key = Key::of(&pool.metadata);
        let order = outpost.session_order(&key, &outpost.offered(&labels))?;
        Some((key, order))
    };
    pools.iter().filter_map(order).collect()
}

/// Who listens to one pool's queue.
struct Ear {
    desk: Desk,
    outpost: Outpost,
    pool: Key,
    order: SessionOrder,
    /// Held as long as it listens.
    _present: mpsc::Sender<()>,
}

impl Ear {
    async fn listen(self, life: Life) {
        let mut failures = 0;
        while !self.is_over(&life) {
            let pause = match self.outpost.heed(self.outpost.link.platform.open_session(&self.order).await) {
                Ok(session) => {
                    failures = 0;
                    self.say(Some(&source::Session::Held));
                    self.serve(session, &life).await;
                    BACKOFF.initial
                }
                Err(Error::Conflict { detail, .. }) => {
                    self.say(Some(&source::Session::Taken(detail)));
                    TAKEN
                }
                Err(error) => {
                    failures += 1;
                    self.note(&error, "open a queue session");
                    error.wait().unwrap_or_else(|| BACKOFF.delay(failures, &self.pool))
                }
            };
            self.wait(pause, &life).await;
        }
        self.say(None);
        lock(&self.desk.outposts.0.levels).remove(&self.pool);
        self.desk.outposts.0.pools.ring(&self.pool);
    }

    fn is_over(&self, life: &Life) -> bool {
        life.is_over() || self.desk.outposts.0.parts.tasks.is_stopping()
    }

    async fn wait(&self, pause: Duration, life: &Life) {
        let stopping = self.desk.outposts.0.parts.tasks.stopping();
        tokio::select! {
            biased;
            () = stopping => {}
            () = life.over() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }

    /// Hears what there is to hear, until the session is lost or `life` is over; then it is closed.
    async fn serve(&self, mut session: Session, life: &Life) {
        self.level(Some(session.statistics()));
        let mut stopping = Box::pin(self.desk.outposts.0.parts.tasks.stopping());
        loop {
            let heard = tokio::select! {
                biased;
                () = &mut stopping => break,
                () = life.over() => break,
                heard = session.next(self.capacity()) => heard,
            };
            let batch = match self.outpost.heed(heard) {
                Ok(batch) => batch,
                Err(error) => return self.note(&error, "listen to a queue"),
            };
            if !self.store(&batch, life).await {
                break;
            }
            self.level(batch.statistics);
            if let Some(message) = batch.message
                && let Err(error) = session.acknowledge(message).await
            {
                return self.note(&error, "acknowledge a message");
            }
        }
        if let Err(error) = session.close().await {
            self.note(&error, "end a queue session");
        }
    }

    /// Stores what a message says, however long that takes; whether it is stored.
    async fn store(&self, batch: &Batch, life: &Life) -> bool {
        // What is said of one job keeps its order.
        let mut by_job: BTreeMap<&JobKey, Vec<&Job>> = BTreeMap::new();
        for job in &batch.jobs {
            by_job.entry(&job.key).or_default().push(job);
        }
        let storing: Vec<_> = by_job.into_values().map(|told| self.store_one(told, life)).collect();
        futures::stream::iter(storing).buffered(HANDS).all(|stored| async move { stored }).await
    }

    /// Stores what is said of one job.
    async fn store_one(&self, told: Vec<&Job>, life: &Life) -> bool {
        let (source, outpost, queue) = (&self.desk.source, &self.outpost, Some(self.pool.name.as_str()));
        for job in told {
            let mut failures = 0;
            let seen = Seen { source, outpost, job, certain: false, queue };
            while let Err(fault) = self.desk.feed.intake.take(seen).await {
                failures += 1;
                chassis::telemetry::report(&fault);
                self.wait(BACKOFF.delay(failures, &self.pool), life).await;
                if self.is_over(life) {
                    return false;
                }
            }
        }
        true
    }

    /// How many runners the pool may have.
    fn capacity(&self) -> u32 {
        self.desk.feed.caches.pools.get(&self.pool).map_or(0, |pool| pool.spec.scaling.max_replicas)
    }

    /// The platform has spoken, and the level is this now, or what it was. It is told on when it has changed; its time is
    /// that of the change, so that at rest nothing is written.
    fn level(&self, statistics: Option<Statistics>) {
        let outposts = &self.desk.outposts.0;
        let now = outposts.parts.clock.now();
        outposts.figures.told(&self.desk.source, now);
        let changed = {
            let mut levels = lock(&outposts.levels);
            let known = levels.get(&self.pool).map(|heard| heard.level.jobs);
            let changed = statistics.filter(|statistics| known != Some(statistics.jobs));
            if let Some(Statistics { jobs, .. }) = changed {
                let level = Level { jobs, as_of: Moment::from(now) };
                levels.insert(self.pool.clone(), Heard { level, at: now });
            } else if let Some(heard) = levels.get_mut(&self.pool) {
                heard.at = now;
            }
            changed.is_some()
        };
        if changed {
            outposts.pools.ring(&self.pool);
        }
    }

    /// How it is with the session, for the source's planner.
    fn say(&self, session: Option<&source::Session>) {
        let changed = {
            let mut state = lock(&self.outpost.post.state);
            let before = match session {
                Some(session) => state.sessions.insert(self.pool.clone(), session.clone()),
                None => state.sessions.remove(&self.pool),
            };
            before.as_ref() != session
        };
        if changed {
            self.desk.outposts.0.bell.ring(&self.desk.source);
        }
    }

    fn note(&self, error: &Error, what: &'static str) {
        tracing::warn!(pool = %self.pool, %error, what, "the queue session does not work");
    }
}
