//! Whether every field of every kind has been in some state that the API takes: by schema and rules alone, without a world.

use std::collections::{BTreeMap, BTreeSet};

use api::admit;
use serde_json::{Value, json};
use sim::world::{Change, mutations};

use super::{job, runner, schema};
use crate::town::{pool, source};
use crate::yard::{claim, cluster, template};

/// Fields that have no other value than the samples', and why.
const FIXED: [(&str, &str, &str); 2] = [
    ("hypervisorclusters", "provider", "Proxmox VE is the only one there is"),
    ("runnersources", "platform", "it goes with settings of its own: each platform has a sample"),
];

/// The base with other fields: a member of a union excludes the others, so that each needs an object of its own.
fn with(base: &Value, changes: &Value) -> Value {
    let mut object = base.clone();
    for (pointer, value) in changes.as_object().unwrap() {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = object["spec"].pointer_mut(parent).unwrap();
        if value.is_null() {
            parent.as_object_mut().unwrap().remove(name);
        } else {
            parent[name] = value.clone();
        }
    }
    object
}

/// Namespaces by a condition on their labels.
fn granted() -> Value {
    json!({ "matchExpressions": [{ "key": "team", "operator": "In", "values": ["red"] }] })
}

fn key(name: &str) -> Value {
    json!({ "name": name, "key": "key" })
}

pub(super) fn clusters() -> Vec<Value> {
    let base = cluster("pve");
    let user = json!({ "username": key("user"), "password": key("word") });
    vec![with(&base, &json!({ "/credentials": user })), with(&base, &json!({ "/allowedNamespaces": granted() })), base]
}

pub(super) fn templates() -> Vec<Value> {
    let base = template("small");
    let network =
        json!({ "mode": "static", "staticConfig": { "addresses": ["10.0.0.7/24"], "gateway": "10.0.0.254" } });
    vec![
        with(&base, &json!({ "/network": network })),
        with(&base, &json!({ "/template/proxmox": { "templateName": "image", "linkedClone": true } })),
        with(&base, &json!({ "/allowedNamespaces": granted() })),
        base,
    ]
}

fn claims() -> Vec<Value> {
    let runner = runner("some");
    vec![
        with(&runner, &json!({ "/workload/runner/labels": null, "/workload/runner/tags": ["red"] })),
        runner,
        claim("some", &["true"]),
    ]
}

pub(super) fn pools() -> Vec<Value> {
    let base = pool("linux", 4);
    vec![with(&base, &json!({ "/labels": null, "/tags": ["red"] })), base]
}

pub(super) fn sources() -> Vec<Value> {
    let github = source("poll", std::time::Duration::from_secs(30));
    let app = json!({ "app": { "appId": key("app"), "installationId": key("app"), "privateKey": key("app") } });
    let mut sources = vec![
        source("webhook", std::time::Duration::from_secs(30)),
        with(&github, &json!({ "/github/credentials": app })),
        with(&github, &json!({ "/github/scope": { "repository": "acme/widgets" } })),
        with(&github, &json!({ "/github/scope": { "enterprise": "acme" } })),
    ];
    let of = |platform: &str, settings: Value| {
        let mut object = with(&github, &json!({ "/platform": platform, "/github": null }));
        object["spec"][platform] = settings;
        object
    };
    let settings = |scope: Value| json!({ "scope": scope, "credentials": { "token": key("token") } });
    for platform in ["gitea", "forgejo"] {
        let scopes =
            [json!({ "organization": "acme" }), json!({ "repository": "acme/widgets" }), json!({ "instance": true })];
        sources.extend(scopes.map(|scope| of(platform, settings(scope))));
    }
    let scopes = [json!({ "group": "acme" }), json!({ "project": "acme/widgets" }), json!({ "instance": true })];
    sources.extend(scopes.map(|scope| of("gitlab", settings(scope))));
    let tokens = json!({ "agentToken": key("agent"), "apiToken": key("api") });
    let cluster = "00000000-0000-4000-8000-000000000000";
    sources.push(of("buildkite", json!({ "organization": "acme", "cluster": cluster, "credentials": tokens })));
    sources.push(github);
    sources
}

/// How many values of each field the API took, its own and those of fields inside it, over all these samples.
fn taken(plural: &str, samples: &[Value]) -> BTreeMap<String, usize> {
    let schema = schema(plural);
    let mut taken = BTreeMap::new();
    for sample in samples {
        assert!(admit(sample, None).is_ok(), "{plural}: {:?}: {sample}", admit(sample, None).err());
        for mutation in mutations(&schema["properties"]["spec"], &sample["spec"], &[]).iter().flatten() {
            let mut object = sample.clone();
            mutation.make(&mut object["spec"]);
            let fits = matches!(mutation.change, Change::Set | Change::Alter | Change::Boundary);
            let counts = fits && object["spec"] != sample["spec"] && admit(&object, None).is_ok();
            for length in 1..=mutation.path.len() {
                *taken.entry(mutation.path[..length].join(".")).or_default() += usize::from(counts);
            }
        }
    }
    taken
}

#[test]
fn every_field_was_in_some_state() {
    let kinds = [
        ("hypervisorclusters", clusters()),
        ("hypervisormachinetemplates", templates()),
        ("machineclaims", claims()),
        ("runnerjobs", vec![job("some")]),
        ("runnerpools", pools()),
        ("runnersources", sources()),
    ];
    let (mut fields, mut never) = (0, BTreeSet::new());
    for (plural, samples) in &kinds {
        let taken = taken(plural, samples);
        fields += taken.len();
        never.extend(taken.into_iter().filter(|(_, times)| *times == 0).map(|(path, _)| (*plural, path)));
    }
    let expected: BTreeSet<_> = FIXED.iter().map(|(plural, path, _)| (*plural, (*path).to_owned())).collect();
    assert_eq!(never, expected, "fields of which the API takes no other value than the samples'");
    println!("lane: {fields} fields of {} kinds in some state", kinds.len());
}
