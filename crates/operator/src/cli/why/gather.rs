//! Fetches what lies between a CI job and its VM: a few reads and lists, nothing more.

use std::fmt::Debug;

use anyhow::Context;
use api::registry::label;
use api::{HypervisorCluster, HypervisorMachineTemplate, LocalRef, MachineClaim, ObjectRef, RunnerJob, RunnerPool};
use fleet::trail::{Found, Kind, Scene, claim_of_job, claim_of_pool, job_of_claim};
use kube::api::{Api, ListParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::target::{Target, kind_name};

/// Something that can be asked about.
pub(super) enum Subject {
    Job(Box<RunnerJob>),
    Claim(Box<MachineClaim>),
    Pool(Box<RunnerPool>),
}

impl Subject {
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Job(_) => Kind::Job,
            Self::Claim(_) => Kind::Claim,
            Self::Pool(_) => Kind::Pool,
        }
    }
}

/// A kind of ours.
trait Ours: Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Clone + Debug {}

impl<K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Clone + Debug> Ours for K {}

/// Reads from one namespace, and from those that its objects refer to.
pub(super) struct Reader {
    client: Client,
    namespace: String,
}

impl Reader {
    pub(super) const fn new(client: Client, namespace: String) -> Self {
        Self { client, namespace }
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Everything the target may mean.
    pub(super) async fn find(&self, target: &Target) -> anyhow::Result<Vec<Subject>> {
        let wanted = |kind| target.kind.is_none_or(|only| only == kind);
        let mut found = Vec::new();
        if wanted(Kind::Job) {
            found.extend(self.one(Kind::Job, &target.name).await?.map(|job| Subject::Job(Box::new(job))));
        }
        if wanted(Kind::Claim) {
            found.extend(self.one(Kind::Claim, &target.name).await?.map(|claim| Subject::Claim(Box::new(claim))));
        }
        if wanted(Kind::Pool) {
            found.extend(self.one(Kind::Pool, &target.name).await?.map(|pool| Subject::Pool(Box::new(pool))));
        }
        Ok(found)
    }

    /// The names that the target could have had.
    pub(super) async fn names(&self, target: &Target) -> anyhow::Result<Vec<String>> {
        let wanted = |kind| target.kind.is_none_or(|only| only == kind);
        let mut names = Vec::new();
        if wanted(Kind::Job) {
            names.extend(self.list::<RunnerJob>(Kind::Job, None).await?.iter().map(ResourceExt::name_any));
        }
        if wanted(Kind::Claim) {
            names.extend(self.list::<MachineClaim>(Kind::Claim, None).await?.iter().map(ResourceExt::name_any));
        }
        if wanted(Kind::Pool) {
            names.extend(self.list::<RunnerPool>(Kind::Pool, None).await?.iter().map(ResourceExt::name_any));
        }
        Ok(names)
    }

    /// What lies around it.
    pub(super) async fn scene(&self, subject: Subject) -> anyhow::Result<Scene> {
        let scene = Scene::of(subject.kind(), &self.namespace);
        match subject {
            Subject::Job(job) => self.around_job(*job, scene).await,
            Subject::Claim(claim) => self.around_claim(*claim, scene).await,
            Subject::Pool(pool) => self.around_pool(*pool, scene).await,
        }
    }

    async fn around_job(&self, job: RunnerJob, scene: Scene) -> anyhow::Result<Scene> {
        let status = job.status.clone().unwrap_or_default();
        let selector = format!("{}={}", label::RUNNER_JOB, job.name_any());
        let mut claims: Vec<MachineClaim> = self.list(Kind::Claim, Some(&selector)).await?;
        let taken: Found<MachineClaim> = self.local(status.claim_ref.as_ref()).await?;
        claims.extend(taken.there().cloned());
        let claim = claim_of_job(&job, &claims).cloned().map_or(taken, there);
        let pool: Found<RunnerPool> = self.local(status.pool_ref.as_ref()).await?;
        let made_from = claim.there().map(|claim| &claim.spec.template_ref);
        let made_from = made_from.or_else(|| pool.there().map(|pool| &pool.spec.template_ref)).cloned();
        let source = self.local(Some(&job.spec.source_ref)).await?;
        self.below(made_from, Scene { job: there(job), pool, claim, source, ..scene }).await
    }

    async fn around_claim(&self, claim: MachineClaim, scene: Scene) -> anyhow::Result<Scene> {
        let runner = claim.spec.workload.runner.clone();
        let jobs = match &runner {
            Some(_) => self.list(Kind::Job, None).await?,
            None => Vec::new(),
        };
        let job = match job_of_claim(&claim, &jobs) {
            None => Found::Unnamed,
            Some(name) => {
                let job = jobs.into_iter().find(|job| job.name_any() == name);
                job.map_or(Found::Missing(name), there)
            }
        };
        let pool = self.local(claim.spec.pool_ref.as_ref()).await?;
        let source = self.local(runner.as_ref().map(|runner| &runner.source_ref)).await?;
        let made_from = Some(claim.spec.template_ref.clone());
        self.below(made_from, Scene { job, pool, claim: there(claim), source, ..scene }).await
    }

    async fn around_pool(&self, pool: RunnerPool, scene: Scene) -> anyhow::Result<Scene> {
        let selector = format!("{}={}", label::RUNNER_POOL, pool.name_any());
        let claims: Vec<MachineClaim> = self.list(Kind::Claim, Some(&selector)).await?;
        let claim = claim_of_pool(&claims).cloned().map_or(Found::Unnamed, there);
        let source = self.local(Some(&pool.spec.source_ref)).await?;
        let made_from = Some(pool.spec.template_ref.clone());
        self.below(made_from, Scene { pool: there(pool), claim, source, ..scene }).await
    }

    /// The scene with what machines are made from.
    async fn below(&self, made_from: Option<ObjectRef>, scene: Scene) -> anyhow::Result<Scene> {
        let template: Found<HypervisorMachineTemplate> = match &made_from {
            Some(made_from) => self.referred(made_from, &self.namespace).await?,
            None => Found::Unnamed,
        };
        let cluster: Found<HypervisorCluster> = match template.there() {
            Some(template) => {
                let home = template.namespace().unwrap_or_default();
                self.referred(&template.spec.hypervisor_cluster_ref, &home).await?
            }
            None => Found::Unnamed,
        };
        Ok(Scene { template, cluster, ..scene })
    }

    async fn one<K: Ours>(&self, kind: Kind, name: &str) -> anyhow::Result<Option<K>> {
        let objects: Api<K> = Api::namespaced(self.client.clone(), &self.namespace);
        objects.get_opt(name).await.with_context(|| format!("{} {name} cannot be read", kind_name(kind)))
    }

    async fn list<K: Ours>(&self, kind: Kind, labels: Option<&str>) -> anyhow::Result<Vec<K>> {
        let objects: Api<K> = Api::namespaced(self.client.clone(), &self.namespace);
        let params = labels.map_or_else(ListParams::default, |labels| ListParams::default().labels(labels));
        let list = objects.list(&params).await;
        Ok(list
            .with_context(|| format!("{}s of namespace {} cannot be listed", kind_name(kind), self.namespace))?
            .items)
    }

    async fn local<K: Ours>(&self, reference: Option<&LocalRef>) -> anyhow::Result<Found<K>> {
        match reference {
            Some(reference) => self.look(&self.namespace, reference.name.as_str()).await,
            None => Ok(Found::Unnamed),
        }
    }

    async fn referred<K: Ours>(&self, reference: &ObjectRef, home: &str) -> anyhow::Result<Found<K>> {
        let namespace = reference.namespace.as_ref().map_or(home, api::NamespaceName::as_str);
        self.look(namespace, reference.name.as_str()).await
    }

    /// An object that another refers to. Whoever asks may not be allowed to see it, and still wants an answer.
    async fn look<K: Ours>(&self, namespace: &str, name: &str) -> anyhow::Result<Found<K>> {
        let shown = if namespace == self.namespace { name.to_owned() } else { format!("{namespace}/{name}") };
        let objects: Api<K> = Api::namespaced(self.client.clone(), namespace);
        match objects.get_opt(name).await {
            Ok(Some(object)) => Ok(there(object)),
            Ok(None) => Ok(Found::Missing(shown)),
            Err(kube::Error::Api(refusal)) if refusal.is_forbidden() => {
                Ok(Found::Hidden { name: shown, why: refusal.message })
            }
            Err(error) => Err(error).with_context(|| format!("{} {shown} cannot be read", K::kind(&()))),
        }
    }
}

fn there<K>(object: K) -> Found<K> {
    Found::There(Box::new(object))
}
