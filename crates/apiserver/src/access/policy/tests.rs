//! Decisions: reasons in the real server's words, and the index against a reading of the raw objects.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::access::{Resource, Target, missing};

fn rule(verbs: &[&str], groups: &[&str], resources: &[&str]) -> Value {
    json!({"verbs": verbs, "apiGroups": groups, "resources": resources})
}

fn role(namespace: &str, name: &str, rules: &Value) -> Value {
    let kind = if namespace.is_empty() { "ClusterRole" } else { "Role" };
    json!({"kind": kind, "metadata": {"name": name, "namespace": namespace}, "rules": rules})
}

fn binding(namespace: &str, name: &str, (kind, role): (&str, &str), subjects: &Value) -> Value {
    let own = if namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
    json!({
        "kind": own, "metadata": {"name": name, "namespace": namespace}, "subjects": subjects,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
    })
}

fn wish(user: &User, verb: &str, resource: &str, namespace: &str) -> Attributes {
    let (resource, namespace) = (resource.to_owned(), namespace.to_owned());
    Attributes::resource(user, verb, Resource { resource, namespace, ..Resource::default() })
}

#[test]
fn reasons_name_the_binding_the_role_and_the_subject() {
    let policy = Policy::compile(&[
        role("", "reader", &json!([rule(&["get"], &[""], &["pods"])])),
        role("ns", "writer", &json!([rule(&["update"], &[""], &["pods"])])),
        binding(
            "",
            "all",
            ("ClusterRole", "reader"),
            &json!([{"kind": "User", "name": "x"}, {"kind": "Group", "name": "g"}]),
        ),
        binding("ns", "some", ("Role", "writer"), &json!([{"kind": "ServiceAccount", "name": "a"}])),
        binding(
            "ns",
            "other",
            ("ClusterRole", "reader"),
            &json!([{"kind": "ServiceAccount", "name": "a", "namespace": "far"}]),
        ),
    ]);
    let reason = |user: &User, verb| policy.authorize(&wish(user, verb, "pods", "ns")).reason;
    let both = User::new("x", &["g"]);
    assert_eq!(
        reason(&both, "get"),
        r#"RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "reader" to User "x""#
    );
    let member = User::new("y", &["g"]);
    assert_eq!(
        reason(&member, "get"),
        r#"RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "reader" to Group "g""#
    );
    assert_eq!(
        reason(&User::account("ns", "a", ""), "update"),
        r#"RBAC: allowed by RoleBinding "some/ns" of Role "writer" to ServiceAccount "a/ns""#
    );
    assert_eq!(
        reason(&User::account("far", "a", ""), "get"),
        r#"RBAC: allowed by RoleBinding "other/ns" of ClusterRole "reader" to ServiceAccount "a/far""#
    );
    assert_eq!(
        policy.authorize(&wish(&both, "update", "pods", "ns")),
        Decision { allowed: false, reason: String::new() }
    );
    assert!(!policy.authorize(&wish(&User::account("ns", "a", ""), "update", "pods", "")).allowed);
}

