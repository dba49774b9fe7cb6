//! Which repositories anybody can see. Hooks say so; lists of jobs do not, so it is asked once a minute.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::api::Api;
use super::deed::Deed;
use super::job::Place;
use crate::platform::Error;

/// How long an answer holds: a repository that becomes public is noticed within it.
const HOLDS: SignedDuration = SignedDuration::from_mins(1);

/// What Gitea says of a repository.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Repository {
    private: bool,
    /// It belongs to an organization that only its members see.
    #[serde(default)]
    internal: bool,
}

impl Repository {
    pub(super) const fn is_public(self) -> bool {
        !self.private && !self.internal
    }
}

/// What was asked before.
#[derive(Default)]
pub(super) struct Facts(Mutex<BTreeMap<String, (bool, Timestamp)>>);

impl Facts {
    /// Whether anybody can see the repository of a job.
    pub(super) async fn is_public(&self, api: &Api, place: &Place, now: Timestamp) -> Result<bool, Error> {
        let path = place.repository_path();
        if let Some((public, asked_at)) = self.known().get(&path)
            && now.duration_since(*asked_at).abs() < HOLDS
        {
            return Ok(*public);
        }
        let public = ask(api, place).await?;
        let mut known = self.known();
        known.retain(|_, (_, asked_at)| now.duration_since(*asked_at).abs() < HOLDS);
        known.insert(path, (public, now));
        Ok(public)
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, (bool, Timestamp)>> {
        // Entries are put in whole: one who panicked left nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks whether anybody can see the repository of a job. One that even we cannot see is not public.
pub(super) async fn ask(api: &Api, place: &Place) -> Result<bool, Error> {
    match api.ask::<Repository>(Deed::ReadRepository, &place.repository_path(), None).await {
        Ok(repository) => Ok(repository.is_public()),
        Err(Error::NotFound { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
