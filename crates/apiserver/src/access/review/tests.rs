//! Questions and answers, as a real server gives them.

use secrecy::{ExposeSecret, SecretSlice, SecretString};
use serde_json::json;

use super::*;
use crate::access::{Account, Signer, TokenRequest, bootstrap};

const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

struct World {
    policy: Policy,
    authenticator: Authenticator,
    user: User,
}

fn world() -> World {
    let signer = Signer::new(ISSUER, SecretSlice::from(vec![7; 32]));
    let fixed =
        [(SecretString::from("t0k3n"), User { uid: "admin".to_owned(), ..User::new("admin", &["system:masters"]) })];
    let user = User::new("jo", &[]).authenticated();
    World { policy: Policy::compile(&bootstrap()), authenticator: Authenticator::new(signer, fixed), user }
}

fn now() -> Timestamp {
    "2026-11-16T06:06:28.7Z".parse().unwrap()
}

fn account(_: &str, name: &str) -> Option<Account> {
    (name == "acc").then(|| Account { uid: "u1".to_owned(), deleted: None })
}

impl World {
    fn ask(&self, review: Review, namespace: &str, body: &Value) -> Result<Value, Failure> {
        let Self { policy, authenticator, user } = self;
        let setting = Setting { user, namespace, now: now(), policy, authenticator, accounts: &account };
        review.answer(body, &setting)
    }

    fn refusal(&self, review: Review, namespace: &str, body: &Value) -> String {
        self.ask(review, namespace, body).unwrap_err().message
    }
}

#[test]
fn an_access_review_comes_back_with_its_status() {
    let spec =
        json!({"user": "u", "groups": [], "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": ""}});
    let told = world().ask(Review::SubjectAccess, "", &json!({"spec": spec})).unwrap();
    assert_eq!(
        told,
        json!({
            "kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {},
            "spec": {"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods"}}, "status": {"allowed": false},
        })
    );
    let spec = json!({"user": "u", "groups": ["system:authenticated"], "nonResourceAttributes": {"verb": "get", "path": "/version"}});
    let told = world().ask(Review::SubjectAccess, "", &json!({"spec": spec})).unwrap();
    assert_eq!(told["spec"], spec);
    let first = r#"RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated""#;
    assert_eq!(told["status"], json!({"allowed": true, "reason": first}));
    let masters =
        json!({"spec": {"groups": ["system:masters"], "resourceAttributes": {"verb": "get", "resource": "pods"}}});
    assert_eq!(world().ask(Review::SubjectAccess, "", &masters).unwrap()["status"], json!({"allowed": true}));
}

#[test]
fn a_question_that_makes_no_sense_is_refused_field_by_field() {
    let refusal = world().ask(Review::SubjectAccess, "", &json!({"spec": {"user": null}})).unwrap_err();
    assert_eq!(
        refusal.message,
        r#".authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: "": at least one of user or group must be specified]"#
    );
    let details = refusal.details.unwrap();
    assert_eq!((details.kind.as_str(), details.group.as_str(), details.causes.len()), ("", "authorization.k8s.io", 2));
    let both = json!({"spec": {"user": "u", "nonResourceAttributes": {"verb": "get", "path": "/x"}, "resourceAttributes": {}}});
    assert_eq!(
        world().refusal(Review::SubjectAccess, "", &both),
        r#".authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes"#
    );
    assert_eq!(
        world().refusal(Review::SelfSubjectAccess, "", &json!({})),
        r#".authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"#
    );
    let selectors = json!({"spec": {"user": "u", "resourceAttributes": {
        "fieldSelector": {}, "labelSelector": {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "Exists"}]}}}});
    assert_eq!(
        world().refusal(Review::SubjectAccess, "", &selectors),
        r#".authorization.k8s.io "" is invalid: [spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required, spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements]"#
    );
    let typed = world().ask(Review::SubjectAccess, "", &json!({"spec": {"user": 7}})).unwrap_err();
    assert_eq!(typed.code.as_u16(), 400);
    assert!(
        typed.message.starts_with("SubjectAccessReview in version \"v1\" cannot be handled as a SubjectAccessReview: ")
    );
}

