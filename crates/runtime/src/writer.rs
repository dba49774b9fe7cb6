//! The one way controllers change Kubernetes.
//!
//! Every write needs the lease and carries its own precondition: a patch or a new status names the resource version it
//! was made for, a delete names uid and resource version, a create names the object. A process that was paused between the
//! check and the call therefore changes nothing that moved on in the meantime.

use std::fmt::Debug;

use http::{HeaderValue, header};
use kube::api::{DeleteParams, GetParams, PartialObjectMeta, Patch, PatchParams, PostParams, Preconditions};
use kube::core::request::Error as RequestError;
use kube::core::{NamespaceResourceScope, Request};
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
        let params = PatchParams { field_manager: Some(self.field_manager.clone()), ..PatchParams::default() };
        let request = request_of(seen).patch(name_of(seen), &params, &Patch::Merge(guarded(seen, patch)));
        send::<K>(&self.client, &operation, request).await
    }

    /// Gives `seen` this status, provided that it is still what the server has; returns its new version.
    pub async fn replace_status<K: Writable>(&self, seen: &K, status: &Value) -> Result<String, Fault> {
        self.need_lease(&status_operation::<K>())?;
        replace_status(&self.client, &self.field_manager, seen, status).await
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

    /// Asks the server whether `seen` is still what it has; if not, the view is stale and the pass ends. For steps that
    /// destroy one object because of what another says: a cache may be behind, and no precondition spans two objects.
    pub async fn confirm<K: Writable>(&self, seen: &K) -> Result<(), Fault> {
        let operation = format!("confirm {}", K::kind(&()));
        let request = request_of(seen).get(name_of(seen), &GetParams::default());
        let version = send::<K>(&self.client, &operation, request).await?;
        if seen.meta().resource_version.as_deref() == Some(version.as_str()) {
            return Ok(());
        }
        Err(Fault::new(Class::Conflict, operation, "the view of it is behind"))
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
}

fn status_operation<K: Writable>() -> String {
    format!("update {} status", K::kind(&()))
}

/// Gives `seen` this status, provided that it is still what the server has; returns its new version.
///
/// An update, not a patch, because the server has a tenth less work with it; and only what identifies the object goes
/// with the status, because an update of a status takes nothing else.
pub(crate) async fn replace_status<K: Writable>(
    client: &Client,
    field_manager: &str,
    seen: &K,
    status: &Value,
) -> Result<String, Fault> {
    let meta = seen.meta();
    let object = json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        "metadata": {
            "name": meta.name, "namespace": meta.namespace, "uid": meta.uid, "resourceVersion": meta.resource_version,
        },
        "status": status,
    });
    let params = PostParams { field_manager: Some(field_manager.to_owned()), ..PostParams::default() };
    let body = object.to_string().into_bytes();
    let request = request_of(seen).replace_subresource("status", name_of(seen), &params, body);
    send::<K>(client, &status_operation::<K>(), request).await
}

/// Sends a request and asks for no more than the metadata in return, of which the version is all we need.
async fn send<K: Writable>(
    client: &Client,
    operation: &str,
    request: Result<http::Request<Vec<u8>>, RequestError>,
) -> Result<String, Fault> {
    let mut request = request.map_err(|error| fault(operation, kube::Error::BuildRequest(error)))?;
    request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static(METADATA));
    let answer = client.request::<PartialObjectMeta<K>>(request).await;
    let answer = answer.map_err(|error| fault(operation, error))?;
    Ok(answer.metadata.resource_version.unwrap_or_default())
}

/// How a client asks for metadata only.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

fn request_of<K: Writable>(object: &K) -> Request {
    Request::new(K::url_path(&(), object.meta().namespace.as_deref()))
}

/// `patch` with the identity and version of what it was made for.
fn guarded<K: Resource>(seen: &K, mut patch: Value) -> Value {
    patch["metadata"]["uid"] = json!(seen.meta().uid);
    patch["metadata"]["resourceVersion"] = json!(seen.meta().resource_version);
    patch
}

fn name_of<K: Resource>(object: &K) -> &str {
    object.meta().name.as_deref().unwrap_or_default()
}
