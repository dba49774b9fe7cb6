//! Who may do what, asked of a real API server and of ours with the same roles: decisions, reasons, reviews, refusals.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use std::time::Duration;

use apiserver::access::{
    Attributes, Authenticator, MASTERS, Policy, RbacKind, Resource, Review, Setting, Signer, User, Wanted, Write,
    aggregate, bootstrap, missing,
};
use http::{HeaderMap, Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use secrecy::SecretSlice;
use serde_json::{Value, json};
use testenv::eventually;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const GROUP: &str = "rbac.authorization.k8s.io";
/// How long the real authorizer may take to see a new role.
const SEEN_WITHIN: Duration = Duration::from_secs(20);

/// A request and the answer: its code and its body.
async fn call(client: &Client, method: Method, path: &str, headers: &[(&str, &str)], body: &Value) -> (u16, Value) {
    let mut request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let answer = client.send(request.body(Body::from(body)).unwrap()).await.unwrap();
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap())
}

async fn create(client: &Client, path: &str, object: &Value) {
    let (code, answer) = call(client, Method::POST, path, &[], object).await;
    assert_eq!(code, 201, "{answer}");
}

/// All roles and bindings of the server.
async fn policy(client: &Client) -> Policy {
    let mut objects = Vec::new();
    for (plural, kind) in [
        ("clusterroles", "ClusterRole"),
        ("roles", "Role"),
        ("clusterrolebindings", "ClusterRoleBinding"),
        ("rolebindings", "RoleBinding"),
    ] {
        let (_, list) = call(client, Method::GET, &format!("{RBAC}/{plural}"), &[], &Value::Null).await;
        for item in list["items"].as_array().unwrap() {
            let mut item = item.clone();
            item["kind"] = json!(kind);
            objects.push(item);
        }
    }
    Policy::compile(&objects)
}

/// Rules of every form, each for a user of its own: `<namespace>-<number>`.
fn rules() -> Vec<Value> {
    vec![
        json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]}),
        json!({"verbs": ["*"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"]}),
        json!({"verbs": ["get"], "apiGroups": ["*"], "resources": ["*"]}),
        json!({"verbs": ["get"], "apiGroups": ["apps"], "resources": ["*/scale"]}),
        json!({"verbs": ["get"], "apiGroups": ["apps", ""], "resources": ["deployments/scale", "secrets"]}),
    ]
}

async fn install(client: &Client, namespace: &str) {
    for (number, rule) in rules().iter().enumerate() {
        let name = format!("{namespace}-{number}");
        let object = json!({"metadata": {"name": name}, "rules": [rule]});
        create(client, &format!("{RBAC}/clusterroles"), &object).await;
        let wide = number % 2 == 0;
        let subject = json!({"kind": "User", "apiGroup": GROUP, "name": name});
        let account = json!({"kind": "ServiceAccount", "namespace": namespace, "name": format!("account-{number}")});
        let binding = json!({"metadata": {"name": name}, "subjects": [account, subject],
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name}});
        let path = if wide { "clusterrolebindings".to_owned() } else { format!("namespaces/{namespace}/rolebindings") };
        create(client, &format!("{RBAC}/{path}"), &binding).await;
    }
    let urls = format!("{namespace}-urls");
    let rule = json!({"verbs": ["get"], "nonResourceURLs": ["/logs", "/metrics/*"]});
    create(client, &format!("{RBAC}/clusterroles"), &json!({"metadata": {"name": urls}, "rules": [rule]})).await;
    for role in [urls.clone(), format!("{namespace}-gone")] {
        let subject = json!({"kind": "Group", "apiGroup": GROUP, "name": urls});
        let binding = json!({"metadata": {"name": role}, "subjects": [subject],
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}});
        create(client, &format!("{RBAC}/clusterrolebindings"), &binding).await;
    }
}

fn questions(namespace: &str) -> Vec<Value> {
    let mut specs = Vec::new();
    for number in 0..rules().len() {
        for user in [format!("{namespace}-{number}"), format!("system:serviceaccount:{namespace}:account-{number}")] {
            for (verb, group, resource, subresource, name) in [
                ("get", "", "configmaps", "", "a"),
                ("list", "", "configmaps", "", ""),
                ("delete", "", "configmaps", "", "a"),
                ("delete", "", "configmaps", "", "b"),
                ("get", "apps", "deployments", "scale", "x"),
                ("get", "apps", "deployments", "", "x"),
                ("get", "", "secrets", "", ""),
            ] {
                for place in ["", namespace] {
                    let wish = json!({"verb": verb, "group": group, "resource": resource, "subresource": subresource,
                        "name": name, "namespace": place});
                    specs.push(json!({"user": user, "resourceAttributes": wish}));
                }
            }
        }
    }
    for path in ["/logs", "/logs/x", "/metrics", "/metrics/x"] {
        let wish = json!({"verb": "get", "path": path});
        specs.push(json!({"groups": [format!("{namespace}-urls")], "nonResourceAttributes": wish}));
    }
    let wish = json!({"verb": "get", "resource": "pods"});
    specs.push(json!({"groups": [MASTERS], "resourceAttributes": wish}));
    specs
}

