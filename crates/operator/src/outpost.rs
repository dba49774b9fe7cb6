//! CI platforms we are connected to: an outpost each.
//!
//! ```text
//!   RunnerSource + Secrets ─▶ login ─▶ Platform ─▶ Post ─▶ keeper: Secrets and health every 5 min, at once on a 401
//!                                                    │        └─▶ bell, when what it found has changed
//!        bootstrap service, controllers ──Outpost────┘
//!        ingress: deliveries (any replica) ──┐
//!        demand: session, poll (the leader) ─┴─▶ intake ─▶ RunnerJob, created by name or swapped
//! ```
//!
//! Every replica is connected, because machines may prove themselves to any of them; only the leader asks for jobs.
//! Nobody waits for a probe: controllers read what the last one found.

mod choice;
pub mod demand;
mod dial;
mod figures;
mod intake;
mod keeper;
mod link;
mod login;
mod marker;
mod report;
mod state;
mod survey;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::registry::annotation::HOLD;
use api::{DemandMode, RunnerRegistration, RunnerSource};
use bytes::Bytes;
use chassis::{Board, Clock};
use fleet::claim::Standing;
use fleet::job::Tells;
use fleet::pool::Heard;
use fleet::source;
use http::HeaderMap;
use jiff::Timestamp;
use kube::{Client, ResourceExt};
use providers::attestor::Attested;
use providers::platform::{
    Capabilities, Error, Grant, Hint, Job, JobKey, Marker, Mode, Origin, Rejected, Removal, Runner, RunnerOrder,
    RunnerPlan, RunnerState, SessionOrder,
};
use runtime::{Bell, Cache, Entry, Key, Leadership, Parts};
use secrecy::SecretString;
use tokio::sync::Notify;
use tokio::time::Instant;

pub use dial::{Dial, DialError, over_the_network};
use figures::Figures;
pub(crate) use figures::{AGE, QUOTA, SWEPT, UP};
pub use intake::{Caches, Intake, Taken};
pub(crate) use intake::{Seen, runner_of};
pub(crate) use keeper::CHECKS;
use link::Platform;
pub(crate) use login::Credentials as Given;
use state::State;
pub(crate) use survey::Survey;

use crate::each::each;

/// All CI platforms that this process is connected to; clones are the same ones.
#[derive(Clone)]
pub struct Outposts(Arc<Shared>);

struct Shared {
    parts: Parts,
    client: Client,
    leadership: Leadership,
    dial: Dial,
    sources: Cache<RunnerSource>,
    /// The name of this process among its replicas.
    instance: String,
    posts: Mutex<BTreeMap<Key, Arc<Post>>>,
    levels: Mutex<BTreeMap<Key, Heard>>,
    /// What our runners are called, and when the fleet came off hold before that was read.
    marker: Mutex<Option<(Option<Instant>, Marker)>>,
    /// Asks for the marker to be looked for.
    unmarked: Notify,
    bell: Bell,
    pools: Bell,
    figures: Figures,
}

/// What an [`Outposts`] is made from.
pub struct Means<'a> {
    /// What this process is made of.
    pub parts: &'a Parts,
    /// Reads Secrets.
    pub client: &'a Client,
    /// Who leads.
    pub leadership: &'a Leadership,
    /// Makes connections.
    pub dial: Dial,
    /// The sources to connect.
    pub sources: &'a Cache<RunnerSource>,
    /// The name of this process among its replicas.
    pub instance: &'a str,
    /// The namespace of the ownership key; none for those who never name a runner and may not read it.
    pub home: Option<&'a str>,
}

/// What is known of one source.
#[derive(Default)]
struct Post {
    state: Mutex<State>,
    /// Asks for a look at Secrets and health now.
    poke: Notify,
    /// Asks for a look at jobs now.
    look: Notify,
    /// Counts looks at Secrets.
    news: Board<u64>,
}

/// A client and what it is for.
#[derive(Clone)]
struct Link {
    platform: Arc<Platform>,
    mode: DemandMode,
    hook: Arc<[SecretString]>,
}

