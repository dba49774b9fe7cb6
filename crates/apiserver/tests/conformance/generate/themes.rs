//! What a sequence is about.

use http::Method;
use serde_json::{Value, json};

use super::super::kinds::Kind;
use super::super::sequence::{Act, Call, Payload, Until, set};
use super::{Draft, LABEL};

/// Anything that clients do to objects of one or two kinds.
pub fn mixed(draft: &mut Draft) {
    let main = draft.draw_kind();
    draft.kinds = vec![main, main, main];
    if draft.rng.chance(15) {
        let other = draft.draw_kind();
        draft.kinds.push(other);
    }
    let listed = draft.send(Draft::list_call(main, None));
    draft.open_watch(main, listed);
    if draft.rng.chance(12) {
        draft.open_watch(main, listed);
    }
    let first = main.name("one");
    if draft.rng.chance(80) {
        draft.careful = draft.rng.chance(85);
        draft.create_named(main, &first);
    }
    draft.careful = draft.rng.chance(60);
    let count = 4 + draft.rng.below(9);
    let actions = actions(main, draft.careful);
    for _ in 0..count {
        draft.rng.weighted(&actions)(draft);
    }
}

type Action = fn(&mut Draft);

fn actions(kind: &Kind, careful: bool) -> Vec<(usize, Action)> {
    let mistake = usize::from(!careful);
    vec![
        (14, Draft::create as Action),
        (5, Draft::get),
        (7, Draft::list),
        (16, Draft::update),
        (if kind.status { 8 } else { mistake }, Draft::update_status),
        (if kind.scale { 6 } else { mistake }, Draft::scale),
        (10, Draft::merge_patch),
        (9, Draft::json_patch),
        (if kind.custom { mistake } else { 9 }, Draft::strategic_patch),
        (20, Draft::apply),
        (11, Draft::delete),
        (2, Draft::delete_collection),
        (6, Draft::let_go),
        (2, Draft::late_watch),
        (2 * mistake, Draft::bad_request),
    ]
}

/// Owners, dependents, and what the collector makes of them.
pub fn owners(draft: &mut Draft) {
    let owner = Draft::kind(draft.rng.weighted(&[(1, "ConfigMap"), (1, "Widget"), (1, "Secret"), (1, "Gadget")]));
    let dependent = Draft::kind(draft.rng.weighted(&[(1, "ConfigMap"), (1, "Widget"), (1, "Lease")]));
    draft.kinds = vec![owner, dependent];
    let listed = draft.send(Draft::list_call(dependent, None));
    let watch =
        Draft::list_call(dependent, None).query("watch", "true").query("resourceVersion", format!("«rv:{listed}»"));
    draft.watch(dependent, watch, &dependent.name("zz-end"));
    let (first, second) = (owner.name("owner"), owner.name("partner"));
    let owners = [
        (first.clone(), plain(draft, owner, &first, json!(null))),
        (second.clone(), plain(draft, owner, &second, json!(null))),
    ];
    let both = draft.rng.chance(25);
    let held = draft.rng.chance(25);
    let blocks = draft.rng.chance(50);
    let reference = |(name, step): &(String, usize)| {
        let mut reference = json!({
            "apiVersion": owner.api_version(), "kind": owner.kind, "name": name, "uid": format!("«uid:{step}»"),
        });
        if blocks {
            reference["blockOwnerDeletion"] = json!(true);
        }
        reference
    };
    let mut references = vec![reference(&owners[0])];
    if both {
        references.push(reference(&owners[1]));
    }
    let names = [dependent.name("one"), dependent.name("two")];
    for name in &names[..=draft.rng.below(2)] {
        plain(draft, dependent, name, json!(references));
        if held {
            let patch = json!({ "metadata": { "finalizers": ["example.com/hold"] } });
            merge(draft, dependent, name, patch);
        }
    }
    if draft.rng.chance(20) {
        let odd = draft.rng.pick(&odd_references()).clone();
        merge(draft, dependent, &names[0], json!({ "metadata": { "ownerReferences": odd } }));
    }
    let policy = draft.rng.weighted(&[(4, "Background"), (3, "Foreground"), (3, "Orphan"), (2, "")]);
    let mut call = Call::new(Method::DELETE, owner.path(&first));
    if !policy.is_empty() {
        call = call.query("propagationPolicy", policy);
    }
    draft.send_about(owner, &first, call);
    aftermath(draft, (owner, &first), (dependent, &names), policy, &Fate { both, held, blocks });
    for name in &names {
        draft.send_about(dependent, name, Call::new(Method::GET, dependent.path(name)));
    }
}

