//! `hyperfleet doctor` as a person runs it: flags, output and exit code.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use operator::single::NAMESPACE;
use serde_json::{Value, json};
use sim::github::PERSONAL_TOKEN;
use sim::proxmox::Release;

use crate::clinic::{Clinic, HOME};
use crate::person::Person;
use crate::town::Town;

/// What a run of the doctor said, and how it ended.
struct Seen {
    code: i32,
    output: String,
}

async fn doctor(person: &Person, kubeconfig: &str, more: &[&str]) -> Seen {
    let loopback = ["--hypervisor-allowed-addresses=127.0.0.0/8", "--platform-allowed-addresses=127.0.0.0/8"];
    let place = ["doctor", "-n", "default", "--kubeconfig", kubeconfig];
    let mut command = person.command(&[&place[..], &loopback, more].concat());
    let ended = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    Seen { code: ended.status.code().unwrap_or(-1), output: String::from_utf8(ended.stdout).unwrap() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_says_by_its_exit_code_how_a_set_up_is() {
    let (clinic, person) = (Clinic::new(Release::V9).await, Person::new());
    let town = Town::new(&person).await;
    let (token, ca) = (person.file("pat", PERSONAL_TOKEN), person.file("ci.pem", clinic.authority.pem()));
    let ci = format!("{}/acme", clinic.github_url);
    let platform = ["--ci", &ci, "--platform", "github", "--ci-ca-file", &ca, "--ci-token-file", &token];
    let run = person.apply(&clinic, &[&town.flags()[..], &platform].concat()).await;
    assert_eq!(run.code, 0, "{}", run.output);

    let unknown = doctor(&person, &town.kubeconfig, &[]).await;
    assert_eq!(unknown.code, 2, "{}", unknown.output);
    assert!(unknown.output.contains("unknown  bootstrap.advertise: not known here"), "{}", unknown.output);

    // What machines trust, and where the clinic's door shows it.
    let authority: Api<Secret> = Api::namespaced(clinic.client.clone(), HOME);
    let mut secret = authority.get(operator::bootstrap::AUTHORITY).await.unwrap();
    secret.metadata = kube::core::ObjectMeta { name: secret.metadata.name, ..Default::default() };
    let secrets: Api<Secret> = Api::namespaced(town.single.admin(), NAMESPACE);
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    let door = clinic.advertise.lock().unwrap().clone().unwrap();
    let flag = format!("--bootstrap-advertise={door}");
    let well = doctor(&person, &town.kubeconfig, &[&flag, "-o", "json"]).await;
    let told: Value = serde_json::from_str(&well.output).unwrap();
    assert_eq!((well.code, &told["exitCode"], &told["version"]), (0, &json!(0), &json!(1)), "{told:#}");
    assert_eq!((&told["namespace"], &told["summary"]["broken"]), (&json!("default"), &json!(0)));
    let passed = told["passed"].as_array().unwrap();
    assert!(passed.iter().any(|passed| passed["check"] == "advertise" && passed["object"] == "bootstrap.advertise"));
    let all = doctor(&person, &town.kubeconfig, &[&flag, "-v"]).await;
    assert!(all.code == 0 && all.output.contains("ok       bootstrap.advertise"), "{}", all.output);

    let broken = doctor(&person, &town.kubeconfig, &["--bootstrap-advertise=https://127.0.0.1:8444"]).await;
    assert_eq!(broken.code, 1, "{}", broken.output);
    assert!(broken.output.contains("WRONG    bootstrap.advertise"), "{}", broken.output);
    assert!(broken.output.contains("a VM that calls it calls itself"), "{}", broken.output);

    let nowhere = doctor(&person, &person.path("nothing"), &[]).await;
    assert_eq!(nowhere.code, 2, "{}", nowhere.output);
}