impl Outposts {
    /// Connects all sources, now and as they come.
    pub fn spawn(means: Means<'_>) -> Self {
        let Means { parts, client, leadership, dial, sources, instance, home } = means;
        let outposts = Self(Arc::new(Shared {
            parts: parts.clone(),
            client: client.clone(),
            leadership: leadership.clone(),
            dial,
            sources: sources.clone(),
            instance: instance.to_owned(),
            posts: Mutex::default(),
            levels: Mutex::default(),
            marker: Mutex::default(),
            unmarked: Notify::new(),
            bell: Bell::default(),
            pools: Bell::default(),
            figures: Figures::new(&parts.metrics, parts.clock),
        }));
        if let Some(home) = home {
            parts.tasks.spawn("runners' marker", marker::find(outposts.clone(), home.to_owned()));
        }
        let keeper = outposts.clone();
        each(sources, &parts.tasks, "outpost", move |key, life| keeper::run(keeper.clone(), key, life));
        let follower = outposts.clone();
        sources.subscribe(move |change| {
            let wanted = |entry: Option<&Entry<RunnerSource>>| {
                let source = entry?.readable()?;
                Some((source.metadata.generation, source.annotations().contains_key(HOLD)))
            };
            if wanted(change.before) != wanted(change.after) {
                follower.poke(change.key);
            }
            true
        });
        outposts
    }

    /// The platform of a source, once there is a client of it. A client stays when its credentials are taken away: what
    /// it registered must still be removed.
    pub fn get(&self, source: &Key) -> Option<Outpost> {
        let post = lock(&self.0.posts).get(source).cloned()?;
        let link = lock(&post.state).link.clone()?;
        Some(Outpost { post, link, clock: self.0.parts.clock, holder: self.0.instance.clone() })
    }

    /// What our runners' names begin with; none while nobody has made up who we are, which the first connected cluster
    /// does, and after a hold until the key that came with it was read.
    pub fn marker(&self) -> Option<Marker> {
        let known = self.marked();
        if known.is_none() {
            self.0.unmarked.notify_one();
        }
        known
    }

    fn marked(&self) -> Option<Marker> {
        let known = lock(&self.0.marker);
        let (since, marker) = known.as_ref()?;
        (*since == self.0.leadership.reopened()).then(|| marker.clone())
    }

    /// How many jobs a pool's queue session reported last, since when it says so and when it last did; none in other modes
    /// and while nobody listens.
    pub fn level(&self, pool: &Key) -> Option<Heard> {
        lock(&self.0.levels).get(pool).cloned()
    }

    /// How a runner stands at the platform by its last complete listings; none while there was none since it has an id.
    pub fn standing(&self, source: &Key, runner: &RunnerRegistration) -> Option<Standing> {
        let post = lock(&self.0.posts).get(source).cloned()?;
        lock(&post.state).standings.get(&runner.name).copied()
    }

    /// Rung for sources of which something new is known.
    pub fn bell(&self) -> &Bell {
        &self.0.bell
    }

    /// Rung for pools whose level has changed.
    pub fn pools(&self) -> &Bell {
        &self.0.pools
    }

    /// Asks for a look at a source's Secrets and at its platform.
    pub fn poke(&self, source: &Key) {
        if let Some(post) = lock(&self.0.posts).get(source) {
            post.poke.notify_one();
        }
    }

    /// What a source's planner sees of it, as soon as its Secrets have been read once.
    pub async fn seen(&self, source: &Key) -> (source::Login, source::Link) {
        let post = self.post(source);
        let mut news = post.news.reader();
        loop {
            let seen = lock(&post.state).seen();
            match seen {
                Some(seen) => return seen,
                // The sender lives in the post, which is held here.
                None => {
                    let _ = news.changed().await;
                }
            }
        }
    }

    fn post(&self, source: &Key) -> Arc<Post> {
        Arc::clone(lock(&self.0.posts).entry(source.clone()).or_default())
    }

    /// A source is gone; unless there is another of its name by now, so is everything about it.
    fn forget(&self, source: &Key) {
        // Not under the lock: whoever changes the cache pokes posts under its own.
        let gone = self.0.sources.entry(source).is_none();
        if gone {
            lock(&self.0.posts).remove(source);
            self.0.figures.forget(source);
        }
    }
}