/// What decides about a dependent.
struct Fate {
    both: bool,
    held: bool,
    blocks: bool,
}

fn aftermath(
    draft: &mut Draft,
    owner: (&'static Kind, &str),
    dependent: (&'static Kind, &[String]),
    policy: &str,
    fate: &Fate,
) {
    let (dependent, names) = dependent;
    let waits_for_dependents = policy == "Foreground" && fate.held && fate.blocks && !fate.both;
    if !waits_for_dependents {
        draft.settle(owner.0, owner.1, Until::Gone);
    }
    for name in names {
        let until = match (policy, fate.both) {
            ("Orphan", false) => Until::Orphaned,
            (_, true) => Until::OneOwner,
            (_, false) => Until::Deleting,
        };
        draft.settle(dependent, name, until);
    }
    if fate.held && !fate.both && policy != "Orphan" {
        for name in names {
            merge(draft, dependent, name, json!({ "metadata": { "finalizers": null } }));
            draft.settle(dependent, name, Until::Gone);
        }
        draft.settle(owner.0, owner.1, Until::Gone);
    }
}

fn odd_references() -> [Value; 6] {
    let uid = "11111111-2222-3333-4444-555555555555";
    [
        json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "x" }]),
        json!([{ "apiVersion": "v1", "kind": "ConfigMap", "uid": uid }]),
        json!([{ "kind": "ConfigMap", "name": "x", "uid": uid }]),
        json!([{ "apiVersion": "v1", "kind": "Event", "name": "x", "uid": uid }]),
        json!([{ "apiVersion": "a/b/c", "kind": "X", "name": "x", "uid": uid }]),
        json!([
            { "apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": uid, "controller": true },
            { "apiVersion": "v1", "kind": "ConfigMap", "name": "y", "uid": "21111111-2222-3333-4444-555555555555", "controller": true },
        ]),
    ]
}

/// Creates the least object of a kind, with owners.
fn plain(draft: &mut Draft, kind: &'static Kind, name: &str, owners: Value) -> usize {
    let mut object = kind.base.clone();
    object["apiVersion"] = json!(kind.api_version());
    object["kind"] = json!(kind.kind);
    set(&mut object, "/metadata", json!({ "name": name, "labels": { LABEL: "«ns»" } }));
    if !owners.is_null() {
        object["metadata"]["ownerReferences"] = owners;
    }
    post(draft, kind, name, kind.collection(), object)
}

fn post(draft: &mut Draft, kind: &Kind, name: &str, path: String, object: Value) -> usize {
    let call = Call::new(Method::POST, path).query("fieldManager", "ann").header("content-type", "application/json");
    draft.send_about(kind, name, call.carrying(Payload::Json(object)))
}

fn merge(draft: &mut Draft, kind: &Kind, name: &str, patch: Value) {
    let call = Call::new(Method::PATCH, kind.path(name))
        .query("fieldManager", "ann")
        .header("content-type", "application/merge-patch+json");
    draft.send_about(kind, name, call.carrying(Payload::Json(patch)));
}