struct Ours {
    policy: Policy,
    authenticator: Authenticator,
    user: User,
}

impl Ours {
    fn new(policy: Policy, user: User) -> Self {
        let signer = Signer::new("https://kubernetes.default.svc.cluster.local", SecretSlice::from(vec![1; 32]));
        Self { policy, authenticator: Authenticator::new(signer, []), user }
    }

    /// Code and body, as the server would send them.
    fn ask(&self, review: Review, namespace: &str, body: &Value) -> (u16, Value) {
        let Self { policy, authenticator, user } = self;
        let now = jiff::Timestamp::UNIX_EPOCH;
        let setting = Setting { user, namespace, now, policy, authenticator, accounts: &|_, _| None };
        match review.answer(body, &setting) {
            Ok(answer) => (201, answer),
            Err(failure) => (failure.code.as_u16(), failure.to_status()),
        }
    }
}

/// An answer without what time and managed fields put into it.
fn plain((code, mut answer): (u16, Value)) -> (u16, Value) {
    if let Some(metadata) = answer.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        metadata.remove("creationTimestamp");
    }
    (code, answer)
}

async fn ask(client: &Client, review: Review, namespace: &str, user: Option<&str>, body: &Value) -> (u16, Value) {
    let place = if review.namespaced() { format!("/namespaces/{namespace}") } else { String::new() };
    let path = format!("/apis/{}/v1{place}/{}", review.group(), review.resource());
    let headers: Vec<(&str, &str)> = user.iter().map(|&user| ("impersonate-user", user)).collect();
    plain(call(client, Method::POST, &path, &headers, body).await)
}

#[tokio::test]
async fn decisions_and_reasons_are_those_of_the_real_server() {
    let plane = testenv::shared().await;
    let (client, namespace) = (plane.client(), plane.namespace("access").await);
    install(&client, &namespace).await;
    let ours = Ours::new(policy(&client).await, User::default());
    let mut allowed = 0;
    for spec in questions(&namespace) {
        let body = json!({"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": spec});
        let expected = ours.ask(Review::SubjectAccess, "", &body);
        allowed += usize::from(expected.1["status"]["allowed"] == true);
        eventually(&format!("both answer {expected:?} to {spec}"), SEEN_WITHIN, async || {
            (ask(&client, Review::SubjectAccess, "", None, &body).await == expected).then_some(())
        })
        .await;
    }
    let all = questions(&namespace).len();
    println!("{all} decisions compared, {allowed} of them allowed");
    assert!(allowed > 20 && all - allowed > 20, "{allowed} of {all}: a comparison of nothing");
}

#[tokio::test]
async fn reviews_are_answered_and_refused_as_by_the_real_server() {
    let plane = testenv::shared().await;
    let (client, namespace) = (plane.client(), plane.namespace("reviews").await);
    let ns = namespace.as_str();
    let user = format!("{ns}-nobody");
    let ours = Ours::new(policy(&client).await, User::new(&user, &["system:authenticated"]));
    let wish = json!({"verb": "get", "resource": "pods", "namespace": ns});
    let path = json!({"verb": "get", "path": "/x"});
    let rows = [
        (Review::SubjectAccess, json!({"spec": {}})),
        (Review::SubjectAccess, json!({})),
        (
            Review::SubjectAccess,
            json!({"spec": {"user": "u", "nonResourceAttributes": path, "resourceAttributes": wish}}),
        ),
        (
            Review::SubjectAccess,
            json!({"spec": {"uid": "7", "groups": ["g"], "extra": {"k": ["v"]}, "resourceAttributes": wish}}),
        ),
        (
            Review::SubjectAccess,
            json!({"spec": {"user": "u", "resourceAttributes": {"fieldSelector": {}, "labelSelector": {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "Exists"}]}}}}),
        ),
        (Review::LocalSubjectAccess, json!({"spec": {"user": "u", "resourceAttributes": wish}})),
        (
            Review::LocalSubjectAccess,
            json!({"metadata": {"namespace": "elsewhere"}, "spec": {"user": "u", "resourceAttributes": wish}}),
        ),
        (Review::LocalSubjectAccess, json!({"spec": {"user": "u", "resourceAttributes": {"namespace": "elsewhere"}}})),
        (Review::LocalSubjectAccess, json!({"spec": {"user": "u", "nonResourceAttributes": path}})),
        (Review::SelfSubjectAccess, json!({"spec": {"resourceAttributes": wish}})),
        (Review::SelfSubjectAccess, json!({"spec": {}})),
        (Review::SelfSubjectRules, json!({"spec": {}})),
        (Review::SelfSubject, json!({})),
        (Review::Token, json!({"spec": {}})),
        (Review::Token, json!({"spec": {"token": "bad"}})),
        (Review::Token, json!({"spec": {"token": " bad"}})),
        (Review::Token, json!({"spec": {"token": "a.b.c", "audiences": ["x"]}})),
    ];
    for (review, body) in rows {
        let own = matches!(review, Review::SelfSubjectAccess | Review::SelfSubjectRules | Review::SelfSubject);
        let real = ask(&client, review, ns, own.then_some(user.as_str()), &body).await;
        assert_eq!(real, plain(ours.ask(review, ns, &body)), "{review:?} {body}");
    }
}

