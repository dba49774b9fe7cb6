//! What the simulated GitHub answers and sends, held to the schemas and examples that GitHub publishes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "virtual_github/caller.rs"]
#[allow(dead_code, reason = "the other suite uses the rest of it")]
mod caller;
#[path = "real_github/schema.rs"]
mod schema;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use serde_json::{Value, json};
use sim::github::{CLIENT_ID, Conclusion, HookOwner, INSTALLATION_ID, JobSpec, REPOSITORY, Receiver, Scope};
use tokio::time::sleep;

use caller::Caller;
use schema::complaints;

/// A file that `make tools` fetches.
fn published(name: &str) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hack/tools.sh");
    let output = Command::new("bash").arg(script).args(["--path", name]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    let text = std::fs::read(&path).unwrap_or_else(|_| panic!("{name} is not at {}: run `make tools`", path.display()));
    serde_json::from_slice(&text).unwrap()
}

/// Where the schema contradicts itself, and why it is not followed.
const CONTRADICTIONS: &[(&str, &str, &str)] =
    &[("/app/installations", "/account", "an account is asked to be a user and an enterprise at once")];

/// Somebody who checks every answer.
struct Checker {
    caller: Caller,
    documents: Vec<Value>,
    checked: BTreeSet<String>,
}

impl Checker {
    fn new() -> Self {
        let documents = vec![published("github-api.json"), published("github-server-api.json")];
        Self { caller: Caller::new(), documents, checked: BTreeSet::new() }
    }

    /// Makes a call whose path has the values of the template's variables in order, and checks what it gives.
    async fn call(&mut self, verb: &str, template: &str, values: &[&str], query: &str, body: Value) -> Value {
        let mut path = String::new();
        let mut values = values.iter();
        for part in template.split('/').filter(|part| !part.is_empty()) {
            path.push('/');
            path.push_str(if part.starts_with('{') { values.next().unwrap() } else { part });
        }
        let by_app = template.starts_with("/app") || template.ends_with("/installation");
        let token = if by_app { app_token(&self.caller) } else { self.caller.token.clone() };
        let authorization = format!("Bearer {token}");
        let headers = [("authorization", authorization.as_str()), ("user-agent", "test")];
        let uri = format!("https://api.github.com{path}{query}");
        let answer = self.caller.send(verb, &uri, &headers, &body).await.unwrap();
        self.check(verb, template, answer.status, &answer.body);
        answer.body
    }

    fn check(&mut self, verb: &str, template: &str, status: u16, body: &Value) {
        let document = self.documents.iter().find(|document| document["paths"].get(template).is_some());
        let document = document.unwrap_or_else(|| panic!("{template} is in no published description"));
        let responses = &document["paths"][template][verb.to_lowercase()]["responses"];
        let response = responses.get(status.to_string());
        let response = response.unwrap_or_else(|| panic!("{verb} {template} never answers {status}: {body}"));
        let response = schema::resolve(document, response);
        let wanted = response.pointer("/content/application~1json/schema");
        let found = wanted.map(|wanted| complaints(document, wanted, body, "")).unwrap_or_default();
        let known = |complaint: &String| {
            CONTRADICTIONS.iter().any(|(path, field, _)| *path == template && complaint.contains(field))
        };
        let found: Vec<String> = found.into_iter().filter(|complaint| !known(complaint)).collect();
        assert!(found.is_empty(), "{verb} {template} {status}: {found:#?}");
        self.checked.insert(format!("{verb} {template} {status}"));
    }
}

fn app_token(caller: &Caller) -> String {
    let now = 1_800_000_000;
    caller.github.app_key().sign(&json!({ "iat": now, "exp": now + 600, "iss": CLIENT_ID }))
}

const SCOPES: &[(&str, &[&str])] = &[
    ("/repos/{owner}/{repo}", &["acme", "widgets"]),
    ("/orgs/{org}", &["acme"]),
    ("/enterprises/{enterprise}", &["acme-group"]),
];

#[tokio::test(start_paused = true)]
async fn apps_and_rates_are_as_published() {
    let mut checker = Checker::new();
    let id = INSTALLATION_ID.to_string();
    checker.call("GET", "/app", &[], "", Value::Null).await;
    checker.call("GET", "/app/installations", &[], "", Value::Null).await;
    checker.call("GET", "/app/installations/{installation_id}", &[&id], "", Value::Null).await;
    checker.call("GET", "/orgs/{org}/installation", &["acme"], "", Value::Null).await;
    checker.call("GET", "/repos/{owner}/{repo}/installation", &["acme", "widgets"], "", Value::Null).await;
    let token = "/app/installations/{installation_id}/access_tokens";
    let chosen = json!({ "repositories": ["widgets"], "permissions": { "actions": "read" } });
    for body in [Value::Null, chosen, json!({ "permissions": { "contents": "write" } })] {
        checker.call("POST", token, &[&id], "", body).await;
    }
    checker.call("POST", token, &["1"], "", Value::Null).await;
    checker.call("GET", "/rate_limit", &[], "", Value::Null).await;
    checker.call("GET", "/repos/{owner}/{repo}", &["acme", "widgets"], "", Value::Null).await;
    for owner in ["acme", "octocat", "nobody"] {
        checker.call("GET", "/users/{username}", &[owner], "", Value::Null).await;
    }
    assert_eq!(checker.checked.len(), 12, "{:#?}", checker.checked);
}