/// A namespace that comes and goes with what is in it.
pub fn namespaces(draft: &mut Draft) {
    draft.controllers = true;
    let path = "/api/v1/namespaces/«ns»-inner";
    let label = if draft.rng.chance(50) { "red" } else { "green" };
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "«ns»-inner", "labels": { "color": label, LABEL: "«ns»" } } });
    let json_body = |method: Method, path: &str, body: Value| {
        Call::new(method, path)
            .query("fieldManager", "ann")
            .header("content-type", "application/json")
            .carrying(Payload::Json(body))
    };
    draft.send(json_body(Method::POST, "/api/v1/namespaces", namespace.clone()));
    draft.send(json_body(Method::POST, "/api/v1/namespaces", namespace));
    // The real controller looks again after some seconds where something is held.
    let holds = draft.rng.chance(30);
    let finalizers = if holds { json!(["example.com/hold"]) } else { json!([]) };
    let config =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "held", "finalizers": finalizers } });
    let in_it = format!("{path}/configmaps");
    draft.send(json_body(Method::POST, &in_it, config.clone()));
    draft.send(json_body(Method::POST, "/api/v1/namespaces/«ns»-missing/configmaps", config));
    draft.send(Call::new(Method::GET, "/api/v1/namespaces").query("labelSelector", format!("{LABEL}=«ns»")));
    if draft.rng.chance(50) {
        let patch = json!({ "metadata": { "labels": { "kubernetes.io/metadata.name": "other", "tier": "a" } } });
        let call = Call::new(Method::PATCH, path)
            .query("fieldManager", "bob")
            .header("content-type", "application/merge-patch+json");
        draft.send(call.carrying(Payload::Json(patch)));
    }
    if draft.rng.chance(30) {
        let patch = json!({ "spec": { "finalizers": [] } });
        let call = Call::new(Method::PATCH, path)
            .query("fieldManager", "bob")
            .header("content-type", "application/merge-patch+json");
        draft.send(call.carrying(Payload::Json(patch)));
    }
    if draft.rng.chance(30) {
        draft.send(Call::new(Method::DELETE, path).query("dryRun", "All"));
    }
    draft.send(Call::new(Method::DELETE, path));
    let held = format!("{in_it}/held");
    if holds {
        draft.push(Act::Settle(Call::new(Method::GET, held.clone()), Until::Deleting));
        let late = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "late" } });
        draft.send(json_body(Method::POST, &in_it, late));
        let patch = json!({ "metadata": { "finalizers": null } });
        let call = Call::new(Method::PATCH, held.clone())
            .query("fieldManager", "ann")
            .header("content-type", "application/merge-patch+json");
        draft.send(call.carrying(Payload::Json(patch)));
    }
    draft.push(Act::Settle(Call::new(Method::GET, held), Until::Gone));
    draft.push(Act::Settle(Call::new(Method::GET, path), Until::Gone));
    draft.send(Call::new(Method::GET, in_it));
    draft.send(Call::new(Method::DELETE, path));
}

/// What a user may and may not do.
pub fn access(draft: &mut Draft) {
    let kind = Draft::kind(draft.rng.weighted(&[(1, "ConfigMap"), (1, "Widget"), (1, "Lease")]));
    draft.kinds = vec![kind];
    let user = "«ns»-user";
    let verbs: Vec<&str> = ["get", "list", "create", "update", "patch", "delete", "watch"]
        .into_iter()
        .filter(|_| draft.rng.chance(50))
        .chain(["get"])
        .collect();
    plain(draft, kind, &kind.name("one"), json!(null));
    let call = Call::new(Method::GET, kind.path("one")).header("impersonate-user", user);
    draft.send(call.clone());
    let mut rule = json!({ "apiGroups": [kind.group], "resources": [kind.plural], "verbs": verbs });
    if draft.rng.chance(30) {
        rule["resourceNames"] = json!(["one"]);
    }
    if draft.rng.chance(30) {
        rule["resources"] = json!([kind.plural, format!("{}/status", kind.plural)]);
    }
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/«ns»";
    let of_rbac = |kind: &str| json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": { "name": "access" } });
    let mut role = of_rbac("Role");
    role["rules"] = json!([rule]);
    let mut binding = of_rbac("RoleBinding");
    binding["roleRef"] = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "access" });
    binding["subjects"] = json!([{ "kind": "User", "name": user }]);
    post(draft, kind, "role", format!("{roles}/roles"), role);
    post(draft, kind, "binding", format!("{roles}/rolebindings"), binding);
    draft.controllers = true;
    draft.push(Act::Settle(call, Until::Allowed));
    let count = 3 + draft.rng.below(5);
    for _ in 0..count {
        let from = draft.steps.len();
        match draft.rng.below(8) {
            0 => draft.create(),
            1 => draft.get(),
            2 => draft.list(),
            3 => draft.merge_patch(),
            4 => draft.apply(),
            5 => draft.delete(),
            6 => escalation(draft, roles),
            _ => review(draft, kind),
        }
        for step in &mut draft.steps[from..] {
            if let Act::Send(call) = &mut step.act {
                call.headers.push(("impersonate-user", user.to_owned()));
            }
        }
    }
}

