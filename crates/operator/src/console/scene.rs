//! What lies around a job, found in the caches: the same scene that `hyperfleet why` fetches.

use std::collections::HashMap;
use std::sync::Arc;

use api::registry::label;
use api::{
    HypervisorCluster, HypervisorMachineTemplate, JobState, LocalRef, MachineClaim, ObjectRef, RunnerJob, RunnerPool,
    RunnerSource,
};
use fleet::trail::{Found, Kind, Scene, claim_of_job};
use kube::ResourceExt;

use super::state::Objects;
use crate::departed::Farewell;

/// Namespace and name.
type Name<'a> = (&'a str, &'a str);

type Named<'a, K> = HashMap<Name<'a>, &'a K>;

/// Everything there is, by name.
pub(super) struct Surroundings<'a> {
    pools: Named<'a, RunnerPool>,
    sources: Named<'a, RunnerSource>,
    templates: Named<'a, HypervisorMachineTemplate>,
    clusters: Named<'a, HypervisorCluster>,
    claims: Named<'a, MachineClaim>,
    /// The claims made for each job.
    made_for: HashMap<Name<'a>, Vec<&'a MachineClaim>>,
    departed: Named<'a, Farewell>,
}

impl<'a> Surroundings<'a> {
    pub(super) fn new(objects: &'a Objects) -> Self {
        let mut made_for: HashMap<Name<'a>, Vec<&MachineClaim>> = HashMap::new();
        for claim in &objects.claims {
            if let Some(job) = claim.labels().get(label::RUNNER_JOB) {
                made_for.entry((name(&**claim).0, job.as_str())).or_default().push(claim);
            }
        }
        Self {
            pools: named(&objects.pools),
            sources: named(&objects.sources),
            templates: named(&objects.templates),
            clusters: named(&objects.clusters),
            claims: named(&objects.claims),
            made_for,
            departed: objects.departed.iter().map(|farewell| (name(&*farewell.claim), farewell)).collect(),
        }
    }

    /// What lies around a job.
    pub(super) fn around(&self, job: &RunnerJob) -> Scene {
        let (home, called) = name(job);
        let status = job.status.clone().unwrap_or_default();
        let taken: Found<MachineClaim> = local(&self.claims, home, status.claim_ref.as_ref());
        let mut claims: Vec<MachineClaim> =
            self.made_for.get(&(home, called)).into_iter().flatten().map(|claim| (*claim).clone()).collect();
        claims.extend(taken.there().cloned());
        let claim = claim_of_job(job, &claims).cloned().map_or(taken, there);
        let pool = local(&self.pools, home, status.pool_ref.as_ref());
        let made_from = claim.there().map(|claim| &claim.spec.template_ref);
        let made_from = made_from.or_else(|| pool.there().map(|pool| &pool.spec.template_ref));
        let template: Found<HypervisorMachineTemplate> =
            made_from.map_or(Found::Unnamed, |made_from| referred(&self.templates, home, home, made_from));
        let cluster = match template.there() {
            Some(template) => referred(&self.clusters, home, name(template).0, &template.spec.hypervisor_cluster_ref),
            None => Found::Unnamed,
        };
        let source = local(&self.sources, home, Some(&job.spec.source_ref));
        Scene { job: there(job.clone()), pool, claim, source, template, cluster, ..Scene::of(Kind::Job, home) }
    }

    /// The claim that an ended job had, if it went not long ago.
    pub(super) fn departed(&self, job: &RunnerJob) -> Option<&'a Farewell> {
        let status = job.status.as_ref().filter(|status| status.state == Some(JobState::Completed))?;
        let taken = status.claim_ref.as_ref()?;
        self.departed.get(&(name(job).0, taken.name.as_str())).copied()
    }
}

pub(super) fn name<K: kube::Resource>(object: &K) -> Name<'_> {
    let metadata = object.meta();
    (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}

fn named<K: kube::Resource>(objects: &[Arc<K>]) -> Named<'_, K> {
    objects.iter().map(|object| (name(&**object), &**object)).collect()
}

fn local<K: Clone>(known: &Named<'_, K>, home: &str, reference: Option<&LocalRef>) -> Found<K> {
    let Some(reference) = reference else { return Found::Unnamed };
    let wanted = reference.name.as_str();
    known.get(&(home, wanted)).map_or_else(|| Found::Missing(wanted.to_owned()), |object| there((*object).clone()))
}

/// An object in the namespace that a reference names, else in that of whoever refers to it.
fn referred<K: Clone>(known: &Named<'_, K>, home: &str, own: &str, reference: &ObjectRef) -> Found<K> {
    let namespace = reference.namespace.as_ref().map_or(own, api::NamespaceName::as_str);
    let wanted = reference.name.as_str();
    let shown = || if namespace == home { wanted.to_owned() } else { format!("{namespace}/{wanted}") };
    known.get(&(namespace, wanted)).map_or_else(|| Found::Missing(shown()), |object| there((*object).clone()))
}

fn there<K>(object: K) -> Found<K> {
    Found::There(Box::new(object))
}
