//! What the roles allow and, above all, what they do not.

use super::*;

const PODS: Rule = Rule { groups: &[""], resources: &["pods"], verbs: &["watch", "get"], scope: Scope::Watched };
const SECRETS: Rule =
    Rule { groups: &[""], resources: &["secrets"], verbs: &["get", "list", "watch"], scope: Scope::Watched };

fn set(rules: &[Rule]) -> ControllerSet {
    ControllerSet { name: "fleet".to_owned(), rules: rules.to_vec() }
}

fn names(objects: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("*").to_owned();
    let name = |object: &Value| {
        format!(
            "{} {}/{}",
            text(&object["kind"]),
            text(&object["metadata"]["namespace"]),
            text(&object["metadata"]["name"])
        )
    };
    objects.iter().map(name).collect()
}

fn rules_of<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a [Value] {
    let role = objects.iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    role.and_then(|role| role["rules"].as_array()).expect("the role is there")
}

#[test]
fn a_cluster_wide_set_has_one_cluster_role_and_one_role() {
    assert_eq!(
        names(&roles(&set(&[PODS]), "system", Shape::ClusterWide)),
        [
            "ServiceAccount system/hyperfleet-operator-fleet",
            "ClusterRole */hyperfleet-operator-fleet",
            "ClusterRoleBinding */hyperfleet-operator-fleet",
            "Role system/hyperfleet-operator-fleet",
            "RoleBinding system/hyperfleet-operator-fleet",
        ]
    );
}

#[test]
fn a_namespaced_set_has_a_role_in_each_watched_namespace() {
    let objects = roles(&set(&[PODS]), "system", Shape::Namespaced(&["a", "system"]));
    assert_eq!(
        names(&objects),
        [
            "ServiceAccount system/hyperfleet-operator-fleet",
            "ClusterRole */hyperfleet-operator-fleet",
            "ClusterRoleBinding */hyperfleet-operator-fleet",
            "Role a/hyperfleet-operator-fleet-watched",
            "RoleBinding a/hyperfleet-operator-fleet-watched",
            "Role system/hyperfleet-operator-fleet-watched",
            "RoleBinding system/hyperfleet-operator-fleet-watched",
            "Role system/hyperfleet-operator-fleet",
            "RoleBinding system/hyperfleet-operator-fleet",
        ]
    );
    let cluster = rules_of(&objects, "ClusterRole", "hyperfleet-operator-fleet");
    let resources: Vec<&Value> = cluster.iter().map(|rule| &rule["resources"][0]).collect();
    assert_eq!(
        resources,
        ["tokenreviews", "subjectaccessreviews"],
        "nothing namespaced is granted in the whole cluster"
    );
}

#[test]
fn bindings_bind_the_account_to_the_role_of_the_same_name() {
    let objects = roles(&set(&[PODS]), "system", Shape::Namespaced(&["a"]));
    for pair in objects[1..].chunks(2) {
        let (role, binding) = (&pair[0], &pair[1]);
        assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
        assert_eq!(binding["roleRef"]["kind"], role["kind"]);
        assert_eq!(binding["metadata"]["namespace"], role["metadata"]["namespace"]);
        assert_eq!(binding["subjects"][0]["name"], objects[0]["metadata"]["name"]);
        assert_eq!(binding["subjects"][0]["namespace"], "system");
    }
}

#[test]
fn secrets_are_never_listed_cluster_wide() {
    let everywhere = roles(&set(&[SECRETS]), "system", Shape::ClusterWide);
    let secrets = |rules: &[Value]| rules.iter().find(|rule| rule["resources"] == json!(["secrets"])).cloned();
    let wide = secrets(rules_of(&everywhere, "ClusterRole", "hyperfleet-operator-fleet")).unwrap();
    assert_eq!(wide["verbs"], json!(["get"]));
    let some = roles(&set(&[SECRETS]), "system", Shape::Namespaced(&["a"]));
    let narrow = secrets(rules_of(&some, "Role", "hyperfleet-operator-fleet-watched")).unwrap();
    assert_eq!(narrow["verbs"], json!(["get", "list", "watch"]));
}

