//! One task for every object of a kind, from when it appears until it is gone.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use chassis::{Board, Reader, Tasks};
use runtime::{Cache, Cacheable, Key};

/// Tells a task when its object is gone; clones tell the same.
#[derive(Clone, Debug)]
pub(crate) struct Life(Reader<()>);

impl Life {
    /// A life that lasts as long as the board.
    pub(crate) fn new() -> (Board<()>, Self) {
        let board = Board::new(());
        let life = board.reader();
        (board, Self(life))
    }

    /// Resolves once the object is gone.
    pub(crate) async fn over(&self) {
        let mut object = self.0.clone();
        while object.changed().await.is_ok() {}
    }

    /// Whether the object is gone.
    pub(crate) fn is_over(&self) -> bool {
        self.0.is_gone()
    }
}

/// Runs `task` as `name/{key}` for every object of `cache`. It ends by itself, soon after its [`Life`] is over or `tasks`
/// are asked to stop.
pub(crate) fn each<K, F>(
    cache: &Cache<K>,
    tasks: &Tasks,
    name: &'static str,
    task: impl Fn(Key, Life) -> F + Send + Sync + 'static,
) where
    K: Cacheable,
    F: Future<Output = ()> + Send + 'static,
{
    let alive: Arc<Mutex<BTreeMap<Key, Board<()>>>> = Arc::default();
    let tasks = tasks.clone();
    cache.subscribe(move |change| {
        let mut alive = alive.lock().unwrap_or_else(PoisonError::into_inner);
        match change.after {
            None => drop(alive.remove(change.key)),
            Some(_) if alive.contains_key(change.key) => {}
            Some(_) => {
                let (sender, life) = Life::new();
                alive.insert(change.key.clone(), sender);
                tasks.spawn(format!("{name}/{}", change.key), task(change.key.clone(), life));
            }
        }
        !tasks.is_stopping()
    });
}