#[test]
fn bindings_to_nothing_are_named_once_each() {
    let user = json!([{"kind": "User", "name": "x"}]);
    let policy = Policy::compile(&[
        binding("", "a", ("ClusterRole", "gone"), &user),
        binding("", "b", ("ClusterRole", "gone"), &user),
        binding("ns", "c", ("Role", "gone"), &user),
    ]);
    let reason = |namespace| policy.authorize(&wish(&User::new("x", &[]), "get", "pods", namespace)).reason;
    assert_eq!(reason(""), r#"RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found"#);
    assert_eq!(
        reason("ns"),
        r#"RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "gone" not found]"#
    );
}

#[test]
fn masters_need_no_role() {
    let decision = Policy::default().authorize(&wish(&User::new("x", &[MASTERS]), "get", "pods", ""));
    assert_eq!(decision, Decision { allowed: true, reason: String::new() });
}

/// The real server's reading of one wish, straight over the raw objects.
fn reference(objects: &[Value], wish: &Attributes) -> bool {
    let mine = |binding: &Value, namespace: &str| {
        binding["subjects"].as_array().unwrap().iter().any(|subject| {
            let name = subject["name"].as_str().unwrap();
            let own = subject["namespace"].as_str().unwrap_or(namespace);
            match subject["kind"].as_str().unwrap() {
                "User" => wish.user.name == name,
                "Group" => wish.user.groups.iter().any(|group| group == name),
                _ => !own.is_empty() && wish.user.name == format!("system:serviceaccount:{own}:{name}"),
            }
        })
    };
    let applies = |binding: &&Value| match binding["kind"].as_str().unwrap() {
        "ClusterRoleBinding" => mine(binding, ""),
        "RoleBinding" => binding["metadata"]["namespace"] == wish.namespace() && mine(binding, wish.namespace()),
        _ => false,
    };
    let bound = objects.iter().filter(applies).flat_map(|binding| {
        objects.iter().filter(move |role| {
            role["kind"] == binding["roleRef"]["kind"]
                && role["metadata"]["name"] == binding["roleRef"]["name"]
                && (role["kind"] == "ClusterRole" || role["metadata"]["namespace"] == binding["metadata"]["namespace"])
        })
    });
    bound.flat_map(|role| role["rules"].as_array().unwrap()).any(|rule| reference_rule(rule, wish))
}

fn reference_rule(rule: &Value, wish: &Attributes) -> bool {
    let list = |key: &str| -> Vec<String> {
        rule[key].as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let one_of = |key: &str, text: &str| list(key).iter().any(|listed| listed == "*" || listed == text);
    one_of("verbs", &wish.verb)
        && match &wish.target {
            Target::Path(path) => list("nonResourceURLs").iter().any(|url| {
                url == path
                    || url.strip_suffix('*').is_some_and(|prefix| path.starts_with(prefix.trim_end_matches('*')))
            }),
            Target::Resource(resource) => {
                let any = format!("*/{}", resource.subresource);
                one_of("apiGroups", &resource.group)
                    && (one_of("resources", &resource.combined())
                        || (!resource.subresource.is_empty() && list("resources").contains(&any)))
                    && (list("resourceNames").is_empty() || list("resourceNames").contains(&resource.name))
            }
        }
}

fn few(words: &'static [&'static str], most: usize) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(words), 0..=most)
}

fn rules() -> impl Strategy<Value = Value> {
    let objects = (
        few(&["get", "list", "*"], 2),
        few(&["", "apps", "*"], 2),
        few(&["pods", "pods/log", "*/log", "jobs", "*", "log"], 2),
        few(&["a", "b"], 1),
    )
        .prop_map(|(verbs, groups, resources, names)| {
            json!({"verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": names})
        });
    let paths = (few(&["get", "*"], 2), few(&["/a", "/a/*", "/ab*", "*", "/a**"], 2))
        .prop_map(|(verbs, urls)| json!({"verbs": verbs, "nonResourceURLs": urls}));
    prop::collection::vec(prop_oneof![3 => objects, 1 => paths], 0..3).prop_map(Value::from)
}

fn bindings() -> impl Strategy<Value = Value> {
    let namespaces = prop::sample::select(&["", "n", "m"][..]);
    let subject = (
        prop::sample::select(&["User", "Group", "ServiceAccount"][..]),
        prop::sample::select(&["u", "v", "g", "h"][..]),
        prop::option::of(prop::sample::select(&["n", "m"][..])),
    )
        .prop_map(|(kind, name, namespace)| match namespace {
            Some(namespace) if kind == "ServiceAccount" => json!({"kind": kind, "name": name, "namespace": namespace}),
            _ => json!({"kind": kind, "name": name}),
        });
    let role = (prop::sample::select(&["ClusterRole", "Role"][..]), prop::sample::select(&["r", "s", "t"][..]));
    (namespaces, prop::sample::select(&["b", "c", "d"][..]), role, prop::collection::vec(subject, 0..3))
        .prop_map(|(namespace, name, role, subjects)| binding(namespace, name, role, &Value::from(subjects)))
}