/// A CI platform that we are connected to, as the source's credentials are now; take a new one for every task.
#[derive(Clone)]
pub struct Outpost {
    post: Arc<Post>,
    link: Link,
    clock: Clock,
    holder: String,
}

impl Outpost {
    /// What the platform can do.
    pub fn capabilities(&self) -> Capabilities {
        self.link.platform.capabilities()
    }

    /// The labels that runners of a pool with these labels have, for [`RunnerOrder::labels`] and [`Self::matches`].
    pub fn offered(&self, pool: &[String]) -> Vec<String> {
        self.link.platform.offered(pool)
    }

    /// Whether a runner with the labels `offered` would be given a job that asks for `wanted`.
    pub fn matches(&self, wanted: &[String], offered: &[String]) -> bool {
        self.link.platform.matches(wanted, offered)
    }

    /// Whether the platform may have machines of its own for a job that asks for `wanted`.
    pub fn may_serve(&self, wanted: &[String]) -> bool {
        self.link.platform.may_serve(wanted)
    }

    /// What the platform can be asked of where code comes from.
    pub fn tells(&self) -> Tells {
        let Capabilities { tells_public, tells_forks, .. } = self.capabilities();
        Tells { public_repositories: tells_public, forks: tells_forks }
    }

    /// The queue that runners of a pool with these labels belong to, for [`RunnerOrder::session`]; none where demand comes
    /// in other ways.
    pub fn session_order(&self, pool: &Key, labels: &[String]) -> Option<SessionOrder> {
        let (name, labels, holder) =
            (source::queue_name(&pool.namespace, &pool.name), labels.to_vec(), self.holder.clone());
        (self.link.mode == DemandMode::Session).then_some(SessionOrder { name, labels, holder })
    }

    /// What a machine has to do to be that runner.
    pub fn plan(&self, grant: &Grant) -> RunnerPlan {
        self.link.platform.plan(grant)
    }

    /// Registers a machine as a runner for one job.
    pub async fn mint(&self, order: &RunnerOrder, machine: &Attested) -> Result<Grant, Error> {
        self.heed(self.link.platform.mint(order, machine, self.clock.now()).await)
    }

    /// One job as it is now; none only if the platform says that there is no such job.
    pub async fn job(&self, key: &JobKey) -> Result<Option<Job>, Error> {
        self.heed(self.link.platform.job(key).await)
    }

    /// Whose code one job runs; none only if the platform says that there is no such job.
    pub async fn origin(&self, key: &JobKey) -> Result<Option<Origin>, Error> {
        self.heed(self.link.platform.origin(key).await)
    }

    /// What the platform thinks of a runner.
    pub async fn state(&self, runner: &Runner) -> Result<RunnerState, Error> {
        self.heed(self.link.platform.state(runner).await)
    }

    /// Asks the platform to give the runner no more jobs, where it can be asked.
    pub async fn drain(&self, runner: &Runner) -> Result<Removal, Error> {
        self.heed(self.link.platform.drain(runner).await)
    }

    /// Removes a registration, by its id or, if a mint's answer was lost, by its name; one that is not there is gone.
    pub async fn deregister(&self, runner: &Runner, mode: Mode) -> Result<Removal, Error> {
        self.heed(self.link.platform.deregister(runner, mode).await)
    }

    /// Asks for the job that ended then to be run again, unless it waits or has begun since, or was another try itself.
    pub async fn rerun(&self, key: &JobKey, ended: Timestamp) -> Result<(), Error> {
        self.heed(self.link.platform.rerun(key, ended).await)
    }

    /// What a delivery says, if it is believed.
    pub fn receive(&self, headers: &HeaderMap, body: &Bytes) -> Result<Vec<Hint>, Rejected> {
        let verified = self.link.platform.verify(headers, body, &self.link.hook)?;
        Ok(self.link.platform.parse(&verified))
    }

    /// Asks whoever looks for jobs to look now.
    pub fn look(&self) {
        self.post.look.notify_one();
    }

    /// A credential that is refused may have been renewed: the Secrets are read again at once.
    fn heed<T>(&self, answer: Result<T, Error>) -> Result<T, Error> {
        if matches!(answer, Err(Error::Auth { .. })) {
            self.post.poke.notify_one();
        }
        answer
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
