//! `hyperfleet init --apply-manifests`: into a cluster where others work, too.

use std::sync::{Arc, Mutex};

use api::{HypervisorCluster, RunnerPool, RunnerSource};
use bytes::Bytes;
use chassis::Clock;
use futures::FutureExt as _;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use operator::doctor::{Means, Sight, examine};
use operator::single::NAMESPACE;
use providers::http::{AddressPolicy, Client};
use providers::platform::Hook as _;
use providers::platform::github::{Credentials, GitHub, Scope, Settings, Site};
use secrecy::SecretString;
use serde_json::json;
use sim::github::{HookOwner, JobSpec, PERSONAL_TOKEN, REPOSITORY, Receiver};
use sim::proxmox::Release;
use testenv::{Program, eventually};

use crate::browser::Browser;
use crate::clinic::Clinic;
use crate::person::{PASSWORD, Person, SOON};
use crate::town::Town;

#[tokio::test(flavor = "multi_thread")]
async fn a_working_set_up_is_neither_moved_nor_forced_back() {
    let (clinic, other) = (Clinic::new(Release::V9).await, Clinic::new(Release::V9).await);
    let person = Person::new();
    let town = Town::new(&person).await;
    let (token, ca) = (person.file("pat", PERSONAL_TOKEN), person.file("ci.pem", clinic.authority.pem()));
    let ci = format!("{}/acme", clinic.github_url);
    let platform = ["--ci", &ci, "--platform", "github", "--ci-ca-file", &ca, "--ci-token-file", &token];
    let all = [&town.flags()[..], &platform].concat();
    let run = person.apply(&clinic, &all).await;
    assert_eq!(run.code, 0, "{}", run.output);
    assert!(person.written().iter().all(|(name, ..)| !name.starts_with("secret")), "{:?}", person.written());

    let rights = other.pve.rights();
    let run = person.apply(&other, &town.flags()).await;
    assert_eq!(run.code, 1, "{}", run.output);
    assert!(run.output.contains("HypervisorCluster pve is there already") && run.output.contains("--name"));
    assert_eq!((town.clusters().await, other.pve.rights()), (vec![("pve".to_owned(), clinic.pve_url.clone())], rights));

    let tuned = Patch::Merge(json!({ "spec": { "scaling": { "maxReplicas": 3 } } }));
    town.objects::<RunnerPool>().patch("linux-x64", &PatchParams::default(), &tuned).await.unwrap();
    let run = person.apply(&clinic, &all).await;
    assert_eq!(run.code, 0, "{}", run.output);
    let pool = town.objects::<RunnerPool>().get("linux-x64").await.unwrap();
    assert_eq!(json!(pool.spec.scaling)["maxReplicas"], 3);

    let moved = Patch::Merge(json!({ "spec": { "defaultNetwork": "vmbr1" } }));
    town.objects::<HypervisorCluster>().patch("pve", &PatchParams::default(), &moved).await.unwrap();
    let run = person.apply(&clinic, &town.flags()).await;
    assert_eq!(run.code, 1, "{}", run.output);
    assert!(run.output.contains("was changed by somebody else in spec.defaultNetwork"), "{}", run.output);

    let run = person.apply(&other, &[&town.flags()[..], &["--name", "lab"]].concat()).await;
    assert_eq!(run.code, 0, "{}", run.output);
    let both = [("lab".to_owned(), other.pve_url.clone()), ("pve".to_owned(), clinic.pve_url.clone())];
    assert_eq!(town.clusters().await, both);
}

/// A person with an administrator's password, and a GitHub without webhooks.
async fn newcomer() -> (Clinic, Person) {
    let clinic = Clinic::new(Release::V9).await;
    clinic.github.remove_hooks();
    clinic.pve.set_password("root@pam", PASSWORD);
    (clinic, Person::new())
}

