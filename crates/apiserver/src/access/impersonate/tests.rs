//! Who may act as whom, in the real server's words.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;

use super::*;

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| {
        (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
    };
    let mut map = HeaderMap::new();
    for (name, value) in pairs.iter().map(pair) {
        map.append(name, value);
    }
    map
}

fn wanted(pairs: &[(&str, &str)]) -> Wanted {
    Wanted::read(&headers(pairs)).unwrap().unwrap()
}

/// A policy in which `kim` has one rule.
fn policy(verbs: &[&str], group: &str, resources: &[&str], names: &[&str]) -> Policy {
    Policy::compile(&[
        json!({"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [
            {"verbs": verbs, "apiGroups": [group], "resources": resources, "resourceNames": names},
        ]}),
        json!({"kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "subjects": [{"kind": "User", "name": "kim"}],
            "roleRef": {"kind": "ClusterRole", "name": "r"}}),
    ])
}

fn listing() -> Attributes {
    let resource = Resource { resource: "configmaps".to_owned(), namespace: "e1".to_owned(), ..Resource::default() };
    Attributes::resource(&User::new("kim", &[]), "list", resource)
}

fn refusal(policy: &Policy, pairs: &[(&str, &str)], last: Option<Mode>) -> String {
    wanted(pairs).assume(policy, &listing(), last).unwrap_err().message
}

#[test]
fn without_a_right_the_first_way_that_applies_is_refused() {
    let none = Policy::default();
    let told = |mode: &str| {
        format!(
            r#"configmaps is forbidden: User "kim" cannot impersonate-on:{mode}:list resource "configmaps" in API group "" in the namespace "e1""#
        )
    };
    assert_eq!(refusal(&none, &[("Impersonate-User", "jo")], None), told("user-info"));
    let account = [("Impersonate-User", "system:serviceaccount:e1:a")];
    assert_eq!(refusal(&none, &account, None), told("serviceaccount"));
    assert_eq!(refusal(&none, &[("Impersonate-User", "system:node:n")], None), told("arbitrary-node"));
}

#[test]
fn the_old_way_asks_for_each_part() {
    let user = policy(&["impersonate"], "", &["users"], &["jo"]);
    let (jo, mode) = wanted(&[("Impersonate-User", "jo")]).assume(&user, &listing(), None).unwrap();
    assert_eq!((jo, mode), (User::new("jo", &["system:authenticated"]), Mode::Legacy));
    let last = Some(Mode::Legacy);
    assert_eq!(
        refusal(&user, &[("Impersonate-User", "bo")], last),
        r#"users "bo" is forbidden: User "kim" cannot impersonate resource "users" in API group "" at the cluster scope"#
    );
    assert_eq!(
        refusal(&user, &[("Impersonate-User", "jo"), ("Impersonate-Group", "g")], last),
        r#"groups "g" is forbidden: User "kim" cannot impersonate resource "groups" in API group "" at the cluster scope"#
    );
    assert_eq!(
        refusal(&user, &[("Impersonate-User", "jo"), ("Impersonate-Uid", "7")], last),
        r#"uids.authentication.k8s.io "7" is forbidden: User "kim" cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope"#
    );
    assert_eq!(
        refusal(&user, &[("Impersonate-User", "jo"), ("Impersonate-Extra-Acme.io%2Fp", "v")], last),
        r#"userextras.authentication.k8s.io "v" is forbidden: User "kim" cannot impersonate resource "userextras/acme.io/p" in API group "authentication.k8s.io" at the cluster scope"#
    );
}

#[test]
fn an_account_comes_with_its_groups() {
    let accounts = policy(&["impersonate"], "", &["serviceaccounts"], &[]);
    let account = wanted(&[("Impersonate-User", "system:serviceaccount:e1:a")]);
    let (user, _) = account.assume(&accounts, &listing(), None).unwrap();
    assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:e1", "system:authenticated"]);
    let anonymous = policy(&["impersonate"], "", &["users"], &[]);
    let (user, _) = wanted(&[("Impersonate-User", ANONYMOUS)]).assume(&anonymous, &listing(), None).unwrap();
    assert_eq!(user, User::anonymous());
}

#[test]
fn the_narrow_way_needs_the_verb_and_the_user_and_no_masters() {
    let narrow = Policy::compile(&[
        json!({"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [
            {"verbs": ["impersonate-on:user-info:list"], "apiGroups": [""], "resources": ["configmaps"]},
            {"verbs": ["impersonate:user-info"], "apiGroups": ["authentication.k8s.io"],
                "resources": ["users", "groups", "userextras/*", "userextras/acme.io/p"]},
        ]}),
        json!({"kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "subjects": [{"kind": "User", "name": "kim"}],
            "roleRef": {"kind": "ClusterRole", "name": "r"}}),
    ]);
    let (user, mode) = wanted(&[("Impersonate-User", "jo")]).assume(&narrow, &listing(), None).unwrap();
    assert_eq!((user.name.as_str(), mode), ("jo", Mode::User));
    let masters = [("Impersonate-User", "jo"), ("Impersonate-Group", MASTERS)];
    assert_eq!(
        refusal(&narrow, &masters, None),
        r#"groups.authentication.k8s.io "system:masters" is forbidden: User "kim" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed"#
    );
    let extra = [("Impersonate-User", "jo"), ("Impersonate-Extra-Foo", "v")];
    assert!(refusal(&narrow, &extra, None).ends_with(
        r#": impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")"#
    ));
    let good = wanted(&[("Impersonate-User", "jo"), ("Impersonate-Extra-Acme.io%2Fp", "v")]);
    assert!(good.assume(&narrow, &listing(), None).is_ok());
    let mut reading = listing();
    reading.verb = "get".to_owned();
    assert!(wanted(&[("Impersonate-User", "jo")]).assume(&narrow, &reading, None).is_err());
}

#[test]
fn parts_without_a_user_make_no_sense() {
    let bad = |pairs| Wanted::read(&headers(pairs)).unwrap_err().message;
    assert_eq!(
        bad(&[("Impersonate-Group", "g"), ("Impersonate-Group", "h")]),
        r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g", "h"}, Extra:map[string][]string(nil)} without impersonating a user name"#
    );
    assert_eq!(
        bad(&[("Impersonate-Extra-Foo", "g"), ("Impersonate-Uid", "h")]),
        r#"requested &user.DefaultInfo{Name:"", UID:"h", Groups:[]string(nil), Extra:map[string][]string{"foo":[]string{"g"}}} without impersonating a user name"#
    );
    assert_eq!(Wanted::read(&headers(&[("Accept", "x")])).unwrap(), None);
}

#[test]
fn a_broken_escape_stays_as_it_is() {
    let user = wanted(&[("Impersonate-User", "u"), ("Impersonate-Extra-a%2", "v"), ("Impersonate-Extra-b%2fc", "w")]).0;
    let keys: Vec<&str> = user.extra.keys().map(String::as_str).collect();
    assert_eq!(keys, ["a%2", "b/c"]);
}
