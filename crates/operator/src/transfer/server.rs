//! Objects of any kind on one API server, as JSON.

use std::collections::BTreeMap;

use api::registry::writer::CLI;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::TransferError;
use super::object::{Place, resource};

/// How often a write is made that somebody else was quicker than.
pub(super) const TRIES: u32 = 5;

/// One API server.
#[derive(Clone)]
pub(super) struct Server(pub(super) Client);

type Outcome<T> = Result<T, TransferError>;

fn failed(what: String) -> impl FnOnce(kube::Error) -> TransferError {
    move |source| TransferError::Server { what, source: Box::new(source) }
}

/// Why a write was given up that somebody else was always quicker than.
pub(super) fn contended(place: &Place) -> TransferError {
    TransferError::refused(format!("{place} is changed by somebody else all the time: stop who does, and try again"))
}

impl Server {
    fn api(&self, place: &Place) -> Api<DynamicObject> {
        Api::namespaced_with(self.0.clone(), &place.namespace, &resource(&place.kind))
    }

    /// An object as it is, if it is there.
    pub(super) async fn get(&self, place: &Place) -> Outcome<Option<Value>> {
        let found = self.api(place).get_opt(&place.name).await.map_err(failed(format!("read {place}")))?;
        Ok(found.map(|found| json!(found)))
    }

    /// Makes an object; the one that was there already, if somebody was quicker.
    pub(super) async fn create(&self, place: &Place, object: &Value) -> Outcome<(Value, bool)> {
        let what = || format!("create {place}");
        let wanted: DynamicObject = serde_json::from_value(object.clone()).map_err(|error| {
            TransferError::refused(format!("{place} in the file is no object that an API server takes: {error}"))
        })?;
        let params = PostParams { field_manager: Some(CLI.to_owned()), ..PostParams::default() };
        match self.api(place).create(&params, &wanted).await {
            Ok(made) => Ok((json!(made), true)),
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                let found = self.api(place).get(&place.name).await.map_err(failed(what()))?;
                Ok((json!(found), false))
            }
            Err(error) => Err(failed(what())(error)),
        }
    }

    /// Merges into an object, provided that it is still what was seen.
    pub(super) async fn merge(&self, place: &Place, seen: &Value, mut patch: Value) -> Outcome<Value> {
        patch["metadata"]["uid"] = seen["metadata"]["uid"].clone();
        patch["metadata"]["resourceVersion"] = seen["metadata"]["resourceVersion"].clone();
        let params = PatchParams { field_manager: Some(CLI.to_owned()), ..PatchParams::default() };
        let changed = self.api(place).patch(&place.name, &params, &Patch::Merge(patch)).await;
        changed.map(|changed| json!(changed)).map_err(failed(format!("change {place}")))
    }

    /// Changes an object as it is now, if there is something to change; one that is gone needs no change.
    pub(super) async fn change(&self, place: &Place, patch: impl Fn(&Value) -> Option<Value>) -> Outcome<()> {
        for _ in 0..TRIES {
            let Some(live) = self.get(place).await? else { return Ok(()) };
            let Some(patch) = patch(&live) else { return Ok(()) };
            match self.merge(place, &live, patch).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error),
            }
        }
        Err(contended(place))
    }

    /// Gives an object a status, provided that it is still what was seen.
    pub(super) async fn status(&self, place: &Place, seen: &Value, status: &Value) -> Outcome<Value> {
        let metadata = &seen["metadata"];
        let object = json!({
            "apiVersion": seen["apiVersion"], "kind": seen["kind"],
            "metadata": {
                "name": place.name, "namespace": place.namespace, "uid": metadata["uid"],
                "resourceVersion": metadata["resourceVersion"],
            },
            "status": status,
        });
        let what = || format!("write the status of {place}");
        let object: DynamicObject = serde_json::from_value(object).expect("it was made in this form");
        let params = PostParams { field_manager: Some(CLI.to_owned()), ..PostParams::default() };
        let changed = self.api(place).replace_status(&place.name, &params, &object).await;
        changed.map(|changed| json!(changed)).map_err(failed(what()))
    }

    /// Asks for an object to go; its finalizers keep it.
    pub(super) async fn delete(&self, place: &Place) -> Outcome<()> {
        match self.api(place).delete(&place.name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(failed(format!("delete {place}"))(error)),
        }
    }

    /// All objects of a kind, in one namespace or everywhere; none if the server does not know the kind.
    pub(super) async fn list(&self, kind: &str, namespace: Option<&str>) -> Outcome<Option<Vec<Value>>> {
        let resource: ApiResource = resource(kind);
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(self.0.clone(), namespace, &resource),
            None => Api::all_with(self.0.clone(), &resource),
        };
        match api.list(&ListParams::default()).await {
            Ok(list) => Ok(Some(list.items.into_iter().map(|item| whole(&item, &resource)).collect())),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
            Err(error) => Err(failed(format!("list {kind}s"))(error)),
        }
    }

    /// The namespaces that have a Secret of this name.
    pub(super) async fn homes(&self, secret: &str) -> Outcome<Vec<String>> {
        let all: Api<Secret> = Api::all(self.0.clone());
        let named = ListParams::default().fields(&format!("metadata.name={secret}"));
        let found = all.list_metadata(&named).await.map_err(failed(format!("look for Secrets {secret}")))?;
        Ok(found.items.into_iter().filter_map(|secret| secret.metadata.namespace).collect())
    }

    /// The labels of a namespace, if there is one that stays.
    pub(super) async fn labels(&self, name: &str) -> Outcome<Option<BTreeMap<String, String>>> {
        let all: Api<Namespace> = Api::all(self.0.clone());
        let found = all.get_opt(name).await.map_err(failed(format!("read Namespace {name}")))?;
        let stays = found.filter(|found| found.metadata.deletion_timestamp.is_none());
        Ok(stays.map(|found| found.metadata.labels.unwrap_or_default()))
    }

    /// Makes a namespace with these labels, unless it is there.
    pub(super) async fn make_namespace(&self, name: &str, labels: Option<&BTreeMap<String, String>>) -> Outcome<()> {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.to_owned());
        namespace.metadata.labels = labels.cloned();
        match Api::all(self.0.clone()).create(&PostParams::default(), &namespace).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
            Err(error) => Err(failed(format!("create Namespace {name}"))(error)),
        }
    }
}

/// Lists leave out what their items are.
fn whole(item: &DynamicObject, resource: &ApiResource) -> Value {
    let mut item = json!(item);
    item["apiVersion"] = json!(resource.api_version);
    item["kind"] = json!(resource.kind);
    item
}
