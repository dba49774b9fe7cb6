//! Who may look: the cluster's own answer, remembered for as long as controller-runtime remembers it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Api;
use kube::api::PostParams;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout};

/// How long it is remembered whose token it is, or that it is nobody's.
const TOKEN: Duration = Duration::from_mins(1);
/// How long a permission is remembered.
const ALLOWED: Duration = Duration::from_mins(5);
/// How long a refusal is remembered.
const DENIED: Duration = Duration::from_secs(30);
/// How long the API server has for each answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Answers remembered at most: strangers can make us remember their tokens.
const ENTRIES: usize = 1_024;

/// What became of a request to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Come in.
    Allowed,
    /// Nobody we know.
    Unauthenticated,
    /// Known, but without the right.
    Forbidden,
    /// The cluster did not answer.
    Unknown,
}

/// Asks the cluster whose token it is and what its owner may `get`.
pub struct Access {
    client: kube::Client,
    owners: Memory<[u8; 32], Option<UserInfo>>,
    rights: Memory<[u8; 32], bool>,
}

impl Access {
    /// Asks through `client`, which needs to create token reviews and subject access reviews.
    pub fn new(client: kube::Client) -> Self {
        Self { client, owners: Memory::default(), rights: Memory::default() }
    }

    /// Whether the owner of `token` may `get` the path.
    pub async fn check(&self, token: &str, path: &str) -> Verdict {
        let answer = async {
            let Some(owner) = self.owner(token).await? else { return Ok(Verdict::Unauthenticated) };
            Ok(if self.may_get(owner, path).await? { Verdict::Allowed } else { Verdict::Forbidden })
        };
        answer.await.unwrap_or_else(|error: Trouble| {
            tracing::warn!(path, error = &error as &dyn std::error::Error, "cannot check a caller's rights");
            Verdict::Unknown
        })
    }

    /// How many tokens are remembered.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.owners.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    async fn owner(&self, token: &str) -> Result<Option<UserInfo>, Trouble> {
        let digest = Sha256::digest(token.as_bytes()).into();
        if let Some(owner) = self.owners.get(&digest) {
            return Ok(owner);
        }
        let spec = TokenReviewSpec { token: Some(token.into()), audiences: None };
        let review = TokenReview { spec, ..TokenReview::default() };
        let status = self.ask(&review).await?.status.unwrap_or_default();
        let owner = status.user.filter(|_| status.authenticated == Some(true));
        self.owners.put(digest, owner.clone(), TOKEN);
        Ok(owner)
    }

    async fn may_get(&self, owner: UserInfo, path: &str) -> Result<bool, Trouble> {
        let spec = SubjectAccessReviewSpec {
            user: owner.username,
            groups: owner.groups,
            uid: owner.uid,
            extra: owner.extra,
            non_resource_attributes: Some(NonResourceAttributes { path: Some(path.into()), verb: Some("get".into()) }),
            resource_attributes: None,
        };
        let digest = Sha256::digest(serde_json::to_vec(&spec).expect("a review is plain JSON")).into();
        if let Some(allowed) = self.rights.get(&digest) {
            return Ok(allowed);
        }
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let status = self.ask(&review).await?.status.unwrap_or_default();
        let allowed = status.allowed && status.denied != Some(true);
        self.rights.put(digest, allowed, if allowed { ALLOWED } else { DENIED });
        Ok(allowed)
    }

    async fn ask<R>(&self, review: &R) -> Result<R, Trouble>
    where
        R: kube::Resource<DynamicType = ()> + Clone + serde::Serialize + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let api = Api::<R>::all(self.client.clone());
        match timeout(PATIENCE, api.create(&PostParams::default(), review)).await {
            Ok(answer) => Ok(answer?),
            Err(_elapsed) => Err(Trouble::Silent),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("the Kubernetes API refused or failed")]
    Api(#[from] kube::Error),
    #[error("no answer within {PATIENCE:?}")]
    Silent,
}

/// A bounded memory of answers that fade.
struct Memory<K, V>(Mutex<HashMap<K, (V, Instant)>>);

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Copy + Eq + Hash, V: Clone> Memory<K, V> {
    fn get(&self, key: &K) -> Option<V> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(key).filter(|(_, until)| Instant::now() < *until).map(|(value, _)| value.clone())
    }

    /// Makes room by forgetting what has faded, or else what would fade first.
    fn put(&self, key: K, value: V, life: Duration) {
        let now = Instant::now();
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= ENTRIES {
            entries.retain(|_, (_, until)| now < *until);
        }
        if entries.len() >= ENTRIES
            && let Some(first) = entries.iter().min_by_key(|(_, (_, until))| *until).map(|(key, _)| *key)
        {
            entries.remove(&first);
        }
        entries.insert(key, (value, now + life));
    }
}