#[tokio::test]
async fn a_user_is_told_the_same_rights() {
    let plane = testenv::shared().await;
    let (client, namespace) = (plane.client(), plane.namespace("rights").await);
    install(&client, &namespace).await;
    let policy = policy(&client).await;
    let body = json!({"spec": {"namespace": namespace}});
    for number in 0..rules().len() {
        let user = format!("{namespace}-{number}");
        let ours = Ours::new(policy.clone(), User::new(&user, &["system:authenticated"]));
        let expected = sorted(ours.ask(Review::SelfSubjectRules, "", &body).1);
        eventually(&format!("{user} has {expected}"), SEEN_WITHIN, async || {
            let (_, told) = ask(&client, Review::SelfSubjectRules, "", Some(&user), &body).await;
            (sorted(told) == expected).then_some(())
        })
        .await;
    }
}

/// A list of rules in an order of its own: the real server's changes from answer to answer.
fn sorted(mut answer: Value) -> Value {
    for list in ["resourceRules", "nonResourceRules"] {
        if let Some(rules) = answer["status"][list].as_array_mut() {
            rules.sort_by_key(Value::to_string);
        }
    }
    answer
}

#[tokio::test]
async fn who_gives_more_than_he_has_is_refused_in_the_same_words() {
    let plane = testenv::shared().await;
    let (client, namespace) = (plane.client(), plane.namespace("giving").await);
    let name = format!("{namespace}-al");
    let rule = json!({"verbs": ["create"], "apiGroups": [GROUP],
        "resources": ["roles", "clusterroles", "rolebindings", "clusterrolebindings"]});
    create(&client, &format!("{RBAC}/clusterroles"), &json!({"metadata": {"name": name}, "rules": [rule]})).await;
    for role in [name.clone(), format!("{namespace}-gone"), format!("{namespace}-lost")] {
        let binding = json!({"metadata": {"name": role}, "subjects": [{"kind": "User", "apiGroup": GROUP, "name": name}],
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}});
        create(&client, &format!("{RBAC}/clusterrolebindings"), &binding).await;
    }
    let policy = policy(&client).await;
    let user = User::new(&name, &["system:authenticated"]);
    let refer = |kind: &str, role: &str| json!({"metadata": {"name": "x"}, "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role}});
    let grant = json!({"metadata": {"name": "x"}, "rules": [
        {"verbs": ["list", "get", "list"], "apiGroups": ["", "apps"], "resources": ["pods", "configmaps", "pods/log"]},
        {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["b", "a"]},
        {"verbs": ["create"], "apiGroups": [GROUP], "resources": ["roles"]},
    ]});
    let wide = json!({"metadata": {"name": "x"}, "rules": [{"verbs": ["get", "create"], "nonResourceURLs": ["/y", "/x/*"]},
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]});
    let gathering =
        json!({"metadata": {"name": "x"}, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}});
    let rows = [
        ("roles", &grant),
        ("clusterroles", &grant),
        ("clusterroles", &wide),
        ("clusterroles", &gathering),
        ("rolebindings", &refer("ClusterRole", "system:auth-delegator")),
        ("rolebindings", &refer("ClusterRole", "no-such-role")),
        ("rolebindings", &refer("Role", "no-such-role")),
        ("rolebindings", &refer("Lamp", "no-such-role")),
        ("clusterrolebindings", &refer("ClusterRole", "cluster-admin")),
        ("clusterrolebindings", &refer("Role", "no-such-role")),
    ];
    let headers = [("impersonate-user", name.as_str())];
    for (plural, object) in rows {
        let kind = RbacKind::of(plural).unwrap();
        let local = matches!(kind, RbacKind::Role | RbacKind::RoleBinding);
        let within = if local { namespace.as_str() } else { "" };
        let write = Write { kind, user: &user, namespace: within, name: "", new: object, old: None };
        let refusal = write.check(&policy).unwrap_err();
        let expected = (refusal.code.as_u16(), refusal.to_status());
        let path = if local { format!("{RBAC}/namespaces/{within}/{plural}") } else { format!("{RBAC}/{plural}") };
        eventually(&format!("{plural} {object} is refused with {expected:?}"), SEEN_WITHIN, async || {
            let real = call(&client, Method::POST, &format!("{path}?dryRun=All"), &headers, object).await;
            (real == expected).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn who_may_not_is_refused_in_the_same_words() {
    let plane = testenv::shared().await;
    let (client, namespace) = (plane.client(), plane.namespace("refused").await);
    let account = plane.service_account(&namespace, "mute", &[]).await;
    let policy = policy(&client).await;
    let own = plane.client_for(&account);
    let user = User::account(&namespace, "mute", "").authenticated();
    let resource = |group: &str, resource: &str, subresource: &str, name: &str, place: &str| {
        let owned = str::to_owned;
        let (group, version) = (owned(group), owned("v1"));
        let (resource, subresource, name, namespace) = (owned(resource), owned(subresource), owned(name), owned(place));
        Resource { group, version, resource, subresource, name, namespace }
    };
    let ns = namespace.as_str();
    let rows = [
        (
            format!("/api/v1/namespaces/{ns}/configmaps"),
            Attributes::resource(&user, "list", resource("", "configmaps", "", "", ns)),
        ),
        ("/api/v1/configmaps".to_owned(), Attributes::resource(&user, "list", resource("", "configmaps", "", "", ""))),
        (
            format!("/api/v1/namespaces/{ns}/pods/p/log"),
            Attributes::resource(&user, "get", resource("", "pods", "log", "p", ns)),
        ),
        (
            format!("{RBAC}/clusterroles/x"),
            Attributes::resource(&user, "get", resource(GROUP, "clusterroles", "", "x", "")),
        ),
        ("/metrics".to_owned(), Attributes::path(&user, "get", "/metrics")),
    ];
    for (path, wish) in rows {
        let decision = policy.authorize(&wish);
        assert!(!decision.allowed, "{path}");
        let refusal = wish.forbidden(&decision.reason);
        let real = call(&own, Method::GET, &path, &[], &Value::Null).await;
        assert_eq!(real, (403, refusal.to_status()), "{path}");
        for other in ["jo", "system:serviceaccount:ns:a", "system:node:n"] {
            let real = call(&own, Method::GET, &path, &[("impersonate-user", other)], &Value::Null).await;
            let headers: HeaderMap =
                [("impersonate-user".parse().unwrap(), other.parse().unwrap())].into_iter().collect();
            let refusal = Wanted::read(&headers).unwrap().unwrap().assume(&policy, &wish, None).unwrap_err();
            assert_eq!(real, (403, refusal.to_status()), "{path} as {other}");
        }
    }
}

#[tokio::test]
async fn a_fresh_server_has_what_we_begin_with() {
    let plane = testenv::shared().await;
    let client = plane.client();
    let objects = bootstrap();
    for object in &objects {
        let plural = if object["kind"] == "ClusterRole" { "clusterroles" } else { "clusterrolebindings" };
        let path = format!("{RBAC}/{plural}/{}", object["metadata"]["name"].as_str().unwrap());
        let (code, real) = call(&client, Method::GET, &path, &[], &Value::Null).await;
        assert_eq!(code, 200, "{path}");
        for part in ["/metadata/labels", "/metadata/annotations", "/aggregationRule", "/subjects", "/roleRef"] {
            assert_eq!(real.pointer(part), object.pointer(part), "{path} {part}");
        }
        if object["aggregationRule"].is_null() {
            assert_eq!(real["rules"], object["rules"], "{path}");
        }
    }
    // What the real controller gathers may be more: other tests add roles. It must never be less.
    let gathered = aggregate(&objects);
    for (name, rules) in &gathered {
        eventually(&format!("{name} is gathered"), SEEN_WITHIN, async || {
            let (_, real) = call(&client, Method::GET, &format!("{RBAC}/clusterroles/{name}"), &[], &Value::Null).await;
            let real = apiserver::access::Rule::all_of(&real);
            missing(&real, rules).is_empty().then_some(())
        })
        .await;
    }
    assert!(!gathered.is_empty());
}
