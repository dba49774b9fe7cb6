//! Pools: whether what they refer to is there and theirs to use, and whether two of them serve the same jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{HypervisorMachineTemplate, RunnerPool};
use kube::Api;
use runtime::Key;

use super::Means;
use super::chart::{About, Chart, Check, Severity};
use super::kubernetes::{Objects, told};
use super::sources::folds;
use crate::controllers::hypervisor_clusters::target;
use crate::controllers::machine_templates::is_granted;
use crate::outpost::Survey;

/// Looks at every pool.
pub(super) async fn examine(means: &Means, objects: &Objects, surveys: &BTreeMap<Key, Survey>, chart: &mut Chart) {
    let mut served: BTreeMap<(Key, BTreeSet<String>), Vec<About>> = BTreeMap::new();
    for pool in objects.pools.iter().flatten() {
        let about = About::new("RunnerPool", &pool.metadata);
        let source = Key::new(about.namespace.clone(), pool.spec.source_ref.name.as_str());
        let heard = sourced(objects, &source, &about, chart);
        if templated(means, objects, pool, &about, chart).await && heard {
            chart.pass(Check::Pool, &about, "its source and its template are there");
        }
        served.entry((source.clone(), labels(pool, objects, surveys.get(&source), &source))).or_default().push(about);
    }
    for ((_, labels), pools) in served.iter().filter(|(_, pools)| pools.len() > 1) {
        twice(labels, pools, chart);
    }
}

/// Whether a pool's source is seen to be there.
fn sourced(objects: &Objects, source: &Key, about: &About, chart: &mut Chart) -> bool {
    let there = objects.sources.iter().flatten().any(|known| Key::of(&known.metadata) == *source);
    if !there && objects.sources.is_some() {
        let what =
            format!("spec.sourceRef names RunnerSource {source}, which does not exist: its jobs are never heard of");
        let remedy = format!(
            "kubectl -n {} get runnersources    # sourceRef cannot be changed: make that source, or another pool",
            about.namespace
        );
        chart.find(Severity::Broken, Check::Pool, about, what, remedy);
    }
    there
}

/// Whether a pool's template is seen to be there, and to be for its namespace.
async fn templated(means: &Means, objects: &Objects, pool: &RunnerPool, about: &About, chart: &mut Chart) -> bool {
    let key = target(&pool.spec.template_ref, &pool.metadata);
    let template = match find(means, objects, &key, about, chart).await {
        Found::There(template) => template,
        Found::Missing => {
            let what = format!("spec.templateRef names HypervisorMachineTemplate {key}, which does not exist");
            chart.find(Severity::Broken, Check::Pool, about, what, format!("{}    # spec.templateRef", about.edit()));
            return false;
        }
        Found::Unseen => return false,
    };
    if about.namespace == key.namespace {
        return true;
    }
    let (home, holder) = (&about.namespace, About::new("HypervisorMachineTemplate", &template.metadata));
    match is_granted(&means.client, template.spec.allowed_namespaces.as_ref(), home).await {
        Ok(true) => return true,
        Ok(false) => {
            let what = format!("{holder} does not allow namespace {home}, so that it makes no machines for this pool");
            let remedy = format!("{}    # spec.allowedNamespaces", holder.edit());
            chart.find(Severity::Broken, Check::Pool, about, what, remedy);
        }
        Err(fault) => {
            let what = format!("not checked: whether {holder} allows namespace {home}: {fault}");
            let remedy = format!("kubectl get namespace {home}    # as somebody who may");
            chart.find(Severity::Unknown, Check::Pool, about, what, remedy);
        }
    }
    false
}

/// What is known of a template.
enum Found {
    There(Arc<HypervisorMachineTemplate>),
    Missing,
    /// It could not be looked at, and that was said.
    Unseen,
}

/// The template of this name, in whichever namespace.
async fn find(means: &Means, objects: &Objects, key: &Key, about: &About, chart: &mut Chart) -> Found {
    if means.namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace) {
        let Some(listed) = &objects.templates else { return Found::Unseen };
        let named = listed.iter().find(|known| Key::of(&known.metadata) == *key);
        return named.map_or(Found::Missing, |template| Found::There(Arc::clone(template)));
    }
    let there: Api<HypervisorMachineTemplate> = Api::namespaced(means.client.clone(), &key.namespace);
    match there.get_opt(&key.name).await {
        Ok(found) => found.map_or(Found::Missing, |template| Found::There(Arc::new(template))),
        Err(error) => {
            let what = format!("not checked: HypervisorMachineTemplate {key} of spec.templateRef: {}", told(&error));
            let remedy = format!(
                "kubectl -n {} get hypervisormachinetemplate {}    # as somebody who may",
                key.namespace, key.name
            );
            chart.find(Severity::Unknown, Check::Pool, about, what, remedy);
            Found::Unseen
        }
    }
}

/// What a pool's runners offer, as the platform compares it.
fn labels(pool: &RunnerPool, objects: &Objects, survey: Option<&Survey>, source: &Key) -> BTreeSet<String> {
    let labels = pool.spec.labels.iter().map(|label| label.as_str().to_owned());
    let own: Vec<String> = labels.chain(pool.spec.tags.iter().map(|tag| tag.as_str().to_owned())).collect();
    let offered = survey.and_then(|survey| survey.offered(&own)).unwrap_or(own);
    let source = objects.sources.iter().flatten().find(|known| Key::of(&known.metadata) == *source);
    let fold = source.is_some_and(|source| folds(source.spec.platform));
    offered.into_iter().map(|label| if fold { label.to_lowercase() } else { label }).collect()
}

fn twice(labels: &BTreeSet<String>, pools: &[About], chart: &mut Chart) {
    let Some((first, others)) = pools.split_first() else { return };
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    for other in others {
        let what = format!(
            "it serves the same labels as RunnerPool {} ({}), so that nobody can tell which of them a job goes to",
            first.name,
            labels.join(", ")
        );
        let remedy = format!("{}    # give spec.labels one that the other has not", other.edit());
        chart.find(Severity::Advice, Check::Pool, other, what, remedy);
    }
}