fn escalation(draft: &mut Draft, roles: &str) {
    let body = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "more" },
        "rules": [{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }],
    });
    let call = Call::new(Method::POST, format!("{roles}/roles")).header("content-type", "application/json");
    draft.send(call.carrying(Payload::Json(body)));
}

fn review(draft: &mut Draft, kind: &Kind) {
    let verb = *draft.rng.pick(&["get", "list", "delete", "create", "*"]);
    let mut attributes = json!({ "namespace": "«ns»", "verb": verb, "group": kind.group, "resource": kind.plural });
    if draft.rng.chance(40) {
        attributes["name"] = json!("one");
    }
    let body = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": attributes },
    });
    let call = Call::new(Method::POST, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
    draft.send(call.header("content-type", "application/json").carrying(Payload::Json(body)));
}

/// Paths by which clients find out what is served.
const DISCOVERY: &[&str] = &[
    "/apis/conformance.hyperfleet.io",
    "/apis/conformance.hyperfleet.io/v1",
    "/apis/hypervisor.hyperfleet.io",
    "/apis/hypervisor.hyperfleet.io/v1alpha1",
    "/apis/coordination.k8s.io/v1",
    "/apis/events.k8s.io",
    "/apis/events.k8s.io/v1",
    "/apis/rbac.authorization.k8s.io/v1",
    "/apis/authorization.k8s.io/v1",
    "/apis/authentication.k8s.io/v1",
    "/apis/apiextensions.k8s.io/v1",
    "/apis/nowhere.example.com",
    "/apis/conformance.hyperfleet.io/v9",
    "/healthz",
    "/livez",
    "/readyz",
];

/// The kinds that are only asked, and what is served at all.
pub fn reviews(draft: &mut Draft) {
    let count = 3 + draft.rng.below(6);
    for _ in 0..count {
        if draft.rng.chance(30) {
            let path: &str = draft.rng.pick::<&str>(DISCOVERY);
            draft.send(Call::new(Method::GET, path));
            continue;
        }
        let (path, body) = draft.rng.pick(&questions()).clone();
        let call = Call::new(Method::POST, path).header("content-type", "application/json");
        draft.send(call.carrying(Payload::Json(body)));
    }
}

/// Definitions that are tried but not kept: a new kind would make every server build its description anew.
pub fn definitions(draft: &mut Draft) {
    let count = 3 + draft.rng.below(4);
    for _ in 0..count {
        let mut definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "things.«ns».example.com" },
            "spec": {
                "group": "«ns».example.com", "scope": "Namespaced",
                "names": { "plural": "things", "kind": "Thing" },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                    "type": "object", "properties": { "spec": { "type": "object", "properties": {
                        "a": { "type": "string", "maxLength": 5 }, "l": { "type": "array", "items": { "type": "string" } },
                    } } },
                } } }],
            },
        });
        if draft.rng.chance(75) {
            let (at, value) = draft.rng.pick(&odd_definitions()).clone();
            match definition.pointer_mut(at) {
                Some(place) => *place = value,
                None => set(&mut definition, at, value),
            }
        }
        let call = Call::new(Method::POST, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
        let call = call.query("dryRun", "All").query("fieldManager", "ann").header("content-type", "application/json");
        draft.send(call.carrying(Payload::Json(definition)));
    }
}