fn objects() -> impl Strategy<Value = Vec<Value>> {
    let places = prop::sample::select(&[("", "r"), ("", "s"), ("n", "r"), ("n", "s"), ("m", "r")][..]);
    let roles = (places, rules()).prop_map(|((namespace, name), rules)| role(namespace, name, &rules));
    let both = (prop::collection::vec(roles, 0..6), prop::collection::vec(bindings(), 0..6));
    // As in a store, a name is there once.
    both.prop_map(|(roles, bindings)| {
        let mut objects: Vec<Value> = Vec::new();
        for object in roles.into_iter().chain(bindings) {
            let same = |known: &Value| known["kind"] == object["kind"] && known["metadata"] == object["metadata"];
            if !objects.iter().any(same) {
                objects.push(object);
            }
        }
        objects
    })
}

fn wishes() -> impl Strategy<Value = Attributes> {
    let users = prop::sample::select(&["u", "v", "system:serviceaccount:n:u", "system:serviceaccount:m:v"][..]);
    let user = (users, few(&["g", "h"], 2)).prop_map(|(name, groups)| User::new(name, &groups));
    let resource = (
        prop::sample::select(&["", "apps"][..]),
        prop::sample::select(&["pods", "jobs"][..]),
        prop::sample::select(&["", "log", "og"][..]),
        prop::sample::select(&["", "a", "c"][..]),
        prop::sample::select(&["", "n", "m"][..]),
    )
        .prop_map(|(group, resource, subresource, name, namespace)| {
            let owned = str::to_owned;
            Target::Resource(Resource {
                group: owned(group),
                version: owned("v1"),
                resource: owned(resource),
                subresource: owned(subresource),
                name: owned(name),
                namespace: owned(namespace),
            })
        });
    let path = prop::sample::select(&["/a", "/a/b", "/abc", "/"][..]).prop_map(|path| Target::Path(path.to_owned()));
    (user, prop::sample::select(&["get", "list"][..]), prop_oneof![4 => resource, 1 => path])
        .prop_map(|(user, verb, target)| Attributes { user, verb: verb.to_owned(), target })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_index_decides_as_a_reading_of_the_raw_objects(objects in objects(), wishes in prop::collection::vec(wishes(), 8)) {
        let policy = Policy::compile(&objects);
        for wish in wishes {
            prop_assert_eq!(policy.authorize(&wish).allowed, reference(&objects, &wish), "{:?}", wish);
        }
    }

    #[test]
    fn the_order_of_the_objects_does_not_matter(objects in objects(), wish in wishes()) {
        let mut turned = objects.clone();
        turned.reverse();
        prop_assert_eq!(Policy::compile(&objects).authorize(&wish), Policy::compile(&turned).authorize(&wish));
    }

    #[test]
    fn another_binding_takes_no_right_away(objects in objects(), more in bindings(), wish in wishes()) {
        let before = Policy::compile(&objects).authorize(&wish).allowed;
        let mut more = more;
        more["metadata"]["name"] = json!("another");
        let after = Policy::compile(objects.iter().chain([&more])).authorize(&wish).allowed;
        prop_assert!(!before || after);
    }

    #[test]
    fn rules_cover_themselves_and_all_they_allow(raw in rules(), wish in wishes()) {
        let rules: Vec<Rule> = raw.as_array().unwrap().iter().map(Rule::parse).collect();
        prop_assert_eq!(missing(&rules, &rules), []);
        let allowed = rules.iter().any(|rule| rule.allows(&wish));
        let wanted = wanted(&wish);
        prop_assert!(!allowed || missing(&rules, std::slice::from_ref(&wanted)).is_empty(), "{wanted}");
    }

    #[test]
    fn what_is_shown_as_a_right_is_granted(objects in objects(), wish in wishes()) {
        let policy = Policy::compile(&objects);
        let rights = policy.rights(&wish.user, wish.namespace());
        prop_assert_eq!(rights.rules.iter().any(|rule| rule.allows(&wish)), policy.authorize(&wish).allowed);
    }
}

/// The one right that a wish needs.
fn wanted(wish: &Attributes) -> Rule {
    let one = |text: &str| vec![text.to_owned()];
    match &wish.target {
        Target::Path(path) => Rule { verbs: one(&wish.verb), non_resource_urls: one(path), ..Rule::default() },
        Target::Resource(resource) => Rule {
            verbs: one(&wish.verb),
            api_groups: one(&resource.group),
            resources: one(&resource.combined()),
            resource_names: one(&resource.name),
            ..Rule::default()
        },
    }
}
