//! The cluster roles and bindings that a fresh server has.
//!
//! Those whose effect a person can meet are here, word for word what a real server starts with, kinds that are not served
//! included: who may grant what must not depend on the server. Those of the real server's own parts (nodes, scheduler,
//! controllers) are not.

mod rules;

use serde_json::{Value, json};

use rules::{ADMIN, EDIT, Line, VIEW};

const AUTHORIZATION: &str = "authorization.k8s.io";
const AUTHENTICATION: &str = "authentication.k8s.io";

/// The cluster roles and bindings that a fresh server has, without what the store adds.
///
/// `admin`, `edit` and `view` have no rules yet: [`aggregate`](super::aggregate) tells which.
pub fn bootstrap() -> Vec<Value> {
    let everything = json!([
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ]);
    let basic = [
        Line {
            verbs: "create",
            groups: &[AUTHORIZATION],
            resources: "selfsubjectaccessreviews selfsubjectrulesreviews",
        },
        Line { verbs: "create", groups: &[AUTHENTICATION], resources: "selfsubjectreviews" },
    ];
    let delegator = [
        Line { verbs: "create", groups: &[AUTHENTICATION], resources: "tokenreviews" },
        Line { verbs: "create", groups: &[AUTHORIZATION], resources: "subjectaccessreviews" },
    ];
    vec![
        role("cluster-admin", &[], &everything),
        role("system:discovery", &[], &json!([paths(rules::DISCOVERY)])),
        role("system:monitoring", &[], &monitoring()),
        role("system:basic-user", &[], &lines(&basic)),
        role("system:public-info-viewer", &[], &json!([paths(rules::PUBLIC)])),
        gathering("admin", &[]),
        gathering("edit", &["admin"]),
        gathering("view", &["edit"]),
        role("system:aggregate-to-admin", &["admin"], &lines(ADMIN)),
        role("system:aggregate-to-edit", &["edit"], &lines(EDIT)),
        role("system:aggregate-to-view", &["view"], &lines(VIEW)),
        role("system:auth-delegator", &[], &lines(&delegator)),
        role("system:service-account-issuer-discovery", &[], &json!([paths(rules::ISSUER)])),
        binding("cluster-admin", &["system:masters"]),
        binding("system:monitoring", &["system:monitoring"]),
        binding("system:discovery", &["system:authenticated"]),
        binding("system:basic-user", &["system:authenticated"]),
        binding("system:public-info-viewer", &["system:authenticated", "system:unauthenticated"]),
        binding("system:service-account-issuer-discovery", &["system:serviceaccounts"]),
    ]
}

fn monitoring() -> Value {
    let nodes = Line { verbs: "get", groups: &[""], resources: "nodes/metrics" };
    json!([paths(rules::MONITORING), nodes.to_json()])
}

fn lines(lines: &[Line]) -> Value {
    lines.iter().map(Line::to_json).collect()
}

fn paths(urls: &str) -> Value {
    json!({"verbs": ["get"], "nonResourceURLs": urls.split_whitespace().collect::<Vec<_>>()})
}

fn role(name: &str, gathered_by: &[&str], rules: &Value) -> Value {
    let mut role = object("ClusterRole", name);
    for target in gathered_by {
        role["metadata"]["labels"][aggregate_to(target)] = json!("true");
    }
    role["rules"] = rules.clone();
    role
}

fn gathering(name: &str, gathered_by: &[&str]) -> Value {
    let mut role = role(name, gathered_by, &Value::Null);
    role["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {aggregate_to(name): "true"}}]});
    role
}

fn binding(role: &str, groups: &[&str]) -> Value {
    let mut binding = object("ClusterRoleBinding", role);
    let group = "rbac.authorization.k8s.io";
    binding["roleRef"] = json!({"apiGroup": group, "kind": "ClusterRole", "name": role});
    binding["subjects"] = groups.iter().map(|name| json!({"apiGroup": group, "kind": "Group", "name": name})).collect();
    binding
}

fn object(kind: &str, name: &str) -> Value {
    json!({
        "kind": kind, "apiVersion": "rbac.authorization.k8s.io/v1",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
            "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
        },
    })
}

fn aggregate_to(role: &str) -> String {
    format!("rbac.authorization.k8s.io/aggregate-to-{role}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::access::{Attributes, Policy, Resource, Rule, User, aggregate};

    #[test]
    fn every_binding_finds_its_role_and_nothing_is_there_twice() {
        let objects = bootstrap();
        let names: BTreeSet<(&str, &str)> = objects
            .iter()
            .map(|object| (object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap()))
            .collect();
        assert_eq!(names.len(), objects.len());
        for binding in objects.iter().filter(|object| object["kind"] == "ClusterRoleBinding") {
            assert!(names.contains(&("ClusterRole", binding["roleRef"]["name"].as_str().unwrap())));
        }
    }

    #[test]
    fn admin_holds_what_edit_holds_and_edit_what_view_holds() {
        let mut objects = bootstrap();
        loop {
            let writes = aggregate(&objects);
            if writes.is_empty() {
                break;
            }
            for (name, rules) in writes {
                let role = objects
                    .iter_mut()
                    .find(|object| object["kind"] == "ClusterRole" && object["metadata"]["name"] == name.as_str());
                role.unwrap()["rules"] = json!(rules);
            }
        }
        let rules = |name: &str| {
            let role = objects.iter().find(|object| object["metadata"]["name"] == name).unwrap();
            Rule::all_of(role)
        };
        assert_eq!(crate::access::missing(&rules("admin"), &rules("edit")), []);
        assert_eq!(crate::access::missing(&rules("edit"), &rules("view")), []);
        assert_ne!(crate::access::missing(&rules("view"), &rules("edit")), []);
        assert_ne!(crate::access::missing(&rules("edit"), &rules("admin")), []);
    }

    #[test]
    fn a_stranger_may_ask_for_the_version_and_a_user_who_he_is() {
        let policy = Policy::compile(&bootstrap());
        let version = Attributes::path(&User::anonymous(), "get", "/version");
        assert_eq!(
            policy.authorize(&version).reason,
            "RBAC: allowed by ClusterRoleBinding \"system:public-info-viewer\" of ClusterRole \
             \"system:public-info-viewer\" to Group \"system:unauthenticated\""
        );
        let own = Resource {
            group: AUTHENTICATION.to_owned(),
            resource: "selfsubjectreviews".to_owned(),
            ..Resource::default()
        };
        let ask = |user: User| policy.authorize(&Attributes::resource(&user, "create", own.clone())).allowed;
        assert!(ask(User::new("u", &[]).authenticated()));
        assert!(!ask(User::anonymous()));
    }
}
