//! Pools: whether what they refer to is there, and whether two of them serve the same jobs.

use std::collections::{BTreeMap, BTreeSet};

use api::RunnerPool;
use runtime::Key;

use super::chart::{About, Chart, Check, Severity};
use super::kubernetes::Objects;
use super::sources::folds;
use crate::controllers::hypervisor_clusters::target;
use crate::outpost::Survey;

/// Looks at every pool.
pub(super) fn examine(objects: &Objects, surveys: &BTreeMap<Key, Survey>, chart: &mut Chart) {
    let mut served: BTreeMap<(Key, BTreeSet<String>), Vec<About>> = BTreeMap::new();
    for pool in &objects.pools {
        let about = About::new("RunnerPool", &pool.metadata);
        let source = Key::new(about.namespace.clone(), pool.spec.source_ref.name.as_str());
        let template = target(&pool.spec.template_ref, &pool.metadata);
        let mut whole = true;
        if !objects.sources.iter().any(|known| Key::of(&known.metadata) == source) {
            let what = format!(
                "spec.sourceRef names RunnerSource {source}, which does not exist: its jobs are never heard of"
            );
            let remedy = format!(
                "kubectl -n {} get runnersources    # sourceRef cannot be changed: make that source, or \
                                  another pool",
                about.namespace
            );
            chart.find(Severity::Broken, Check::Pool, &about, what, remedy);
            whole = false;
        }
        let elsewhere = template.namespace != about.namespace;
        if !elsewhere && !objects.templates.iter().any(|known| Key::of(&known.metadata) == template) {
            let what = format!("spec.templateRef names HypervisorMachineTemplate {template}, which does not exist");
            let remedy = format!("{}    # spec.templateRef", about.edit());
            chart.find(Severity::Broken, Check::Pool, &about, what, remedy);
            whole = false;
        }
        if whole {
            chart.pass(Check::Pool, &about, "its source and its template are there");
        }
        served.entry((source.clone(), labels(pool, objects, surveys.get(&source), &source))).or_default().push(about);
    }
    for ((_, labels), pools) in served.iter().filter(|(_, pools)| pools.len() > 1) {
        twice(labels, pools, chart);
    }
}

/// What a pool's runners offer, as the platform compares it.
fn labels(pool: &RunnerPool, objects: &Objects, survey: Option<&Survey>, source: &Key) -> BTreeSet<String> {
    let labels = pool.spec.labels.iter().map(|label| label.as_str().to_owned());
    let own: Vec<String> = labels.chain(pool.spec.tags.iter().map(|tag| tag.as_str().to_owned())).collect();
    let offered = survey.and_then(|survey| survey.offered(&own)).unwrap_or(own);
    let source = objects.sources.iter().find(|known| Key::of(&known.metadata) == *source);
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
