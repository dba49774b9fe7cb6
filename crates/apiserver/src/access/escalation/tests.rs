//! Refusals of writes that would give too much, word for word those of a real server.

use serde_json::json;

use super::*;

fn policy(extra: &[Value]) -> Policy {
    let mut objects = vec![
        json!({"kind": "ClusterRole", "metadata": {"name": "low"}, "rules": [
            {"verbs": ["create"], "apiGroups": [GROUP], "resources": ["roles", "clusterroles", "rolebindings", "clusterrolebindings"]},
        ]}),
        bound("low", "low"),
        json!({"kind": "ClusterRole", "metadata": {"name": "rr"}, "rules": [
            {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps", "pods"]},
        ]}),
    ];
    objects.extend_from_slice(extra);
    Policy::compile(&objects)
}

fn bound(name: &str, role: &str) -> Value {
    json!({"kind": "ClusterRoleBinding", "metadata": {"name": name}, "subjects": [{"kind": "User", "name": "al"}],
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}})
}

fn al() -> User {
    User::new("al", &["g", "system:authenticated"])
}

fn write(kind: RbacKind, namespace: &str, new: &Value, policy: &Policy) -> Result<(), Failure> {
    Write { kind, user: &al(), namespace, name: "", new, old: None }.check(policy)
}

fn role(rules: &Value) -> Value {
    json!({"metadata": {"name": "r1"}, "rules": rules})
}

