//! Hypervisors we are connected to: a site each.
//!
//! ```text
//!   HypervisorCluster + Secrets ─▶ login ─▶ Sites::connect ─▶ Site ─▶ monitor: a look every 30 s, checks every 5 min
//!                                                              │         │  └─▶ bell, when what it found has changed
//!                                        controllers read ─────┘         └────▶ orphans: what no claim has, goes
//! ```
//!
//! Every site has a monitor of its own, so that one that does not answer delays no other. Controllers never wait for a
//! look: they read what the last one found.

mod books;
mod dial;
mod figures;
mod images;
mod ledger;
mod link;
mod login;
mod machines;
mod monitor;
mod orphans;
mod ownership;
mod report;
mod survey;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::{HypervisorCluster, Reason};
use fleet::cluster::{Link, Probe, Settings, Trouble};
use fleet::orphan::Outlook;
use providers::http::Trust;
use providers::hypervisor::{Inventory, Keyring, Needs, PoolName};
use runtime::{Bell, Key, Leadership, Parts};
use tokio::sync::Notify;

pub use books::Books;
pub use dial::{Dial, over_the_network};
use figures::Figures;
pub(crate) use figures::{ORPHANS, RESOURCES, TLS_INSECURE, UP};
pub use link::Hypervisor;
pub use login::{Complete, Login, Secrets};
pub use machines::Want;
pub(crate) use machines::{bridge, disks, life, links, mode};
pub use ownership::{Ownership, OwnershipError, SECRET as OWNERSHIP};
pub(crate) use survey::{Survey, sought};

/// All hypervisors that this process is connected to.
#[derive(Clone)]
pub struct Sites(Arc<Shared>);

struct Shared {
    parts: Parts,
    leadership: Leadership,
    dial: Dial,
    pace: Pace,
    bell: Bell,
    /// Rung for claims whose machines have changed.
    machines: Bell,
    /// Whose machine has which number on which cluster.
    register: Arc<Mutex<Register>>,
    sites: Mutex<BTreeMap<Key, Place>>,
    books: Books,
    figures: Figures,
}

/// Which claim has which number on which cluster.
type Register = BTreeMap<Key, BTreeMap<api::VmId, Key>>;

/// What became of a connection.
enum Place {
    /// It stands.
    Open(Arc<Site>),
    /// It cannot be made from these settings.
    Closed(Settings, Trouble),
}

/// The pause between two looks at a hypervisor, asked anew each time.
pub type Pace = Arc<dyn Fn() -> Duration + Send + Sync>;

/// What a cluster's machines need, asked anew for every check.
pub type AskNeeds = Arc<dyn Fn() -> Needs + Send + Sync>;

/// One hypervisor that we are connected to.
pub struct Site {
    key: Key,
    hypervisor: Hypervisor,
    settings: Mutex<Settings>,
    view: Mutex<View>,
    usage: Mutex<Usage>,
    /// What was found out about images and networks, for a while.
    catalogue: Mutex<images::Catalogue>,
    /// One inspection at a time.
    inspecting: tokio::sync::Mutex<()>,
    /// Asks for a look now.
    poke: Notify,
    /// Tells of every new listing.
    listed: Notify,
    /// What is to be said about orphans.
    outlook: Mutex<Outlook>,
    /// Set when nobody needs it any more.
    given_up: AtomicBool,
    /// Rung for the cluster when what was found has changed.
    bell: Bell,
    /// Rung for claims whose machines have changed.
    machines: Bell,
    register: Arc<Mutex<Register>>,
    /// Machines that the last listing is behind on.
    doubted: Mutex<BTreeSet<api::VmId>>,
    /// What new machines were promised.
    ledger: Mutex<ledger::Ledger>,
    /// Signs what is ours.
    owner: Mutex<Keyring>,
    /// Whether its certificate is not verified.
    insecure: bool,
    figures: Figures,
}

/// What a hypervisor is used for.
#[derive(Clone)]
struct Usage {
    /// What machines need of it.
    needs: AskNeeds,
    /// The storage whose size is told.
    storage: api::StorageName,
    /// The resource pool that machines are put into.
    pool: Option<PoolName>,
}

/// What is known of a hypervisor.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// What the last looks found, as the cluster's planner reads it.
    pub probe: Probe,
    /// The last complete listing.
    pub inventory: Option<Arc<Inventory>>,
}

impl Sites {
    /// Nothing yet.
    pub fn new(parts: &Parts, leadership: &Leadership, dial: Dial, pace: Pace, books: Books) -> Self {
        Self(Arc::new(Shared {
            parts: parts.clone(),
            leadership: leadership.clone(),
            dial,
            pace,
            bell: Bell::default(),
            machines: Bell::default(),
            register: Arc::default(),
            sites: Mutex::default(),
            books,
            figures: Figures::new(&parts.metrics),
        }))
    }

    /// The site of a cluster.
    pub fn get(&self, key: &Key) -> Option<Arc<Site>> {
        lock(&self.0.sites).get(key)?.site()
    }

    /// Every site that stands.
    pub fn all(&self) -> Vec<Arc<Site>> {
        lock(&self.0.sites).values().filter_map(Place::site).collect()
    }

    /// What a cluster's planner sees of its site.
    pub fn link(&self, key: &Key) -> Link {
        let (settings, probe) = match lock(&self.0.sites).get(key) {
            None => return Link::Down,
            Some(Place::Open(site)) => (lock(&site.settings).clone(), lock(&site.view).probe.clone()),
            Some(Place::Closed(settings, trouble)) => {
                (settings.clone(), Probe { report: None, trouble: Some(trouble.clone()) })
            }
        };
        Link::Up { settings, probe }
    }

