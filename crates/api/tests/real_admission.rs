//! The same judgements by a real API server: it takes our definitions and examples, refuses what `admit` refuses for the
//! same fields and reasons, stores what `admit` returns, and serves people with kubectl.

#[path = "admission/mutations.rs"]
mod mutations;
#[path = "admission/rows.rs"]
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::core::Status;
use kube::{Api, Client, ResourceExt};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use testenv::ControlPlane;

use mutations::{good_objects, mutated, mutations};
use rows::{Row, Way, rows};

/// How many random objects both are asked about.
const RANDOM_OBJECTS: usize = 1500;

/// The control plane with our definitions, and a namespace of this test's own.
async fn prepared(prefix: &str) -> (&'static ControlPlane, String) {
    let plane = testenv::shared().await;
    plane.install_crds(&api::crds()).await;
    (plane, plane.namespace(prefix).await)
}

/// The plural of each kind.
static PLURALS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let names = api::crds().into_iter().map(|crd| crd.spec.names);
    names.map(|names| (names.kind, names.plural)).collect()
});

/// The server's collection of an object's kind.
fn collection(client: &Client, namespace: &str, object: &Value) -> Api<DynamicObject> {
    let kind = object["kind"].as_str().expect("every object has a kind");
    let resource = ApiResource {
        group: api::registry::GROUP.to_owned(),
        version: api::registry::VERSION.to_owned(),
        api_version: api::registry::API_VERSION.to_owned(),
        kind: kind.to_owned(),
        plural: PLURALS[kind].clone(),
    };
    Api::namespaced_with(client.clone(), namespace, &resource)
}

fn dynamic(object: &Value) -> DynamicObject {
    serde_json::from_value(object.clone()).expect("every object has metadata")
}

fn dry_run() -> PostParams {
    PostParams { dry_run: true, ..PostParams::default() }
}

/// What a server says no to. An answer that is no verdict names no field, and so agrees with nothing.
fn refusal<T>(answer: Result<T, kube::Error>) -> Option<Status> {
    match answer {
        Ok(_) => None,
        Err(kube::Error::Api(status)) => Some(*status),
        Err(other) => Some(Status::failure(&other.to_string(), "NoVerdict")),
    }
}

/// The server's verdict on a row's bad object.
async fn verdict(client: &Client, namespace: &str, row: &Row, number: usize) -> Option<Status> {
    let api = collection(client, namespace, &row.bad);
    if row.way == Way::Create {
        return refusal(api.create(&dry_run(), &dynamic(&row.bad)).await);
    }
    let named = |object: &Value| {
        let mut object = dynamic(object);
        object.metadata.name = Some(format!("row-{number}"));
        object
    };
    let good = named(&row.good);
    let mut stored = api.create(&PostParams::default(), &good).await.expect(row.name);
    if row.way == Way::Status {
        let mut with_status = good;
        with_status.metadata.resource_version = stored.resource_version();
        stored = api.replace_status(&stored.name_any(), &PostParams::default(), &with_status).await.expect(row.name);
    }
    let mut bad = named(&row.bad);
    bad.metadata.resource_version = stored.resource_version();
    match row.way {
        Way::Create => unreachable!("handled above"),
        Way::Update => refusal(api.replace(&bad.name_any(), &dry_run(), &bad).await),
        Way::Status => refusal(api.replace_status(&bad.name_any(), &dry_run(), &bad).await),
    }
}

/// What a verdict names: field, reason, message.
type Named = BTreeSet<(String, String, String)>;

/// What a server names. It also says that rules were not looked at, which is about no field, and repeats
/// for the scale subresource, with a leading dot, what the schema says already.
fn causes(status: &Status) -> Named {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let unchecked = |message: &str| message.contains("some validation rules were not checked");
    let named = causes.filter(|cause| !unchecked(&cause.message) && !cause.field.starts_with('.'));
    named.map(|cause| (cause.field.clone(), cause.reason.clone(), cause.message.clone())).collect()
}

/// A verdict without what the two word differently: a server writes paths in a status without the word `status`.
fn worded(named: Named) -> Named {
    let plain = |message: String| message.replacen(": status.", ": ", 1);
    named.into_iter().map(|(field, reason, message)| (field, reason, plain(message))).collect()
}

