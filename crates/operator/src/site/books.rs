//! What Kubernetes says about machines: which claim has which.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::registry::annotation::HOLD;
use api::{HypervisorCluster, MachineClaim, VmId};
use fleet::claim::holds_machine;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::{Api, Client, ResourceExt};
use reconcile::Fault;
use runtime::client::fault;
use runtime::{Cache, Key, Parts, Recorder, Selection};

use crate::controllers::hypervisor_clusters::target;

/// What Kubernetes says about machines and their clusters.
#[derive(Clone)]
pub struct Books {
    clusters: Cache<HypervisorCluster>,
    claims: Cache<MachineClaim>,
    namespaces: Vec<String>,
    client: Client,
    recorder: Recorder,
}

impl Books {
    /// Over these caches, which are those of `selection`; `instance` is this process's name in events.
    pub fn new(
        clusters: &Cache<HypervisorCluster>,
        claims: &Cache<MachineClaim>,
        selection: &Selection,
        client: &Client,
        instance: &str,
        parts: &Parts,
    ) -> Self {
        let recorder = Recorder::new(client.clone(), parts.clock, parts.metrics.clone(), "orphans", instance);
        Self {
            clusters: clusters.clone(),
            claims: claims.clone(),
            namespaces: selection.namespaces.clone(),
            client: client.clone(),
            recorder,
        }
    }

    /// Resolves once everything has been listed once.
    pub(super) async fn complete(&self) {
        self.clusters.synced().await;
        self.claims.synced().await;
    }

    /// A cluster as it is.
    pub(super) fn cluster(&self, key: &Key) -> Option<Arc<HypervisorCluster>> {
        self.clusters.get(key)
    }

    /// Tells people about a cluster.
    pub(super) const fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// What the watch of claims says.
    pub(super) fn holdings(&self, cluster: &Key) -> Holdings {
        let claims = self.claims.all();
        let allocations = claims.iter().filter_map(|claim| Some((claim, claim.status.as_ref()?.allocation.as_ref()?)));
        let mut holdings = Holdings { claims: claims.len(), ..Holdings::default() };
        // What was proven gone is nobody's, should it come back by a call that was on its way for long.
        for (claim, allocation) in allocations.filter(|(claim, _)| holds_machine(claim)) {
            holdings.allocations.insert(allocation.id.as_str().to_ascii_lowercase());
            if target(&allocation.cluster_ref, &claim.metadata) == *cluster {
                holdings.numbers.insert(allocation.vm_id);
            }
        }
        holdings
    }

    /// The same for all clusters, asked of the API server itself. Claims that our types cannot hold count too.
    pub(super) async fn listed(&self) -> Result<Holdings, Fault> {
        let kind = ApiResource::erase::<MachineClaim>(&());
        let apis: Vec<Api<DynamicObject>> = if self.namespaces.is_empty() {
            vec![Api::all_with(self.client.clone(), &kind)]
        } else {
            let of = |namespace: &String| Api::namespaced_with(self.client.clone(), namespace, &kind);
            self.namespaces.iter().map(of).collect()
        };
        let mut holdings = Holdings::default();
        for api in apis {
            let list = api.list(&ListParams::default()).await.map_err(|error| fault("list MachineClaims", error))?;
            let held = list.items.iter().filter(|claim| claim.data.pointer("/status/teardown/vmGoneAt").is_none());
            let ids = held.filter_map(|claim| claim.data.pointer("/status/allocation/id")?.as_str());
            holdings.allocations.extend(ids.map(str::to_ascii_lowercase));
            holdings.claims += list.items.len();
            holdings.on_hold += list.items.iter().filter(|claim| claim.annotations().contains_key(HOLD)).count();
        }
        Ok(holdings)
    }
}

/// What claims hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Holdings {
    /// How many claims there are.
    pub(super) claims: usize,
    /// The allocations of all claims whose machines may be there, in lower case.
    allocations: BTreeSet<String>,
    /// The numbers that they hold on the cluster.
    pub(super) numbers: BTreeSet<VmId>,
    /// How many claims are on hold, as those are of an import that is not complete; counted where the API server is asked.
    pub(super) on_hold: usize,
}

impl Holdings {
    /// Whether a claim has this allocation, wherever its machine is said to be.
    pub(super) fn has(&self, allocation: &str) -> bool {
        self.allocations.contains(&allocation.to_ascii_lowercase())
    }
}