#[test]
fn metadata_must_be_empty_but_for_what_the_server_put_there() {
    let managed = json!([{"apiVersion": "authorization.k8s.io/v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}},
        "manager": "curl", "operation": "Update", "time": "2026-11-16T06:06:27Z"}]);
    let spec = json!({"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods"}});
    let body = json!({"metadata": {"managedFields": managed, "name": ""}, "spec": spec});
    let told = world().ask(Review::SubjectAccess, "", &body).unwrap();
    assert_eq!(told["metadata"], json!({"managedFields": managed}));
    let body = json!({"metadata": {"managedFields": managed, "name": "n", "labels": {"a": "<"}}, "spec": spec});
    assert_eq!(
        world().refusal(Review::SubjectAccess, "", &body),
        r#".authorization.k8s.io "" is invalid: metadata: Invalid value: {"name":"n","labels":{"a":"\u003c"},"managedFields":[{"manager":"curl","operation":"Update","apiVersion":"authorization.k8s.io/v1","time":"2026-11-16T06:06:27Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]}: must be empty"#
    );
}

#[test]
fn a_local_review_stays_in_its_namespace() {
    let spec = |namespace: &str| json!({"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": namespace}});
    let told = world().ask(Review::LocalSubjectAccess, "e1", &json!({"spec": spec("e1")})).unwrap();
    assert_eq!((&told["metadata"], &told["status"]), (&json!({"namespace": "e1"}), &json!({"allowed": false})));
    assert_eq!(
        world().refusal(Review::LocalSubjectAccess, "e1", &json!({"spec": spec("e2")})),
        r#".authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "e2": must match metadata.namespace"#
    );
    let path = json!({"metadata": {"name": "x"}, "spec": {"user": "u", "nonResourceAttributes": {"verb": "get", "path": "/x"}}});
    assert_eq!(
        world().refusal(Review::LocalSubjectAccess, "e1", &path),
        r#".authorization.k8s.io "" is invalid: [metadata: Invalid value: {"name":"x","namespace":"e1"}: must be empty except for namespace, spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request]"#
    );
    let other = json!({"metadata": {"namespace": "e2"}, "spec": spec("e2")});
    let why = "the namespace of the provided object does not match the namespace sent on the request";
    assert_eq!(world().refusal(Review::LocalSubjectAccess, "e1", &other), why);
}