/// A verdict without the letters beyond ASCII: which of them can be printed depends on the year of a Unicode table.
fn legible(named: Named) -> Named {
    let plain = |message: String| {
        let quoted = message.split("\\U").enumerate();
        let without: String =
            quoted.map(|(at, part)| if at == 0 { part } else { part.get(8..).unwrap_or(part) }).collect();
        without.chars().filter(char::is_ascii).collect()
    };
    named.into_iter().map(|(field, reason, message)| (field, reason, plain(message))).collect()
}

/// What `admit` names.
fn violations(refusal: &api::Refusal) -> Named {
    let all = refusal.violations().iter();
    all.map(|one| (one.field.clone(), one.cause.as_str().to_owned(), one.message.clone())).collect()
}

#[tokio::test]
async fn r9_6_every_bad_object_is_refused_by_a_real_server_in_the_same_words() {
    let (plane, namespace) = prepared("bad-objects").await;
    let (client, mut differences) = (plane.client(), Vec::new());
    for (number, row) in rows().iter().enumerate() {
        let status = verdict(&client, &namespace, row, number).await;
        let status = status.unwrap_or_else(|| panic!("{}: the server took it", row.name));
        assert!(status.message.contains(row.field), "{}: {} is not named: {}", row.name, row.field, status.message);
        let old = (row.way != Way::Create).then_some(&row.good);
        let ours = api::admit(&row.bad, old).expect_err(row.name);
        let (ours, servers) = (worded(violations(&ours)), worded(causes(&status)));
        if ours != servers {
            differences.push(format!("{}:\n  admit:  {ours:?}\n  server: {servers:?}", row.name));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[tokio::test]
async fn random_changes_get_the_same_verdict_from_both() {
    let (plane, namespace) = prepared("random-objects").await;
    let (client, good) = (plane.client(), good_objects());
    // One seed: a difference that shows up once shows up again.
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (mut admitted, mut differences) = (0, Vec::new());
    for _ in 0..RANDOM_OBJECTS {
        let mutation = mutations().new_tree(&mut runner).expect("the strategy rejects nothing").current();
        let mut object = mutated(&good, mutation);
        // A server drops the status of a new object before it looks.
        object.as_object_mut().expect("it is an object").remove("status");
        object["metadata"]["namespace"] = json!(namespace);
        let answer = collection(&client, &namespace, &object).create(&dry_run(), &dynamic(&object)).await;
        match (answer, api::admit(&object, None)) {
            (Ok(stored), Ok(ours)) => {
                admitted += 1;
                if stored.data["spec"] != ours["spec"] {
                    differences.push(format!("stored differently: {} / {}", stored.data["spec"], ours["spec"]));
                }
            }
            (Err(kube::Error::Api(status)), Err(ours)) if legible(violations(&ours)) == legible(causes(&status)) => {}
            (Err(kube::Error::Api(status)), Err(ours)) => {
                differences.push(format!("admit:  {:?}\n  server: {:?}", violations(&ours), causes(&status)));
            }
            (Err(kube::Error::Api(status)), Ok(_)) => {
                differences.push(format!("only the server refuses: {}: {object}", status.message));
            }
            (Ok(_), Err(ours)) => differences.push(format!("only admit refuses: {ours}: {object}")),
            (Err(other), _) => panic!("the server gave no verdict: {other}"),
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(admitted > RANDOM_OBJECTS / 20, "only {admitted} of {RANDOM_OBJECTS} were admitted");
}

#[tokio::test]
async fn every_example_applies_strictly_and_is_stored_as_admit_returns_it() {
    let (plane, namespace) = prepared("examples").await;
    for story in api::examples() {
        for (stem, object) in &story.objects {
            let mut object = object.clone();
            if object["kind"] != "Namespace" && object["metadata"].get("namespace").is_none() {
                object["metadata"]["namespace"] = json!(namespace);
            }
            let arguments = ["apply", "--server-side", "--validate=strict", "-o", "json", "-f", "-"];
            let applied = plane.kubectl_with_input(&arguments, &object.to_string()).await;
            assert!(applied.success(), "{}/{stem}: {}", story.name, applied.stderr);
            if object["apiVersion"] == api::registry::API_VERSION {
                let stored: Value = serde_json::from_str(&applied.stdout).expect("kubectl prints JSON");
                assert_eq!(stored["spec"], api::admit(&object, None).expect(stem)["spec"], "{}/{stem}", story.name);
            }
        }
    }
}

#[tokio::test]
async fn an_unknown_field_is_refused_by_name_when_kubectl_asks_for_it() {
    let (plane, namespace) = prepared("strict").await;
    let mut pool = rows::example("github-actions", "RunnerPool");
    pool["metadata"]["namespace"] = json!(namespace);
    pool["spec"]["scaling"]["minReplica"] = json!(1);
    let applied = plane.kubectl_with_input(&["apply", "--validate=strict", "-f", "-"], &pool.to_string()).await;
    assert!(!applied.success());
    assert!(applied.stderr.contains("spec.scaling.minReplica"), "{}", applied.stderr);
    let ours = api::admit_with(api::UnknownFields::Refuse, &pool, None).expect_err("it is unknown to us too");
    assert_eq!(ours.violations()[0].field, "spec.scaling.minReplica");
}

#[tokio::test]
async fn kubectl_gets_explains_and_scales_our_kinds() {
    let (plane, namespace) = prepared("kubectl").await;
    let mut pool = rows::example("github-actions", "RunnerPool");
    pool["metadata"]["namespace"] = json!(namespace);
    assert!(plane.kubectl_with_input(&["apply", "-f", "-"], &pool.to_string()).await.success());

    for name in ["runnerpools", "rpool", "hyperfleet"] {
        let got = plane.kubectl(&["-n", &namespace, "get", name]).await;
        assert!(got.success() && got.stdout.contains("linux-x64"), "{name}: {} {}", got.stdout, got.stderr);
    }
    let table = plane.kubectl(&["-n", &namespace, "get", "rpool"]).await.stdout;
    let columns = ["NAME", "TEMPLATE", "SOURCE", "MIN", "MAX", "REPLICAS", "READY", "BUSY", "QUEUED", "AGE"];
    assert_eq!(table.lines().next().expect("a header").split_whitespace().collect::<Vec<_>>(), columns);

    let explained = plane.kubectl(&["explain", "runnerpool.spec.scaling.minReplicas"]).await.stdout;
    assert!(explained.contains("`kubectl scale` sets this"), "{explained}");

    let scaled = plane.kubectl(&["-n", &namespace, "scale", "rpool/linux-x64", "--replicas=3"]).await;
    assert!(scaled.success(), "{}", scaled.stderr);
    let path = "jsonpath={.spec.scaling.minReplicas}";
    assert_eq!(plane.kubectl(&["-n", &namespace, "get", "rpool", "linux-x64", "-o", path]).await.stdout, "3");

    let refused = plane.kubectl(&["-n", &namespace, "scale", "rpool/linux-x64", "--replicas=21"]).await;
    assert!(!refused.success());
    assert!(refused.stderr.contains("minReplicas must not be above maxReplicas"), "{}", refused.stderr);
}

#[tokio::test]
async fn kubectl_shows_the_columns_people_know_for_every_kind() {
    let (plane, namespace) = prepared("columns").await;
    for (resource, kind, columns) in [
        ("hvc", "HypervisorCluster", "NAME PROVIDER ENDPOINT NODES READY AGE"),
        ("hmt", "HypervisorMachineTemplate", "NAME CLUSTER TEMPLATE ID CPU MEMORY AVAILABLE VALID AGE"),
        ("rsrc", "RunnerSource", "NAME PLATFORM URL DEMAND READY AGE"),
        ("rjob", "RunnerJob", "NAME STATE REPOSITORY JOB POOL CLAIM REASON AGE"),
        ("mclaim", "MachineClaim", "NAME PHASE VMID NODE IP POOL AGE"),
    ] {
        let good =
            rows().into_iter().map(|row| row.good).find(|good| good["kind"] == kind).expect("rows for every kind");
        let made = plane.kubectl_with_input(&["-n", &namespace, "create", "-f", "-"], &good.to_string()).await;
        assert!(made.success(), "{kind}: {}", made.stderr);
        let table = plane.kubectl(&["-n", &namespace, "get", resource]).await.stdout;
        let header: Vec<_> = table.lines().next().expect("a header").split_whitespace().collect();
        assert_eq!(header.join(" "), columns);
    }
}
