//! Whether rules grant all that others grant, and what is missing.

use std::collections::BTreeMap;

use super::rule::{Rule, has, has_or_all, url_covers};

/// What `wanted` grants and `held` does not, one right each; nothing if it is all covered.
///
/// Rights are compared one by one, so that two rules may cover a third together.
pub fn missing(held: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let rights = wanted.iter().flat_map(single_rights);
    rights.filter(|right| !held.iter().any(|rule| covers(rule, right))).collect()
}

/// The rule taken apart: each part has one verb, and one resource of one group or one path, and at most one name.
pub(super) fn single_rights(rule: &Rule) -> Vec<Rule> {
    let one = |text: &String| vec![text.clone()];
    let mut rights = Vec::new();
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let right =
                    Rule { verbs: one(verb), api_groups: one(group), resources: one(resource), ..Rule::default() };
                if rule.resource_names.is_empty() {
                    rights.push(right);
                } else {
                    let named = |name| Rule { resource_names: one(name), ..right.clone() };
                    rights.extend(rule.resource_names.iter().map(named));
                }
            }
        }
    }
    for url in &rule.non_resource_urls {
        let right = |verb| Rule { verbs: one(verb), non_resource_urls: one(url), ..Rule::default() };
        rights.extend(rule.verbs.iter().map(right));
    }
    rights
}

/// Single rights put together again where they differ by verb only, in an order that depends on nothing else.
pub(super) fn compact(rights: Vec<Rule>) -> Vec<Rule> {
    let mut paths = Vec::new();
    let mut objects: BTreeMap<[Vec<String>; 3], Rule> = BTreeMap::new();
    for right in rights {
        if right.resources.is_empty() {
            paths.push(right);
            continue;
        }
        let key = [right.api_groups.clone(), right.resources.clone(), right.resource_names.clone()];
        match objects.get_mut(&key) {
            Some(known) => known.verbs.extend(right.verbs),
            None => drop(objects.insert(key, right)),
        }
    }
    paths.extend(objects.into_values());
    paths
}

fn covers(held: &Rule, right: &Rule) -> bool {
    let names = &right.resource_names;
    right.verbs.iter().all(|verb| has_or_all(&held.verbs, verb))
        && right.api_groups.iter().all(|group| has_or_all(&held.api_groups, group))
        && right.resources.iter().all(|resource| covers_resource(&held.resources, resource))
        && right.non_resource_urls.iter().all(|url| held.non_resource_urls.iter().any(|listed| url_covers(listed, url)))
        && (held.resource_names.is_empty()
            || (!names.is_empty() && names.iter().all(|name| has(&held.resource_names, name))))
}

fn covers_resource(held: &[String], wanted: &str) -> bool {
    let any = |subresource: &str| {
        held.iter().any(|listed| listed.strip_prefix("*/").is_some_and(|listed| listed == subresource))
    };
    has_or_all(held, wanted) || wanted.split_once('/').is_some_and(|(_, subresource)| any(subresource))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]) -> Rule {
        let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        Rule {
            verbs: owned(verbs),
            api_groups: owned(groups),
            resources: owned(resources),
            resource_names: owned(names),
            ..Rule::default()
        }
    }

    #[test]
    fn two_rules_may_cover_a_third_together() {
        let held = [rule(&["get"], &[""], &["pods", "secrets"], &[]), rule(&["list"], &[""], &["*"], &[])];
        assert_eq!(missing(&held, &[rule(&["get", "list"], &[""], &["pods"], &[])]), []);
        let left = missing(&held, &[rule(&["get"], &["", "apps"], &["pods", "pods/log"], &[])]);
        let told: Vec<String> = compact(left).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                r#"{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}"#,
                r#"{APIGroups:["apps"], Resources:["pods"], Verbs:["get"]}"#,
                r#"{APIGroups:["apps"], Resources:["pods/log"], Verbs:["get"]}"#,
            ]
        );
    }

    #[test]
    fn a_named_right_does_not_cover_all_names() {
        let named = rule(&["get"], &[""], &["pods"], &["a"]);
        let all = rule(&["get"], &[""], &["pods"], &[]);
        assert_eq!(missing(std::slice::from_ref(&named), std::slice::from_ref(&all)), std::slice::from_ref(&all));
        assert_eq!(missing(&[all], &[named]), []);
    }

    #[test]
    fn any_subresource_of_that_name_is_covered_by_a_star() {
        let scale = [rule(&["get"], &["apps"], &["*/scale"], &[])];
        assert_eq!(missing(&scale, &[rule(&["get"], &["apps"], &["deployments/scale"], &[])]), []);
        assert_eq!(missing(&scale, &[rule(&["get"], &["apps"], &["deployments", "deployments/status"], &[])]).len(), 2);
    }
}
