//! A namespace on a real API server with a lamp controller in it, under exactly the rights it declares.

use std::time::Duration;

use chassis::health::Health;
use chassis::metrics::Metrics;
use chassis::{Clock, Tasks};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::config::KubeConfigOptions;
use kube::{Api, Client, Config, CustomResourceExt, ResourceExt};
use runtime::client::{Guard, Limits, connect};
use runtime::{Cache, Driver, Leadership, Parts, Selection, rbac};
use serde_json::{Value, json};
use testenv::{ControlPlane, Grant, ServiceAccountRef};

use crate::lamp::{LAMP, Lamp, LampSpec, Lamps, RULES, lamp_of};

pub struct Room<'a> {
    pub plane: &'a ControlPlane,
    pub namespace: String,
    pub account: ServiceAccountRef,
}

/// A controller at work in a room.
pub struct Shift {
    pub parts: Parts,
}

impl<'a> Room<'a> {
    /// A fresh namespace; the Lamp CRD is installed.
    pub async fn open(plane: &'a ControlPlane) -> Self {
        plane.install_crds(&[lenient_crd()]).await;
        Self::without_crd(plane).await
    }

    /// A fresh namespace and an account, nothing else.
    pub async fn without_crd(plane: &'a ControlPlane) -> Self {
        let namespace = plane.namespace("lamps").await;
        let rules = RULES.iter().chain([&rbac::EVENTS, &rbac::LEASE]).map(rbac::Rule::policy).collect();
        let role = ClusterRole { rules: Some(rules), ..ClusterRole::default() };
        let account = plane.service_account(&namespace, "lamps", &[Grant::Within(namespace.clone(), role)]).await;
        Self { plane, namespace, account }
    }

    /// A connection under the account's rights.
    pub async fn client(&self, parts: &Parts) -> Client {
        let kubeconfig = kube::config::Kubeconfig::read_from(self.plane.kubeconfig_for(&self.account)).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        connect(&config, Guard::new(Limits::default(), parts.clock, parts.metrics.clone())).unwrap()
    }

    /// Starts the controller in this process.
    pub async fn work(&self) -> Shift {
        let parts = parts();
        let client = self.client(&parts).await;
        let here = [self.namespace.clone()];
        let lamps: Cache<Lamp> = Cache::spawn(&Selection::namespaces(&here), &client, &parts);
        let labelled = Selection { labels: Some(LAMP.to_owned()), ..Selection::namespaces(&here) };
        let bulbs: Cache<ConfigMap> = Cache::spawn(&labelled, &client, &parts);
        let controller = Lamps { bulbs: bulbs.clone() };
        Driver::new(controller, &lamps, &client, &Leadership::always(), "test", &parts)
            .watches(&bulbs, lamp_of)
            .spawn();
        Shift { parts }
    }

    pub fn lamps(&self) -> Api<Lamp> {
        Api::namespaced(self.plane.client(), &self.namespace)
    }

    pub fn bulbs(&self) -> Api<ConfigMap> {
        Api::namespaced(self.plane.client(), &self.namespace)
    }

    pub async fn add(&self, name: &str, colour: &str, bulbs: u32) -> Lamp {
        let lamp = Lamp::new(name, LampSpec { colour: colour.to_owned(), bulbs, fault: None });
        self.lamps().create(&PostParams::default(), &lamp).await.unwrap()
    }

    pub async fn patch(&self, name: &str, patch: Value) {
        self.lamps().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub async fn remove(&self, name: &str) {
        self.lamps().delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Name and colour of every bulb, sorted.
    pub async fn shining(&self) -> Vec<(String, String)> {
        let bulbs = self.bulbs().list(&kube::api::ListParams::default().labels(LAMP)).await.unwrap();
        let colour = |bulb: &ConfigMap| crate::lamp::colour_of(bulb).to_owned();
        bulbs.iter().map(|bulb| (bulb.name_any(), colour(bulb))).collect()
    }

    /// The status and reason of one condition of one lamp.
    pub async fn condition(&self, name: &str, type_: &str) -> Option<(String, String)> {
        let lamp = self.lamps().get_opt(name).await.unwrap()?;
        let conditions = lamp.status?.conditions;
        let found = conditions.into_iter().find(|condition| condition.type_ == type_)?;
        Some((found.status, found.reason))
    }

    /// Waits until the condition reads so.
    pub async fn reads(&self, name: &str, type_: &str, status: &str, reason: &str) {
        let expected = Some((status.to_owned(), reason.to_owned()));
        testenv::eventually(&format!("{name} is {type_}={status} ({reason})"), Duration::from_secs(30), async || {
            (self.condition(name, type_).await == expected).then_some(())
        })
        .await;
    }
}

impl Shift {
    /// Ends as a process does on SIGTERM.
    pub async fn end(self) {
        self.parts.tasks.shutdown(Duration::from_secs(10)).await.unwrap();
    }

    /// Ends as a process does on SIGKILL: in the middle of whatever it was doing.
    pub fn crash(self) {
        drop(self);
    }
}

/// The parts of a process of its own.
pub fn parts() -> Parts {
    Parts { clock: Clock::system(), tasks: Tasks::new(), health: Health::new(), metrics: Metrics::new("test") }
}

/// The Lamp CRD, except that the server takes words for numbers: older or newer writers do such things.
pub fn lenient_crd() -> k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition {
    let mut crd = serde_json::to_value(Lamp::crd()).unwrap();
    let spec = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    spec["properties"]["bulbs"] = json!({ "x-kubernetes-int-or-string": true });
    serde_json::from_value(crd).unwrap()
}
