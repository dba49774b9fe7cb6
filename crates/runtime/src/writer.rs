//! The one way controllers change Kubernetes.
//!
//! Every write needs the lease and carries its own precondition: a merge patch names the resource version it was made
//! for, a delete names uid and resource version, a create names the object. A process that was paused between the
//! check and the call therefore changes nothing that moved on in the meantime.

use std::fmt::Debug;

use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use reconcile::{Class, Fault};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::client::fault;
use crate::lease::Leadership;

/// Makes writes on behalf of one controller; clones write under the same name.
#[derive(Clone)]
pub struct Writer {
    client: Client,
    leadership: Leadership,
    field_manager: String,
}

/// What became of a create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// The object is new.
    New,
    /// An object of that name was there already; it was not changed.
    Existed,
}

/// Namespaced kinds with a Rust type, as writes need them.
pub trait Writable:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned
{
}

impl<K> Writable for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned
{
}

impl Writer {
    /// Writes as `field_manager`, while `leadership` lasts.
    pub fn new(client: Client, leadership: Leadership, field_manager: impl Into<String>) -> Self {
        Self { client, leadership, field_manager: field_manager.into() }
    }

    /// Creates `object`, or finds one of its name there already.
    pub async fn create<K: Writable + Serialize>(&self, object: &K) -> Result<Created, Fault> {
        let operation = format!("create {}", K::kind(&()));
        self.need_lease(&operation)?;
        let params = PostParams { field_manager: Some(self.field_manager.clone()), ..PostParams::default() };
        match self.api_of(object).create(&params, object).await {
            Ok(_) => Ok(Created::New),
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(Created::Existed),
            Err(error) => Err(fault(&operation, error)),
        }
    }

    /// Merges `patch` into `seen`, provided that it is still what the server has; returns its new version.
    pub async fn merge<K: Writable>(&self, seen: &K, patch: Value) -> Result<String, Fault> {
        let operation = format!("patch {}", K::kind(&()));
        self.need_lease(&operation)?;
        let patch = Patch::Merge(guarded(seen, patch));
        let api = self.api_of(seen);
        let answer = api.patch(name_of(seen), &self.patch_params(), &patch).await;
        answer.map(|object| version_of(&object)).map_err(|error| fault(&operation, error))
    }

    /// Merges `patch` into the status of `seen`, provided that it is still what the server has; returns its new version.
    pub async fn merge_status<K: Writable>(&self, seen: &K, patch: Value) -> Result<String, Fault> {
        let operation = format!("patch {} status", K::kind(&()));
        self.need_lease(&operation)?;
        let patch = Patch::Merge(guarded(seen, json!({ "status": patch })));
        let api = self.api_of(seen);
        let answer = api.patch_status(name_of(seen), &self.patch_params(), &patch).await;
        answer.map(|object| version_of(&object)).map_err(|error| fault(&operation, error))
    }

    /// Deletes `seen`, provided that it is still what the server has; an object that is gone already is fine.
    pub async fn delete<K: Writable>(&self, seen: &K) -> Result<(), Fault> {
        let operation = format!("delete {}", K::kind(&()));
        self.need_lease(&operation)?;
        let preconditions =
            Preconditions { uid: seen.meta().uid.clone(), resource_version: seen.meta().resource_version.clone() };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
        match self.api_of(seen).delete(name_of(seen), &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(fault(&operation, error)),
        }
    }

    /// Puts `finalizer` on `seen`.
    pub(crate) async fn add_finalizer<K: Writable>(&self, seen: &K, finalizer: &str) -> Result<String, Fault> {
        let mut finalizers = seen.meta().finalizers.clone().unwrap_or_default();
        finalizers.push(finalizer.to_owned());
        self.merge(seen, json!({ "metadata": { "finalizers": finalizers } })).await
    }

    /// Takes `finalizer` off `seen`.
    pub(crate) async fn remove_finalizer<K: Writable>(&self, seen: &K, finalizer: &str) -> Result<String, Fault> {
        let mut finalizers = seen.meta().finalizers.clone().unwrap_or_default();
        finalizers.retain(|present| present != finalizer);
        self.merge(seen, json!({ "metadata": { "finalizers": finalizers } })).await
    }

    fn need_lease(&self, operation: &str) -> Result<(), Fault> {
        if self.leadership.is_held() {
            return Ok(());
        }
        Err(Fault::new(Class::Unavailable, operation, "this process does not hold the lease"))
    }

    fn api_of<K: Writable>(&self, object: &K) -> Api<K> {
        let namespace = object.meta().namespace.as_deref().unwrap_or("default");
        Api::namespaced(self.client.clone(), namespace)
    }

    fn patch_params(&self) -> PatchParams {
        PatchParams { field_manager: Some(self.field_manager.clone()), ..PatchParams::default() }
    }
}

/// `patch` with the identity and version of what it was made for.
fn guarded<K: Resource>(seen: &K, mut patch: Value) -> Value {
    patch["metadata"]["uid"] = json!(seen.meta().uid);
    patch["metadata"]["resourceVersion"] = json!(seen.meta().resource_version);
    patch
}

fn version_of<K: Resource>(object: &K) -> String {
    object.meta().resource_version.clone().unwrap_or_default()
}

fn name_of<K: Resource>(object: &K) -> &str {
    object.meta().name.as_deref().unwrap_or_default()
}