#[test]
fn one_may_ask_about_oneself() {
    let spec = json!({"resourceAttributes": {"verb": "create", "group": "authorization.k8s.io", "resource": "selfsubjectaccessreviews"}});
    let told = world().ask(Review::SelfSubjectAccess, "", &json!({"spec": spec})).unwrap();
    let reason = r#"RBAC: allowed by ClusterRoleBinding "system:basic-user" of ClusterRole "system:basic-user" to Group "system:authenticated""#;
    assert_eq!(told["status"], json!({"allowed": true, "reason": reason}));
    assert_eq!(
        world().ask(Review::SelfSubject, "", &json!({"metadata": {"labels": {"a": "b"}}})).unwrap(),
        json!({
            "kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"creationTimestamp": "2026-11-16T06:06:28Z"},
            "status": {"userInfo": {"username": "jo", "groups": ["system:authenticated"]}},
        })
    );
    let told = world().ask(Review::SelfSubjectRules, "", &json!({"spec": {"namespace": "e1"}})).unwrap();
    assert_eq!(
        told,
        json!({
            "kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": {},
            "status": {
                "resourceRules": [
                    {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]},
                    {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
                ],
                "nonResourceRules": [
                    {"verbs": ["get"], "nonResourceURLs": ["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/"]},
                    {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"]},
                ],
                "incomplete": false,
            },
        })
    );
    assert_eq!(world().refusal(Review::SelfSubjectRules, "", &json!({"spec": {}})), "no namespace on request");
}

#[test]
fn a_token_review_says_whose_it_is_or_why_it_does_not_hold() {
    let status = |spec: Value| world().ask(Review::Token, "", &json!({"spec": spec})).unwrap()["status"].clone();
    let admin = json!({
        "authenticated": true, "audiences": [ISSUER],
        "user": {"username": "admin", "uid": "admin", "groups": ["system:masters", "system:authenticated"]},
    });
    assert_eq!(status(json!({"token": "t0k3n"})), admin);
    assert_eq!(status(json!({"token": "t0k3n", "audiences": ["other", ISSUER]})), admin);
    let invalid = json!({"user": {}, "error": "invalid bearer token"});
    assert_eq!(status(json!({"token": "t0k3n", "audiences": ["other"]})), invalid);
    assert_eq!(status(json!({"token": "bad"})), invalid);
    let anonymous = json!({
        "authenticated": true, "audiences": [ISSUER],
        "user": {"username": "system:anonymous", "groups": ["system:unauthenticated"]},
    });
    assert_eq!(status(json!({"token": " bad"})), anonymous);
    let why = world().refusal(Review::Token, "", &json!({"spec": {}}));
    assert_eq!(why, "token is required for TokenReview in authentication");
}

fn token_request(name: &str, uid: Option<&str>, body: &Value) -> Result<Value, Failure> {
    let request = TokenRequest { namespace: "e1", name, body, now: now(), id: "j1" };
    request.answer(&world().authenticator, uid)
}

#[test]
fn a_requested_token_passes_its_review() {
    let body = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"audiences": ["a", "b"], "expirationSeconds": 700}});
    let mut told = token_request("acc", Some("u1"), &body).unwrap();
    let token = SecretString::from(told["status"]["token"].take().as_str().unwrap().to_owned());
    assert_eq!(
        told,
        json!({
            "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": "acc", "namespace": "e1", "uid": "u1", "creationTimestamp": "2026-11-16T06:06:28Z", "labels": {"a": "b"}},
            "spec": {"audiences": ["a", "b"], "expirationSeconds": 700, "boundObjectRef": null},
            "status": {"token": null, "expirationTimestamp": "2026-11-16T06:18:08Z"},
        })
    );
    let ask = |spec: Value| world().ask(Review::Token, "", &json!({"spec": spec})).unwrap()["status"].clone();
    let known = ask(json!({"token": token.expose_secret(), "audiences": ["b"]}));
    assert_eq!(
        known,
        json!({
            "authenticated": true, "audiences": ["b"],
            "user": {
                "username": "system:serviceaccount:e1:acc", "uid": "u1",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:e1", "system:authenticated"],
                "extra": {"authentication.kubernetes.io/credential-id": ["JTI=j1"]},
            },
        })
    );
    let other = ask(json!({"token": token.expose_secret()}));
    let why = format!(
        "[invalid bearer token, token audiences [\"a\" \"b\"] is invalid for the target audiences [\"{ISSUER}\"]]"
    );
    assert_eq!(other, json!({"user": {}, "error": why}));
    assert_eq!(token_request("acc", Some("u1"), &json!({})).unwrap()["spec"]["expirationSeconds"], 3600);
}

#[test]
fn a_token_request_is_refused_in_the_real_order() {
    let refusal = |uid, body: Value| {
        let refusal = token_request("acc", uid, &body).unwrap_err();
        (refusal.code.as_u16(), refusal.message)
    };
    let seconds = |seconds: i64| refusal(Some("u1"), json!({"spec": {"expirationSeconds": seconds}})).1;
    let invalid = r#"TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: "#;
    assert_eq!(seconds(599), format!("{invalid}599: may not specify a duration less than 10 minutes"));
    assert_eq!(
        seconds(4_294_967_297),
        format!("{invalid}4294967297: may not specify a duration larger than 2^32 seconds")
    );
    assert_eq!(
        refusal(Some("u1"), json!({"metadata": {"name": "z"}})),
        (422, r#"TokenRequest.authentication.k8s.io "acc" is invalid: metadata.name: Invalid value: "z": must match the service account name if specified"#.to_owned())
    );
    assert_eq!(
        refusal(Some("u1"), json!({"metadata": {"uid": "z"}})),
        (409, r#"Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "acc": the UID in the token request (z) does not match the UID of the service account (u1)"#.to_owned())
    );
    assert_eq!(
        refusal(None, json!({"spec": {"expirationSeconds": 1}})),
        (404, "serviceaccounts \"acc\" not found".to_owned())
    );
    let bound = |reference: Value| refusal(Some("u1"), json!({"spec": {"boundObjectRef": reference}}));
    let told = |what: &str| (400, format!("cannot bind token to object of type {what}"));
    assert_eq!(bound(json!({"kind": "ConfigMap", "apiVersion": "v1", "name": "x"})), told("/v1, Kind=ConfigMap"));
    assert_eq!(bound(json!({"kind": "Lamp", "apiVersion": "a.b/v1"})), told("a.b/v1, Kind=Lamp"));
    assert_eq!(bound(json!({"name": "x"})), told("/, Kind="));
}
