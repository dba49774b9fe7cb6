//! Learns of jobs: the leader's part.
//!
//! ```text
//!   mode session ─▶ a queue session per pool ─▶ jobs, then their receipt; the level; old jobs are asked about
//!   mode webhook ─▶ deliveries come to the ingress; what they miss: what the platform failed to deliver, and polls
//!   mode poll ────▶ polls
//!   always ───────▶ registrations that no claim has are swept
//! ```
//!
//! It begins anew with every term of leadership and with every change of a source's settings: nothing that is remembered
//! here is needed to go on.

mod poll;
mod recheck;
mod session;
mod sweep;

use std::sync::Arc;
use std::time::Duration;

use api::DemandMode;
use fleet::source::Settings;
use runtime::Key;
use tokio::time::timeout;

use super::{Caches, Intake, Outpost, Outposts, Post, lock};
use crate::each::{Life, each};

/// What a session gets to end in order.
const FAREWELL: Duration = Duration::from_secs(5);

/// What demand is learnt with.
#[derive(Clone)]
pub struct Feed {
    /// Takes in what is seen.
    pub intake: Intake,
    /// Pools, for whose queues there are; jobs, for those that a platform does not list any more; claims, for whose
    /// registrations there are.
    pub caches: Caches,
}

/// Learns of the jobs of all sources, while this process leads.
pub fn spawn(outposts: &Outposts, feed: &Feed) {
    let (sources, tasks) = (&outposts.0.sources, &outposts.0.parts.tasks);
    let (outposts, feed) = (outposts.clone(), feed.clone());
    each(sources, tasks, "demand", move |key, life| {
        let desk = Desk { outposts: outposts.clone(), feed: feed.clone(), source: key };
        desk.run(life)
    });
}

/// Where the jobs of one source are learnt of.
#[derive(Clone)]
struct Desk {
    outposts: Outposts,
    feed: Feed,
    source: Key,
}

impl Desk {
    async fn run(self, life: Life) {
        let post = self.outposts.post(&self.source);
        let mut stopping = Box::pin(self.outposts.0.parts.tasks.stopping());
        loop {
            tokio::select! {
                biased;
                () = &mut stopping => return,
                () = life.over() => return,
                () = self.ready(&post) => {}
            }
            let Some(outpost) = self.outposts.get(&self.source) else { continue };
            let settings = lock(&post.state).settings.clone();
            let (end, ending) = Life::new();
            let mut work = Box::pin(self.work(&outpost, ending));
            tokio::select! {
                biased;
                () = &mut stopping => {}
                () = life.over() => {}
                () = self.outposts.0.leadership.lost() => {}
                () = changed(&post, settings.as_ref()) => {}
                () = &mut work => {}
            }
            drop(end);
            drop(timeout(FAREWELL, work).await);
        }
    }

    /// Resolves once we lead, know what is there, and are connected.
    async fn ready(&self, post: &Post) {
        let leadership = &self.outposts.0.leadership;
        let mut news = post.news.reader();
        loop {
            leadership.acquired().await;
            let since = leadership.since();
            let Caches { jobs, claims, pools } = &self.feed.caches;
            jobs.fresh(since).await;
            claims.fresh(since).await;
            pools.fresh(since).await;
            if leadership.is_held() && lock(&post.state).link.is_some() {
                return;
            }
            // The sender lives in the post, which is held here.
            let _ = news.changed().await;
        }
    }

    async fn work(&self, outpost: &Outpost, life: Life) {
        let learn = async {
            match outpost.link.mode {
                DemandMode::Session => {
                    tokio::join!(session::run(self, outpost, &life), recheck::run(self, outpost, &life));
                }
                DemandMode::Webhook | DemandMode::Poll => poll::run(self, outpost, &life).await,
            }
        };
        tokio::join!(learn, sweep::run(self, outpost, &life));
    }
}

/// Resolves once a source is connected in another way.
async fn changed(post: &Arc<Post>, settings: Option<&Settings>) {
    let mut news = post.news.reader();
    while lock(&post.state).settings.as_ref() == settings {
        let _ = news.changed().await;
    }
}
