//! Claims by the id of their record, by the name of their seed and by the key that is bound to them.
//!
//! The index follows the watch, so that looking somebody up costs no call. A watch lags: what it does not know yet may be
//! true all the same, and what decides over a machine's life is asked of the server before it is denied.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::{Digest, MachineClaim};
use chassis::Board;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use reconcile::Fault;
use runtime::client::fault;
use runtime::{Cache, Entry, Key, Selection};
use tokio::time::timeout;

/// How long the watch may take to show what another replica has written.
const LAG: Duration = Duration::from_secs(3);

/// Finds claims.
pub(super) struct Ledger {
    claims: Cache<MachineClaim>,
    client: Client,
    namespaces: Vec<String>,
    index: Arc<Index>,
}

#[derive(Default)]
struct Index {
    places: Mutex<Places>,
    /// Counts changes.
    news: Board<u64>,
}

#[derive(Default)]
struct Places {
    ids: HashMap<String, Key>,
    seeds: HashMap<Digest, Key>,
    keys: HashMap<Digest, BTreeSet<Key>>,
}

impl Ledger {
    /// Follows `claims`, which are those of `selection`.
    pub(super) fn new(client: &Client, claims: &Cache<MachineClaim>, selection: &Selection) -> Self {
        let index = Arc::new(Index::default());
        let follower = Arc::clone(&index);
        claims.subscribe(move |change| {
            follower.turn(change.key, change.before.and_then(readable), change.after.and_then(readable));
            true
        });
        Self { claims: claims.clone(), client: client.clone(), namespaces: selection.namespaces.clone(), index }
    }

    /// The claim whose record has this id, as far as the watch knows.
    pub(super) fn by_id(&self, id: &str) -> Option<Arc<MachineClaim>> {
        let key = self.index.places().ids.get(&id.to_ascii_lowercase()).cloned()?;
        self.claims.get(&key)
    }

    /// The claim whose seed's name has this hash, as far as the watch knows.
    pub(super) fn by_seed(&self, hash: &Digest) -> Option<Arc<MachineClaim>> {
        let key = self.index.places().seeds.get(hash).cloned()?;
        self.claims.get(&key)
    }

    /// The one claim that this key is bound to, as far as the watch knows; a key that several have is nobody's.
    pub(super) fn by_key(&self, key: &Digest) -> Option<Arc<MachineClaim>> {
        let only = {
            let places = self.index.places();
            let holders = places.keys.get(key).filter(|holders| holders.len() == 1)?;
            holders.first().cloned()
        };
        self.claims.get(&only?)
    }

    /// The same, giving the watch time to catch up.
    pub(super) async fn by_key_soon(&self, key: &Digest) -> Option<Arc<MachineClaim>> {
        let mut news = self.index.news.reader();
        let found = async {
            loop {
                if let Some(claim) = self.by_key(key) {
                    return claim;
                }
                if news.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        timeout(LAG, found).await.ok()
    }

    /// Whether the key is bound to another claim than this one.
    pub(super) fn is_held_by_another(&self, key: &Digest, claim: &MachineClaim) -> bool {
        let own = Key::of(&claim.metadata);
        self.index.places().keys.get(key).is_some_and(|holders| holders.iter().any(|holder| *holder != own))
    }

    /// The claim as the server has it now; nothing if it is gone.
    pub(super) async fn read(&self, claim: &MachineClaim) -> Result<Option<Arc<MachineClaim>>, Fault> {
        let namespace = claim.namespace().unwrap_or_default();
        let claims: Api<MachineClaim> = Api::namespaced(self.client.clone(), &namespace);
        let found = claims.get_opt(&claim.name_any()).await.map_err(|error| fault("read MachineClaim", error))?;
        Ok(found.filter(|found| found.metadata.uid == claim.metadata.uid).map(Arc::new))
    }

    /// The one claim that this key is bound to, as the server has it now.
    pub(super) async fn search(&self, key: &Digest) -> Result<Option<Arc<MachineClaim>>, Fault> {
        let of = |namespace: &String| Api::<MachineClaim>::namespaced(self.client.clone(), namespace);
        let apis: Vec<Api<MachineClaim>> = match self.namespaces.as_slice() {
            [] => vec![Api::all(self.client.clone())],
            watched => watched.iter().map(of).collect(),
        };
        let mut holders = Vec::new();
        for api in apis {
            let listed = api.list(&ListParams::default()).await.map_err(|error| fault("list MachineClaims", error))?;
            holders.extend(listed.items.into_iter().filter(|claim| bound_key(claim) == Some(key)));
        }
        Ok(if holders.len() == 1 { holders.pop().map(Arc::new) } else { None })
    }
}

fn readable(entry: &Entry<MachineClaim>) -> Option<&MachineClaim> {
    match entry {
        Entry::Readable(claim) => Some(claim),
        Entry::Unreadable(_) => None,
    }
}

fn id(claim: &MachineClaim) -> Option<String> {
    Some(claim.status.as_ref()?.bootstrap.as_ref()?.id.as_str().to_ascii_lowercase())
}

fn seed(claim: &MachineClaim) -> Option<&Digest> {
    claim.status.as_ref()?.bootstrap.as_ref()?.seed_hash.as_ref()
}

fn bound_key(claim: &MachineClaim) -> Option<&Digest> {
    claim.status.as_ref()?.bootstrap.as_ref()?.bound_key_hash.as_ref()
}

impl Index {
    fn turn(&self, at: &Key, before: Option<&MachineClaim>, after: Option<&MachineClaim>) {
        let mut places = self.places();
        if let Some(old) = before.and_then(id)
            && places.ids.get(&old) == Some(at)
        {
            places.ids.remove(&old);
        }
        if let Some(old) = before.and_then(seed)
            && places.seeds.get(old) == Some(at)
        {
            places.seeds.remove(old);
        }
        if let Some(old) = before.and_then(bound_key)
            && let Some(holders) = places.keys.get_mut(old)
        {
            holders.remove(at);
            if holders.is_empty() {
                places.keys.remove(old);
            }
        }
        if let Some(new) = after.and_then(id) {
            places.ids.insert(new, at.clone());
        }
        if let Some(new) = after.and_then(seed) {
            places.seeds.insert(new.clone(), at.clone());
        }
        if let Some(new) = after.and_then(bound_key) {
            places.keys.entry(new.clone()).or_default().insert(at.clone());
        }
        drop(places);
        self.news.change(|count| *count += 1);
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