fn odd_definitions() -> Vec<(&'static str, Value)> {
    const SPEC: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    const A: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a";
    const L: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/l";
    let rule = |rule: &str| json!({ "type": "string", "maxLength": 5, "x-kubernetes-validations": [{ "rule": rule }] });
    vec![
        ("/metadata/name", json!("wrong.example.com")),
        ("/spec/scope", json!("Everywhere")),
        ("/spec/names/kind", json!("thing name")),
        ("/spec/names/singular", json!("single")),
        ("/spec/names/shortNames", json!(["t"])),
        ("/spec/versions", json!([])),
        ("/spec/versions/0/storage", json!(false)),
        ("/spec/versions/0/name", json!("V1")),
        ("/spec/versions/0/schema", json!(null)),
        (SPEC, json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })),
        (SPEC, json!({ "properties": { "a": { "type": "string" } } })),
        (A, json!({})),
        (A, json!({ "type": "text" })),
        (A, json!({ "type": "string", "default": 5 })),
        (A, json!({ "type": "string", "default": "x" })),
        (A, json!({ "type": "string", "pattern": "(" })),
        (A, json!({ "type": "string", "enum": ["a", "a"] })),
        (A, rule("self == 'x'")),
        (A, rule("self == 5")),
        (A, rule("bogus(self)")),
        (A, rule("self ==")),
        (A, rule("")),
        (L, json!({ "type": "array" })),
        (L, json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "map" })),
        (L, json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "bogus" })),
        (L, json!({ "type": "array", "items": { "type": "object" }, "x-kubernetes-list-type": "set" })),
        (L, json!({ "type": "array", "items": { "type": "string" }, "uniqueItems": true })),
        ("/spec/versions/0/subresources", json!({ "status": {}, "scale": {} })),
        ("/spec/versions/0/selectableFields", json!([{ "jsonPath": ".spec.missing" }])),
        ("/spec/versions/0/additionalPrinterColumns", json!([{ "name": "A", "type": "bogus", "jsonPath": ".spec.a" }])),
        ("/spec/conversion", json!({ "strategy": "None" })),
        ("/spec/preserveUnknownFields", json!(true)),
        ("/spec/bogus", json!(1)),
    ]
}

fn questions() -> Vec<(&'static str, Value)> {
    const ACCESS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    const OWN: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    const LOCAL: &str = "/apis/authorization.k8s.io/v1/namespaces/«ns»/localsubjectaccessreviews";
    const TOKEN: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
    const SELF: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let access =
        |spec: Value| json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec });
    let own = |spec: Value| json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec });
    let local = |spec: Value| json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "metadata": { "namespace": "«ns»" }, "spec": spec });
    let token = |spec: Value| json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec });
    let pods = json!({ "namespace": "«ns»", "verb": "get", "group": "", "resource": "configmaps" });
    vec![
        (ACCESS, access(json!({ "user": "nobody", "resourceAttributes": pods }))),
        (ACCESS, access(json!({ "user": "nobody", "groups": ["system:masters"], "resourceAttributes": pods }))),
        (ACCESS, access(json!({ "user": "nobody", "nonResourceAttributes": { "path": "/healthz", "verb": "get" } }))),
        (ACCESS, access(json!({ "resourceAttributes": pods }))),
        (ACCESS, access(json!({ "user": "nobody" }))),
        (
            ACCESS,
            access(
                json!({ "user": "nobody", "resourceAttributes": pods, "nonResourceAttributes": { "path": "/", "verb": "get" } }),
            ),
        ),
        (ACCESS, access(json!({}))),
        (ACCESS, access(json!({ "user": 5 }))),
        (OWN, own(json!({ "resourceAttributes": pods }))),
        (OWN, own(json!({ "nonResourceAttributes": { "path": "/version", "verb": "get" } }))),
        (OWN, own(json!({}))),
        (LOCAL, local(json!({ "user": "nobody", "resourceAttributes": pods }))),
        (
            LOCAL,
            local(
                json!({ "user": "nobody", "resourceAttributes": { "namespace": "other", "verb": "get", "resource": "configmaps" } }),
            ),
        ),
        (LOCAL, local(json!({ "user": "nobody", "nonResourceAttributes": { "path": "/", "verb": "get" } }))),
        (TOKEN, token(json!({ "token": "not a token" }))),
        (TOKEN, token(json!({}))),
        (SELF, json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" })),
        (
            TOKEN,
            json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": { "name": "x" }, "spec": { "token": "y" } }),
        ),
    ]
}
