//! What a process watches: each kind once, by whoever asks for it first, and the CI platforms in the same way.

use std::cell::OnceCell;
use std::sync::Arc;

use api::{HypervisorCluster, HypervisorMachineTemplate, MachineClaim, RunnerJob, RunnerPool, RunnerSource};
use kube::Resource;
use kube::core::NamespaceResourceScope;
use providers::http::Meter;
use runtime::host::Host;
use runtime::{Cache, Cacheable, Selection};

use super::policy;
use crate::console;
use crate::outpost::{self, Caches, Outposts};

/// The watches of one process.
pub(super) struct Watches<'a> {
    host: &'a Host,
    calls: Arc<dyn Meter>,
    /// Whether this process may know who we are, which names of runners begin with.
    named: bool,
    claims: OnceCell<Cache<MachineClaim>>,
    clusters: OnceCell<Cache<HypervisorCluster>>,
    templates: OnceCell<Cache<HypervisorMachineTemplate>>,
    pools: OnceCell<Cache<RunnerPool>>,
    jobs: OnceCell<Cache<RunnerJob>>,
    sources: OnceCell<Cache<RunnerSource>>,
    outposts: OnceCell<Outposts>,
}

impl<'a> Watches<'a> {
    /// Nothing is watched yet.
    pub(super) const fn new(host: &'a Host, calls: Arc<dyn Meter>, named: bool) -> Self {
        Self {
            host,
            calls,
            named,
            claims: OnceCell::new(),
            clusters: OnceCell::new(),
            templates: OnceCell::new(),
            pools: OnceCell::new(),
            jobs: OnceCell::new(),
            sources: OnceCell::new(),
            outposts: OnceCell::new(),
        }
    }

    pub(super) fn claims(&self) -> &Cache<MachineClaim> {
        self.claims.get_or_init(|| self.watch())
    }

    pub(super) fn clusters(&self) -> &Cache<HypervisorCluster> {
        self.clusters.get_or_init(|| self.watch())
    }

    pub(super) fn templates(&self) -> &Cache<HypervisorMachineTemplate> {
        self.templates.get_or_init(|| self.watch())
    }

    pub(super) fn pools(&self) -> &Cache<RunnerPool> {
        self.pools.get_or_init(|| self.watch())
    }

    pub(super) fn jobs(&self) -> &Cache<RunnerJob> {
        self.jobs.get_or_init(|| self.watch())
    }

    pub(super) fn sources(&self) -> &Cache<RunnerSource> {
        self.sources.get_or_init(|| self.watch())
    }

    /// What is known of jobs and who serves them.
    pub(super) fn of_jobs(&self) -> Caches {
        Caches { jobs: self.jobs().clone(), claims: self.claims().clone(), pools: self.pools().clone() }
    }

    /// What the console shows.
    pub(super) fn shown(&self) -> console::Caches {
        console::Caches {
            pools: self.pools().clone(),
            jobs: self.jobs().clone(),
            claims: self.claims().clone(),
            sources: self.sources().clone(),
            templates: self.templates().clone(),
            clusters: self.clusters().clone(),
        }
    }

    /// The CI platforms that this process is connected to.
    pub(super) fn outposts(&self) -> &Outposts {
        let Host { parts, client, leadership, instance, namespace, .. } = self.host;
        self.outposts.get_or_init(|| {
            Outposts::spawn(outpost::Means {
                parts,
                client,
                leadership,
                dial: outpost::over_the_network(policy(self.host, "platforms"), Arc::clone(&self.calls)),
                sources: self.sources(),
                instance,
                home: self.named.then_some(namespace),
            })
        })
    }

    fn watch<K: Cacheable + Resource<Scope = NamespaceResourceScope>>(&self) -> Cache<K> {
        Cache::spawn(&Selection::namespaces(&self.host.settings.namespaces), &self.host.client, &self.host.parts)
    }
}
