//! Rules in Kubernetes' form: merged, sorted, each verb once.

use std::collections::{BTreeMap, BTreeSet};

use runtime::rbac::Rule;
use serde_json::{Value, json};

use super::Shape;

/// Verbs that would hand out every Secret of the cluster if granted in all namespaces.
const BULK: &[&str] = &["list", "watch"];

/// The policy rules for these grants: one per API group and set of verbs, with the resources that share them.
pub(super) fn grants<'a>(rules: impl Iterator<Item = &'a Rule>, shape: Shape<'_>) -> Vec<Value> {
    let mut verbs: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for rule in rules {
        for (group, resource) in rule.groups.iter().flat_map(|group| rule.resources.iter().map(move |r| (*group, *r))) {
            let narrowed = rule.verbs.iter().filter(|verb| !is_too_wide(group, resource, verb, shape));
            verbs.entry((group, resource)).or_default().extend(narrowed);
        }
    }
    let mut resources: BTreeMap<(&str, Vec<&str>), Vec<&str>> = BTreeMap::new();
    for ((group, resource), verbs) in verbs.into_iter().filter(|(_, verbs)| !verbs.is_empty()) {
        resources.entry((group, in_order(verbs))).or_default().push(resource);
    }
    let grant = |((group, verbs), resources)| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    resources.into_iter().map(grant).collect()
}

fn is_too_wide(group: &str, resource: &str, verb: &str, shape: Shape<'_>) -> bool {
    shape == Shape::ClusterWide && group.is_empty() && resource == "secrets" && BULK.contains(&verb)
}

/// Verbs as people list them: looking first, changing after.
fn in_order(verbs: BTreeSet<&str>) -> Vec<&str> {
    const ORDER: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];
    let mut verbs: Vec<&str> = verbs.into_iter().collect();
    verbs.sort_by_key(|verb| (ORDER.iter().position(|known| known == verb).unwrap_or(ORDER.len()), *verb));
    verbs
}
