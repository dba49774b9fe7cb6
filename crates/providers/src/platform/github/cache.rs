//! Answers that may still be right: asking whether they are costs nothing of the hour's requests.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ::http::header::ETAG;
use tokio::time::Instant;

use crate::http::Answer;

/// Answers that are kept: pages of a few hundred repositories.
const KEPT: usize = 2_000;
/// Larger ones are fetched again.
const LARGEST: usize = 256 * 1024;

/// The newest answers by their path.
#[derive(Default)]
pub(super) struct Cache(Mutex<BTreeMap<String, (Answer, Instant)>>);

impl Cache {
    pub(super) fn get(&self, path: &str) -> Option<Answer> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (answer, used) = kept.get_mut(path)?;
        *used = Instant::now();
        Some(answer.clone())
    }

    /// Keeps an answer that has a mark to ask with, in the place of the one that was not used for longest.
    pub(super) fn put(&self, path: &str, answer: &Answer) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !answer.headers.contains_key(ETAG) || answer.body.len() > LARGEST {
            kept.remove(path);
            return;
        }
        kept.insert(path.to_owned(), (answer.clone(), Instant::now()));
        if kept.len() > KEPT {
            let oldest = kept.iter().min_by_key(|(_, (_, used))| *used).map(|(path, _)| path.clone());
            oldest.and_then(|path| kept.remove(&path));
        }
    }
}