/// `init --create-app` with these flags, to which the person agrees in a browser; all of its flags, and what it said.
async fn app_made(clinic: &Clinic, person: &Person, town: &Town, more: &[&str]) -> (Vec<String>, Program) {
    let (password, ca) = (person.file("password", PASSWORD), person.file("ci.pem", clinic.authority.pem()));
    let ci = format!("{}/acme", clinic.github_url);
    let apply = ["--apply", "--admin-password-file", &password];
    let app = ["--ci", &ci, "--platform", "github", "--create-app", "--ci-ca-file", &ca];
    let flags = person.flags(clinic, &[&apply[..], &app, &town.flags(), more].concat());
    let program = Program::start(&person.command(&flags.iter().map(String::as_str).collect::<Vec<_>>()));
    Browser::new(clinic).agree_to(&program).await;
    assert_eq!(program.wait(SOON).await.code(), Some(0), "{}", program.output());
    (flags, program)
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_of_a_new_app_lead_to_the_source() {
    let (clinic, person) = newcomer().await;
    let town = Town::new(&person).await;
    let (_, program) = app_made(&clinic, &person, &town, &["--webhook-url", "https://hooks.example.com"]).await;
    let uid = town.objects::<RunnerSource>().get("github").await.unwrap().metadata.uid.unwrap();
    let told = format!("Webhooks of the App lead to https://hooks.example.com/webhooks/{uid}.");
    assert!(program.output().contains(&told), "{}", program.output());

    let loopback = || AddressPolicy { allow: vec!["127.0.0.0/8".parse().unwrap()], deny: Vec::new() };
    let chart = examine(&Means {
        client: town.single.admin(),
        namespace: Some("default".to_owned()),
        home: NAMESPACE.to_owned(),
        advertise: None,
        sight: Sight { hypervisors: loopback(), platforms: loopback(), clock: Clock::system() },
    })
    .await;
    let led = format!("the webhook to https://hooks.example.com/webhooks/{uid} is there");
    assert!(chart.passed().iter().any(|passed| passed.what.contains(&led)), "{:#?}", chart.findings());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_to_make_a_webhook_is_told_how() {
    let clinic = Clinic::new(Release::V9).await;
    let person = Person::new();
    let (token, ca) = (person.file("pat", PERSONAL_TOKEN), person.file("ci.pem", clinic.authority.pem()));
    let ci = format!("{}/acme", clinic.github_url);
    let platform = ["--ci", &ci, "--platform", "github", "--ci-ca-file", &ca, "--ci-token-file", &token];
    let hook = ["--webhook-url", "https://hooks.example.com/"];
    let run = person.apply(&clinic, &[&platform[..], &hook].concat()).await;
    assert_eq!(run.code, 0, "{}", run.output);
    for words in [
        "https://hooks.example.com and, behind it",
        "kubectl -n default get runnersource github -o jsonpath='{.status.webhookPath}'",
        "entry webhook-secret of Secret ci-credentials",
        "application/json",
        "Workflow jobs",
    ] {
        assert!(run.output.contains(words), "{words}: {}", run.output);
    }
    let secret = person.entry("ci-credentials", "webhook-secret");
    assert!(secret.len() == 40 && !run.output.contains(&secret), "{}", run.output);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_is_not_there_is_said_before_a_token_is_made() {
    let clinic = Clinic::new(Release::V9).await;
    let person = Person::new();
    let town = Town::new(&person).await;
    let (rights, blocked) = (clinic.pve.rights(), person.file("blocked", ""));
    let nowhere = ["--apply-manifests", "-n", "ci", "--kubeconfig", &town.kubeconfig];
    let within = format!("{blocked}/setup");
    for (more, says) in [
        (&nowhere[..], "--namespace: there is no namespace ci: kubectl create namespace ci"),
        (&["--output", &within], "error: --output: "),
    ] {
        let run = person.apply(&clinic, more).await;
        assert_eq!(run.code, 1, "{}", run.output);
        assert!(run.output.contains(says), "{}", run.output);
        assert_eq!(clinic.pve.rights(), rights, "{more:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_our_kinds_nothing_is_made() {
    let clinic = Clinic::new(Release::V9).await;
    let person = Person::new();
    let town = Town::new(&person).await;
    let definitions: Api<CustomResourceDefinition> = Api::all(town.single.admin());
    let name = "runnersources.hypervisor.hyperfleet.io";
    definitions.delete(name, &DeleteParams::default()).await.unwrap();
    eventually("it is gone", SOON, async || definitions.get_opt(name).await.unwrap().is_none().then_some(())).await;
    let rights = clinic.pve.rights();
    let run = person.apply(&clinic, &town.flags()).await;
    assert_eq!(run.code, 1, "{}", run.output);
    assert!(run.output.contains("the cluster has no RunnerSource: hyperfleet crds"), "{}", run.output);
    assert_eq!(clinic.pve.rights(), rights);
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_for_an_app_that_was_made_without() {
    let (clinic, person) = newcomer().await;
    let town = Town::new(&person).await;
    let (flags, _) = app_made(&clinic, &person, &town, &[]).await;
    let mut flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    flags.extend(["--webhook-url", "https://hooks.example.com"]);
    let run = person.run(&flags).await;
    assert_eq!(run.code, 1, "{}", run.output);
    let settings = format!("{}/organizations/acme/settings/apps/simulated", clinic.github_url);
    for words in [&format!("{settings}/permissions"), "Workflow job", "https://hooks.example.com/webhooks/"] {
        assert!(run.output.contains(words), "{words}: {}", run.output);
    }
    assert!(town.objects::<RunnerSource>().get("github").await.unwrap().spec.webhook.is_none());

    // A person does so, with a secret of their own.
    clinic.github.subscribe_app(&["workflow_job"]);
    let heard: Arc<Mutex<Vec<http::Request<Bytes>>>> = Arc::default();
    let told = Arc::clone(&heard);
    let receiver = Receiver::function(move |request| {
        told.lock().unwrap().push(request);
        async { Some(202) }.boxed()
    });
    clinic.github.add_hook(HookOwner::App, "https://hooks.example.com/webhooks/", "typed by hand", receiver);
    let run = person.run(&flags).await;
    assert_eq!(run.code, 0, "{}", run.output);
    let uid = town.objects::<RunnerSource>().get("github").await.unwrap().metadata.uid.unwrap();
    let told = format!("Webhooks of the App lead to https://hooks.example.com/webhooks/{uid}.");
    assert!(run.output.contains(&told), "{}", run.output);

    clinic.github.queue(REPOSITORY, &[JobSpec::new("build", &["ubuntu-latest"])]).unwrap();
    let delivery = eventually("a delivery comes", SOON, async || heard.lock().unwrap().pop()).await;
    let secret = town.objects::<Secret>().get("ci-credentials").await.unwrap().data.unwrap();
    let secret = SecretString::from(String::from_utf8(secret["webhook-secret"].0.clone()).unwrap());
    let settings = Settings {
        site: Site::parse("https://github.com").unwrap(),
        scope: Scope::Organization("acme".to_owned()),
        credentials: Credentials::Token("unused".into()),
        group: None,
        sessions: false,
        budget: None,
        now: Arc::new(|| Clock::system().now()),
    };
    let service = clinic.github.service();
    let github = GitHub::new(settings, Arc::new(move |_: &str| Ok(Client::over("github", service.clone())))).unwrap();
    let signed = github.verify(delivery.headers(), delivery.body(), &[secret]);
    assert!(signed.is_ok(), "it is signed with what the source knows: {:?}", delivery.headers());
}