#[test]
fn a_role_needs_every_right_in_it() {
    let rules = json!([
        {"verbs": ["list", "get"], "apiGroups": ["", "apps"], "resources": ["pods", "configmaps"]},
        {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["b", "a"]},
    ]);
    let refusal = write(RbacKind::Role, "e1", &role(&rules), &policy(&[])).unwrap_err();
    assert_eq!(
        refusal.message,
        r#"roles.rbac.authorization.k8s.io "r1" is forbidden: user "al" (groups=["g" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["configmaps"], Verbs:["list" "get"]}
{APIGroups:[""], Resources:["pods"], Verbs:["list" "get"]}
{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get"]}
{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get"]}
{APIGroups:["apps"], Resources:["configmaps"], Verbs:["list" "get"]}
{APIGroups:["apps"], Resources:["pods"], Verbs:["list" "get"]}"#
    );
    assert_eq!(refusal.details.unwrap().kind, "roles");
    let held = role(&json!([{"verbs": ["create"], "apiGroups": [GROUP], "resources": ["roles"]}]));
    assert_eq!(write(RbacKind::ClusterRole, "", &held, &policy(&[])), Ok(()));
}

#[test]
fn paths_are_listed_verb_by_verb_and_missing_roles_after_them() {
    let rules = json!([
        {"verbs": ["get", "create"], "nonResourceURLs": ["/x", "/y"]},
        {"verbs": ["create"], "apiGroups": [GROUP], "resources": ["roles"]},
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    ]);
    let lost = policy(&[bound("gone", "missing")]);
    assert_eq!(
        write(RbacKind::ClusterRole, "", &role(&rules), &lost).unwrap_err().message,
        r#"clusterroles.rbac.authorization.k8s.io "r1" is forbidden: user "al" (groups=["g" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:["*"], Resources:["*"], Verbs:["*"]}
{NonResourceURLs:["/x"], Verbs:["create"]}
{NonResourceURLs:["/x"], Verbs:["get"]}
{NonResourceURLs:["/y"], Verbs:["create"]}
{NonResourceURLs:["/y"], Verbs:["get"]}; resolution errors: [clusterroles.rbac.authorization.k8s.io "missing" not found]"#
    );
    let two = policy(&[bound("gone", "missing"), bound("gone2", "missing2")]);
    let pods = role(&json!([{"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}]));
    let told = write(RbacKind::Role, "e1", &pods, &two).unwrap_err().message;
    let end = r#"; resolution errors: [[roles.rbac.authorization.k8s.io "missing" not found, roles.rbac.authorization.k8s.io "missing2" not found]]"#;
    assert!(told.ends_with(end), "{told}");
}

#[test]
fn only_who_may_do_anything_may_gather() {
    let gathering = json!({"metadata": {"name": "r1"}, "aggregationRule": {"clusterRoleSelectors": [{}]}});
    let why = "clusterroles.rbac.authorization.k8s.io \"r1\" is forbidden: must have cluster-admin privileges to use the aggregationRule";
    assert_eq!(write(RbacKind::ClusterRole, "", &gathering, &policy(&[])).unwrap_err().message, why);
    let plain = role(&json!([]));
    let user = al();
    let update = Write {
        kind: RbacKind::ClusterRole,
        user: &user,
        namespace: "",
        name: "r1",
        new: &plain,
        old: Some(&gathering),
    };
    assert_eq!(update.check(&policy(&[])).unwrap_err().message, why);
}

#[test]
fn a_binding_needs_the_rights_of_its_role() {
    let binding = |kind: &str, name: &str| json!({"metadata": {"name": "b1"}, "roleRef": {"apiGroup": GROUP, "kind": kind, "name": name}});
    let refused = |kind, namespace, binding: &Value| {
        let refusal = write(kind, namespace, binding, &policy(&[])).unwrap_err();
        (refusal.code.as_u16(), refusal.reason, refusal.message)
    };
    let (code, _, message) = refused(RbacKind::RoleBinding, "e1", &binding("ClusterRole", "rr"));
    assert_eq!(code, 403);
    assert!(
        message.starts_with("rolebindings.rbac.authorization.k8s.io \"b1\" is forbidden: user \"al\""),
        "{message}"
    );
    assert!(message.ends_with("\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}"), "{message}");
    let absent = "rolebindings.rbac.authorization.k8s.io \"rx\" not found".to_owned();
    for kind in ["ClusterRole", "Role"] {
        assert_eq!(refused(RbacKind::RoleBinding, "e1", &binding(kind, "rx")), (404, "NotFound", absent.clone()));
    }
    let unsupported = "unsupported role reference kind: \"Foo\"".to_owned();
    assert_eq!(refused(RbacKind::RoleBinding, "e1", &binding("Foo", "rx")), (500, "", unsupported));
    let local = "Namespace parameter required.".to_owned();
    assert_eq!(refused(RbacKind::ClusterRoleBinding, "", &binding("Role", "rx")), (400, "BadRequest", local));
}

#[test]
fn escalate_and_bind_and_masters_need_no_rights() {
    let may = |verb: &str, resource: &str| {
        let rules = json!([{"verbs": [verb], "apiGroups": [GROUP], "resources": [resource], "resourceNames": ["rr"]}]);
        let rules = if verb == "escalate" {
            json!([{"verbs": [verb], "apiGroups": [GROUP], "resources": [resource]}])
        } else {
            rules
        };
        policy(&[json!({"kind": "ClusterRole", "metadata": {"name": "may"}, "rules": rules}), bound("may", "may")])
    };
    let grant = role(&json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]));
    assert_eq!(write(RbacKind::ClusterRole, "", &grant, &may("escalate", "clusterroles")), Ok(()));
    assert!(write(RbacKind::Role, "e1", &grant, &may("escalate", "clusterroles")).is_err());
    let binding =
        json!({"metadata": {"name": "b1"}, "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "rr"}});
    assert_eq!(write(RbacKind::RoleBinding, "e1", &binding, &may("bind", "clusterroles")), Ok(()));
    assert!(write(RbacKind::RoleBinding, "e1", &binding, &may("bind", "roles")).is_err());
    let master = User::new("root", &[MASTERS]);
    let new = &grant;
    let by_master = Write { kind: RbacKind::ClusterRole, user: &master, namespace: "", name: "", new, old: None };
    assert_eq!(by_master.check(&Policy::default()), Ok(()));
}

#[test]
fn the_garbage_collector_needs_no_rights() {
    let rules = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]);
    let old = json!({"metadata": {"name": "r1", "finalizers": ["f"], "labels": {}}, "rules": rules});
    let mut new = json!({"metadata": {"name": "r1", "ownerReferences": [{"uid": "u"}]}, "rules": rules});
    let user = al();
    let check = |new: &Value| {
        Write { kind: RbacKind::Role, user: &user, namespace: "e1", name: "r1", new, old: Some(&old) }
            .check(&policy(&[]))
    };
    assert_eq!(check(&new), Ok(()));
    new["metadata"]["labels"] = json!({"a": "b"});
    assert!(check(&new).is_err());
}