#[tokio::test(start_paused = true)]
async fn runners_labels_and_groups_are_as_published() {
    let mut checker = Checker::new();
    for (scope, owner) in SCOPES {
        let runners = format!("{scope}/actions/runners");
        let generate = format!("{runners}/generate-jitconfig");
        let body = |name: &str, labels: Value| json!({ "name": name, "runner_group_id": 1, "labels": labels });
        let made = checker.call("POST", &generate, owner, "", body("vm", json!(["self-hosted", "gpu"]))).await;
        checker.call("POST", &generate, owner, "", body("vm", json!(["a"]))).await;
        checker.call("POST", &generate, owner, "", body("vm-2", json!([]))).await;
        for kind in ["registration-token", "remove-token"] {
            checker.call("POST", &format!("{runners}/{kind}"), owner, "", Value::Null).await;
        }
        checker.call("GET", &runners, owner, "?per_page=1", Value::Null).await;
        checker.call("GET", &format!("{runners}/downloads"), owner, "", Value::Null).await;
        let id = made["runner"]["id"].to_string();
        let one: Vec<&str> = owner.iter().copied().chain([id.as_str()]).collect();
        let runner = format!("{runners}/{{runner_id}}");
        let labels = format!("{runner}/labels");
        checker.call("GET", &runner, &one, "", Value::Null).await;
        checker.call("GET", &labels, &one, "", Value::Null).await;
        checker.call("POST", &labels, &one, "", json!({ "labels": ["big"] })).await;
        checker.call("PUT", &labels, &one, "", json!({ "labels": ["big", "blue"] })).await;
        for name in ["big", "none", "self-hosted"] {
            let named: Vec<&str> = one.iter().copied().chain([name]).collect();
            checker.call("DELETE", &format!("{labels}/{{name}}"), &named, "", Value::Null).await;
        }
        checker.call("DELETE", &labels, &one, "", Value::Null).await;
        checker.call("DELETE", &runner, &one, "", Value::Null).await;
        if *scope != "/repos/{owner}/{repo}" {
            checker.call("GET", &format!("{scope}/actions/runner-groups"), owner, "", Value::Null).await;
            let named: Vec<&str> = owner.iter().copied().chain(["1"]).collect();
            checker
                .call("GET", &format!("{scope}/actions/runner-groups/{{runner_group_id}}"), &named, "", Value::Null)
                .await;
        }
    }
    assert_eq!(checker.checked.len(), 3 * 16 + 4, "{:#?}", checker.checked);
}

const HERE: &[&str] = &["acme", "widgets"];

/// Looks at a run and its jobs from all sides.
async fn look(checker: &mut Checker, run: &str, job: &str) {
    let actions = "/repos/{owner}/{repo}/actions";
    let (runs, jobs) = ([HERE, &[run]].concat(), [HERE, &[job]].concat());
    checker.call("GET", &format!("{actions}/runs"), HERE, "", Value::Null).await;
    checker.call("GET", &format!("{actions}/runs/{{run_id}}"), &runs, "", Value::Null).await;
    checker.call("GET", &format!("{actions}/runs/{{run_id}}/jobs"), &runs, "", Value::Null).await;
    checker.call("GET", &format!("{actions}/jobs/{{job_id}}"), &jobs, "", Value::Null).await;
}

#[tokio::test(start_paused = true)]
async fn runs_and_jobs_are_as_published_in_every_state() {
    let mut checker = Checker::new();
    let held = JobSpec { waiting: true, ..JobSpec::new("held", &["none"]) };
    let failing = JobSpec { conclusion: Conclusion::Failure, ..JobSpec::new("build", &["a"]) };
    let (run, jobs) = checker.caller.github.queue(REPOSITORY, &[failing, held]).unwrap();
    let (run, job) = (run.to_string(), jobs[0].to_string());
    look(&mut checker, &run, &job).await;
    let (_, blob) = checker.caller.mint("/orgs/acme", "vm-1", &["a"]).await;
    let github = checker.caller.github.clone();
    let (ended, ()) = tokio::join!(github.work(&blob), async {
        sleep(Duration::from_secs(10)).await;
        look(&mut checker, &run, &job).await;
        checker.call("GET", "/orgs/{org}/actions/runners", &["acme"], "", Value::Null).await;
    });
    assert_eq!(ended, Ok(Conclusion::Failure));
    let one = [HERE, &[run.as_str()]].concat();
    let actions = "/repos/{owner}/{repo}/actions/runs/{run_id}";
    for verb in ["cancel", "cancel", "rerun-failed-jobs", "cancel", "rerun"] {
        checker.call("POST", &format!("{actions}/{verb}"), &one, "", Value::Null).await;
    }
    look(&mut checker, &run, &job).await;
    assert_eq!(checker.checked.len(), 9, "{:#?}", checker.checked);
}