#[test]
fn rules_are_merged_and_sorted_whatever_their_order() {
    let more = Rule { verbs: &["list", "get"], ..PODS };
    let config = Rule { resources: &["configmaps"], verbs: &["get", "list", "watch"], ..PODS };
    let one = roles(&set(&[PODS, more, config]), "system", Shape::ClusterWide);
    let other = roles(&set(&[config, more, PODS, PODS]), "system", Shape::ClusterWide);
    assert_eq!(one, other);
    let rules = rules_of(&one, "ClusterRole", "hyperfleet-operator-fleet");
    assert_eq!(
        rules[0],
        json!({"apiGroups": [""], "resources": ["configmaps", "pods"], "verbs": ["get", "list", "watch"]})
    );
}

#[test]
fn every_process_can_elect_a_leader_write_events_and_ask_who_calls() {
    let objects = roles(&set(&[]), "system", Shape::ClusterWide);
    let granted = |kind: &str, resource: &str| {
        let rules = rules_of(&objects, kind, "hyperfleet-operator-fleet");
        rules.iter().any(|rule| rule["resources"].as_array().is_some_and(|all| all.contains(&json!(resource))))
    };
    assert!(granted("Role", "leases"));
    assert!(!granted("ClusterRole", "leases"));
    assert!(granted("ClusterRole", "events"));
    assert!(granted("ClusterRole", "tokenreviews"));
    assert!(granted("ClusterRole", "subjectaccessreviews"));
}

fn for_people() -> Vec<Value> {
    let kind = |plural: &str, scale: bool| Kind { group: "g".to_owned(), plural: plural.to_owned(), scale };
    user_roles(&[kind("hypervisorclusters", false), kind("runnerpools", true), kind("runnerjobs", false)])
}

/// Whether a role grants a verb on a resource.
fn grants_verb(role: &Value, resource: &str, verb: &str) -> bool {
    let holds = |list: &Value, word: &str| list.as_array().is_some_and(|all| all.contains(&json!(word)));
    let mut granted = role["rules"].as_array().into_iter().flatten();
    granted.any(|rule| holds(&rule["resources"], resource) && holds(&rule["verbs"], verb))
}

#[test]
fn viewers_see_everything_and_change_nothing() {
    let view = &for_people()[0];
    assert_eq!(view["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"], "true");
    for resource in ["hypervisorclusters", "runnerpools", "runnerjobs", "runnerpools/scale"] {
        assert!(grants_verb(view, resource, "get"), "{resource}");
        for verb in ["create", "update", "patch", "delete"] {
            assert!(!grants_verb(view, resource, verb), "{verb} {resource}");
        }
    }
}

#[test]
fn editors_cannot_change_hypervisor_clusters() {
    let edit = &for_people()[1];
    assert_eq!(edit["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"], "true");
    for verb in ["create", "update", "patch", "delete"] {
        assert!(!grants_verb(edit, "hypervisorclusters", verb), "{verb}");
        assert!(grants_verb(edit, "runnerpools", verb), "{verb}");
    }
    assert!(grants_verb(edit, "runnerpools/scale", "update"));
    assert!(!grants_verb(edit, "runnerpools/status", "update"));
}

#[test]
fn editors_may_delete_jobs_but_not_invent_them() {
    let edit = &for_people()[1];
    assert!(grants_verb(edit, "runnerjobs", "delete"));
    assert!(!grants_verb(edit, "runnerjobs", "create"));
}

#[test]
fn only_the_administrators_role_changes_hypervisor_clusters_and_nobody_gets_it_by_aggregation() {
    let administrators = &for_people()[2];
    assert!(grants_verb(administrators, "hypervisorclusters", "create"));
    let labels = administrators["metadata"]["labels"].as_object().expect("it has labels");
    assert!(labels.keys().all(|key| !key.contains("aggregate")), "{labels:?}");
}

#[test]
fn those_who_look_at_the_console_or_at_metrics_may_get_that_and_nothing_else() {
    for (role, path) in [(metrics_reader(), "/metrics"), (console_reader(), "/console/*")] {
        assert_eq!(role["rules"], json!([{"nonResourceURLs": [path], "verbs": ["get"]}]));
        let labels = role["metadata"]["labels"].as_object().expect("it has labels");
        assert!(labels.keys().all(|key| !key.contains("aggregate")), "{labels:?}");
    }
}