    /// What a cluster's planner sees of its orphans.
    pub fn outlook(&self, key: &Key) -> Outlook {
        self.get(key).map_or(Outlook::Unknown, |site| lock(&site.outlook).clone())
    }

    /// Rung for clusters of which something new is known.
    pub fn bell(&self) -> &Bell {
        &self.0.bell
    }

    /// Rung for claims whose machines have changed.
    pub fn machines(&self) -> &Bell {
        &self.0.machines
    }

    /// Remembers whose machine has which number, so that its changes reach its claim.
    pub fn enlist(&self, cluster: &Key, vm: api::VmId, claim: &Key) {
        lock(&self.0.register).entry(cluster.clone()).or_default().insert(vm, claim.clone());
    }

    /// The claim has nothing to do with that number any more.
    pub fn strike(&self, cluster: &Key, vm: api::VmId, claim: &Key) {
        if let Some(numbers) = lock(&self.0.register).get_mut(cluster)
            && numbers.get(&vm) == Some(claim)
        {
            numbers.remove(&vm);
        }
    }

    /// A term of leadership begins: what was promised before is somebody else's past.
    pub fn begin(&self) {
        lock(&self.0.register).clear();
        for site in self.all() {
            lock(&site.ledger).clear();
        }
    }

    /// What this process is made of.
    pub(crate) fn parts(&self) -> &Parts {
        &self.0.parts
    }

    /// Who leads.
    pub(crate) fn leadership(&self) -> &Leadership {
        &self.0.leadership
    }

    /// Whether this process is the one that may change anything.
    pub fn leads(&self) -> bool {
        self.0.leadership.is_held()
    }

    /// How often sites are looked at.
    pub fn period(&self) -> Duration {
        (self.0.pace)()
    }

    /// Connects a cluster with what it is given. Where only the credentials or its use are new, the connection stays
    /// and takes them; calls under way are not lost, and what is known stays known.
    pub async fn connect(&self, cluster: &HypervisorCluster, login: &Complete, needs: AskNeeds) {
        let key = Key::of(&cluster.metadata);
        let pool = cluster.spec.proxmox.as_ref().and_then(|proxmox| proxmox.pool.as_ref());
        let pool = pool.and_then(|pool| pool.as_str().parse().ok());
        let usage = Usage { needs, storage: cluster.spec.default_storage.clone(), pool };
        if let Some(site) = self.get(&key)
            && login::same_place(&lock(&site.settings), &login.settings)
        {
            site.hypervisor.rotate(login).await;
            *lock(&site.settings) = login.settings.clone();
            *lock(&site.usage) = usage;
            *lock(&site.owner) = login.owner.clone();
            site.poke.notify_one();
            return;
        }
        match Hypervisor::connect(cluster, login, &self.0.dial) {
            Ok(hypervisor) => self.open(&key, login, usage, hypervisor),
            Err(error) => {
                let kind = Reason::ConnectionFailed;
                let trouble = Trouble { kind, message: error.to_string(), failures: 1, may_pass: false };
                self.put(&key, Place::Closed(login.settings.clone(), trouble));
                self.0.figures.looked(&key, false, false);
                self.0.bell.ring(&key);
            }
        }
    }

    fn open(&self, key: &Key, login: &Complete, usage: Usage, hypervisor: Hypervisor) {
        let site = Arc::new(Site {
            key: key.clone(),
            hypervisor,
            settings: Mutex::new(login.settings.clone()),
            view: Mutex::default(),
            usage: Mutex::new(usage),
            catalogue: Mutex::default(),
            inspecting: tokio::sync::Mutex::default(),
            poke: Notify::new(),
            listed: Notify::new(),
            outlook: Mutex::default(),
            given_up: AtomicBool::new(false),
            bell: self.0.bell.clone(),
            machines: self.0.machines.clone(),
            register: Arc::clone(&self.0.register),
            doubted: Mutex::default(),
            ledger: Mutex::default(),
            owner: Mutex::new(login.owner.clone()),
            insecure: matches!(login.trust, Trust::Insecure),
            figures: self.0.figures.clone(),
        });
        self.put(key, Place::Open(Arc::clone(&site)));
        let Shared { pace, leadership, parts, books, figures, .. } = &*self.0;
        let run = monitor::run(Arc::clone(&site), Arc::clone(pace), leadership.clone(), parts.tasks.stopping());
        parts.tasks.spawn(format!("monitor/{key}"), run);
        let means = orphans::Means { books: books.clone(), figures: figures.clone(), clock: parts.clock };
        let run = orphans::run(site, means, leadership.clone(), parts.tasks.stopping());
        parts.tasks.spawn(format!("orphans/{key}"), run);
    }

    fn put(&self, key: &Key, place: Place) {
        let before = lock(&self.0.sites).insert(key.clone(), place);
        before.iter().for_each(Place::end);
    }

    /// Gives a connection up; its monitor ends.
    pub fn disconnect(&self, key: &Key) {
        let before = lock(&self.0.sites).remove(key);
        before.iter().for_each(Place::end);
        self.0.figures.forget(key);
    }
}

impl Place {
    fn site(&self) -> Option<Arc<Site>> {
        match self {
            Self::Open(site) => Some(Arc::clone(site)),
            Self::Closed(..) => None,
        }
    }

    fn end(&self) {
        if let Some(site) = self.site() {
            site.end();
        }
    }
}

impl Site {
    /// Ends its monitor, and the search for orphans.
    fn end(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        self.poke.notify_one();
        self.listed.notify_one();
    }

    /// What is known of it.
    pub fn view(&self) -> View {
        lock(&self.view).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
