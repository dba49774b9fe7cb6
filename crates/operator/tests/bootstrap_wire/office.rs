//! An office: the service on a socket, over an API in memory with one claim.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use api::{BootstrapRecord, MachineClaim};
use apiserver::{ApiServer, Options, User};
use chassis::health::Health;
use chassis::metrics::Metrics;
use chassis::serve::Bind;
use chassis::{Clock, Tasks};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use operator::bootstrap::{Authority, Bootstrap, Charter, digest, serve};
use operator::calls::Calls;
use operator::outpost::{Means, Outposts, over_the_network};
use providers::http::AddressPolicy;
use runtime::{Cache, Leadership, Parts, Selection};
use serde_json::{Value, json};

use crate::caller::Caller;

pub(crate) const ID: &str = "aaaaaaaa-0000-4000-8000-000000000001";
pub(crate) const MACHINE: &str = "bbbbbbbb-0000-4000-8000-000000000001";
pub(crate) const TOKEN: &str = "very-secret";

pub(crate) struct Office {
    address: SocketAddr,
    pub(crate) authority: Authority,
    pub(crate) clock: Clock,
    claims: Api<MachineClaim>,
    tasks: Tasks,
}

/// An API with our kinds and nothing in it.
pub(crate) async fn client() -> Client {
    let server = ApiServer::new(Options::in_memory(Clock::system(), [7; 32])).unwrap();
    let client = Client::new(server.door(User::admin()), "default");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for crd in api::crds() {
        definitions.create(&PostParams::default(), &crd).await.unwrap();
    }
    client
}

impl Office {
    pub(crate) async fn open() -> Self {
        let (client, clock, tasks) = (client().await, Clock::system(), Tasks::new());
        let parts = Parts { clock, tasks: tasks.clone(), health: Health::new(), metrics: Metrics::new("test") };
        let claims: Api<MachineClaim> = Api::default_namespaced(client.clone());
        let not_after = clock.now() + Duration::from_mins(10);
        let claim = json!({
            "metadata": { "name": "one" },
            "spec": { "templateRef": { "name": "small" }, "workload": { "command": { "argv": ["true"] } } },
        });
        let head = json!({ "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "MachineClaim" });
        let claim = [head, claim].iter().flat_map(|part| part.as_object().unwrap().clone()).collect();
        let claim = serde_json::from_value(Value::Object(claim)).unwrap();
        claims.create(&PostParams::default(), &claim).await.unwrap();
        let status = json!({
            "phase": "Bootstrapping",
            "allocation": {
                "id": MACHINE, "clusterRef": { "name": "pve" }, "vmId": 6000, "node": "pve1", "templateGeneration": 1,
                "allocatedAt": "2026-01-01T00:00:00Z",
            },
            "bootstrap": {
                "id": ID, "tokenHash": digest(TOKEN.as_bytes()), "state": "Pending", "notAfter": not_after.to_string(),
            },
        });
        let patch = Patch::Merge(json!({ "status": status }));
        claims.patch_status("one", &PatchParams::default(), &patch).await.unwrap();
        let all = Selection::default();
        let cache: Cache<MachineClaim> = Cache::spawn(&all, &client, &parts);
        let outposts = Outposts::spawn(Means {
            parts: &parts,
            client: &client,
            leadership: &Leadership::always(),
            dial: over_the_network(AddressPolicy::default(), Arc::new(Calls::new(&parts.metrics))),
            sources: &Cache::spawn(&all, &client, &parts),
            instance: "test",
            home: None,
        });
        let service = Bootstrap::new(&client, &cache, &outposts, &all, &parts, "test");
        cache.synced().await;
        let authority = Authority::load(&client, "default", clock).await.unwrap().unwrap();
        let bind = Bind::At("127.0.0.1:0".parse().unwrap());
        let address = serve(bind, &service, &Charter::new(authority.clone()), clock, &tasks).await.unwrap().unwrap();
        Self { address, authority, clock, claims, tasks }
    }

    /// What a machine says first.
    pub(crate) fn start(token: &str) -> Value {
        json!({ "token": token, "machine": MACHINE, "agent": "test" })
    }

    /// Somebody who trusts the office and has nothing to show.
    pub(crate) fn caller(&self) -> Caller {
        Caller::at(self.address, &self.authority)
    }

    pub(crate) async fn record(&self) -> BootstrapRecord {
        self.claims.get("one").await.unwrap().status.unwrap().bootstrap.unwrap()
    }

    /// Ends everything, and shows that it ends.
    pub(crate) async fn close(self) {
        self.tasks.shutdown(Duration::from_secs(10)).await.unwrap();
    }
}