/// Everything that hooks of all levels were sent in a job's life.
async fn overheard(caller: &Caller) -> (Vec<Value>, Vec<u64>) {
    let inbox: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = Arc::clone(&inbox);
    let receiver = Receiver::function(move |request| {
        kept.lock().unwrap().push(serde_json::from_slice(request.body()).unwrap());
        async { Some(202) }.boxed()
    });
    let owners = [
        HookOwner::App,
        HookOwner::Of(Scope::Organization("acme".to_owned())),
        HookOwner::Of(Scope::Repository(REPOSITORY.to_owned())),
    ];
    let add = |owner| caller.github.add_hook(owner, "https://hooks.example/", "s", receiver.clone());
    let hooks: Vec<u64> = owners.into_iter().map(add).collect();
    let held = JobSpec { waiting: true, ..JobSpec::new("deploy", &["a"]) };
    let (_, jobs) = caller.github.queue(REPOSITORY, &[held]).unwrap();
    sleep(Duration::from_secs(5)).await;
    caller.github.approve(jobs[0]);
    let (_, blob) = caller.mint("/orgs/acme", "vm-1", &["a"]).await;
    caller.github.work(&blob).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let told = inbox.lock().unwrap().clone();
    (told, hooks)
}

#[tokio::test(start_paused = true)]
async fn webhooks_are_as_published_and_as_the_examples() {
    let schemas = published("github-webhooks.json");
    let caller = Caller::new();
    let (told, _) = overheard(&caller).await;
    assert_eq!(told.len(), 4 * 3);
    let examples = published("github-examples.json");
    let examples = examples.as_array().unwrap().iter().find(|event| event["name"] == "workflow_job").unwrap();
    let examples = examples["examples"].as_array().unwrap();
    let api = published("github-api.json");
    for mut payload in told {
        // These schemas know of no enterprises; the description of the API, which is younger, does.
        if let Some(enterprise) = payload.as_object_mut().unwrap().remove("enterprise") {
            let wanted = json!({ "$ref": "#/components/schemas/enterprise-webhooks" });
            assert_eq!(complaints(&api, &wanted, &enterprise, ""), [""; 0]);
        }
        let action = payload["action"].as_str().unwrap();
        let wanted = json!({ "$ref": format!("#/definitions/workflow_job${action}") });
        let found = complaints(&schemas, &wanted, &payload, "");
        assert!(found.is_empty(), "{action}: {found:#?}");
        // An example has nothing that ours lack: whoever reads them can read these.
        for example in examples.iter().filter(|example| example["action"] == action) {
            for field in example["workflow_job"].as_object().unwrap().keys() {
                assert!(payload["workflow_job"].get(field).is_some(), "{action}: {field} is missing");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_and_their_deliveries_are_as_published() {
    let mut checker = Checker::new();
    let (_, hooks) = overheard(&checker.caller).await;
    let (organization, repository) = (hooks[1].to_string(), hooks[2].to_string());
    let places: [(&str, Vec<&str>); 3] = [
        ("/app/hook", Vec::new()),
        ("/orgs/{org}/hooks/{hook_id}", vec!["acme", &organization]),
        ("/repos/{owner}/{repo}/hooks/{hook_id}", vec!["acme", "widgets", &repository]),
    ];
    for (place, values) in places {
        let listed = checker.call("GET", &format!("{place}/deliveries"), &values, "?per_page=2", Value::Null).await;
        let id = listed[0]["id"].to_string();
        let one: Vec<&str> = values.into_iter().chain([id.as_str()]).collect();
        let delivery = format!("{place}/deliveries/{{delivery_id}}");
        checker.call("GET", &delivery, &one, "", Value::Null).await;
        checker.call("POST", &format!("{delivery}/attempts"), &one, "", Value::Null).await;
    }
    checker.call("GET", "/orgs/{org}/hooks", &["acme"], "", Value::Null).await;
    checker.call("GET", "/repos/{owner}/{repo}/hooks", HERE, "", Value::Null).await;
    assert_eq!(checker.checked.len(), 11);
}

#[test]
fn a_wrong_answer_is_noticed() {
    let document = published("github-api.json");
    let wanted = json!({ "$ref": "#/components/schemas/runner" });
    let right = json!({ "id": 1, "name": "vm", "os": "Linux", "status": "online", "busy": false, "labels": [] });
    assert!(complaints(&document, &wanted, &right, "").is_empty());
    for (field, wrong) in [("id", json!("1")), ("busy", Value::Null), ("labels", json!([{ "type": "custom" }]))] {
        let mut answer = right.clone();
        answer[field] = wrong;
        assert!(!complaints(&document, &wanted, &answer, "").is_empty(), "{field}");
    }
    let mut answer = right;
    answer.as_object_mut().unwrap().remove("name");
    assert_eq!(complaints(&document, &wanted, &answer, ""), [": name is missing"]);
}
