//! Answers from the past: what a server that is behind the others would say.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};

use super::deed::{Deed, Verb};
use super::fault::Fault;
use super::line::CURRENT;
use super::{World, lock};

/// Answers a read as it would have been answered some changes ago; nothing if that is not known any more.
pub trait Past: Send + Sync + 'static {
    /// The answer to `request` from about `age` changes ago.
    fn read(&self, request: &Request<Bytes>, age: usize) -> Option<Response<Bytes>>;

    /// Forgets the past: streams that go on from it end with 410.
    fn compact(&self) {}
}

/// Answers that are remembered for one target.
const KEPT: usize = 6;

type Target = (String, String);

/// What was answered before, for destinations that cannot look back themselves.
#[derive(Default)]
pub(crate) struct Memory {
    echoes: Mutex<BTreeMap<Target, VecDeque<Response<Bytes>>>>,
    pasts: Mutex<BTreeMap<String, Arc<dyn Past>>>,
}

impl Memory {
    pub(crate) fn learn(&self, destination: &str, past: impl Past) {
        lock(&self.pasts).insert(destination.to_owned(), Arc::new(past));
    }

    pub(crate) fn forget(&self) {
        lock(&self.pasts).clear();
        lock(&self.echoes).clear();
    }
}

impl World {
    /// Has a destination forget its past.
    pub fn compact(&self, destination: &str) {
        let past = lock(&self.0.memory.pasts).get(destination).cloned();
        if let Some(past) = past {
            past.compact();
            self.count(Fault::Compaction);
            self.tell("world", destination, "forgets its past");
        }
    }

    /// Keeps the answer to a read.
    pub(crate) fn remember(&self, destination: &str, deed: &Deed, request: &Request<Bytes>, answer: &Response<Bytes>) {
        if !matches!(deed.verb, Verb::Get | Verb::List) {
            return;
        }
        let target = (destination.to_owned(), request.uri().to_string());
        let mut echoes = lock(&self.0.memory.echoes);
        let echoes = echoes.entry(target).or_default();
        if echoes.back().is_some_and(|last| last.body() == answer.body()) {
            return;
        }
        if echoes.len() >= KEPT {
            echoes.pop_front();
        }
        echoes.push_back(answer.clone());
    }

    /// An older answer to the same read, if there is one.
    pub(crate) fn recall(&self, destination: &str, request: &Request<Bytes>, age: usize) -> Option<Response<Bytes>> {
        let past = lock(&self.0.memory.pasts).get(destination).cloned();
        if let Some(past) = past {
            return past.read(request, age + 1);
        }
        let target = (destination.to_owned(), request.uri().to_string());
        let echoes = lock(&self.0.memory.echoes);
        let echoes = echoes.get(&target)?;
        let back = echoes.len().checked_sub(age.min(echoes.len().saturating_sub(1)) + 1)?;
        echoes.get(back).cloned()
    }

    /// The request that a destination acts on at this moment.
    pub(crate) fn current() -> Option<usize> {
        CURRENT.try_with(|id| *id).ok()
    }
}
