//! The Gitea server itself: it starts in seconds, keeps to its directory, and survives a crash.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use testenv::{Gitea, eventually};

#[tokio::test]
async fn a_gitea_has_its_version_and_keeps_its_repositories_through_a_crash() {
    let gitea = Gitea::start().await;
    let version = gitea.call(Method::GET, "/version", &Value::Null).await;
    let pinned =
        include_str!("../../../tools/gitea/go.mod").lines().find_map(|line| line.split("code.gitea.io/gitea v").nth(1));
    assert_eq!(version["version"].as_str(), pinned.and_then(|rest| rest.split(' ').next()));
    let repository = gitea.repository("fleet", "demo", true).await;
    gitea
        .workflow(&repository, "ci.yml", "on: workflow_dispatch\njobs: {a: {runs-on: x, steps: [{run: 'true'}]}}\n")
        .await;
    let run = gitea.dispatch(&repository, "ci.yml").await;
    gitea.restart().await;
    assert_eq!(gitea.unfinished_runs(&repository).await, [run]);
    gitea.cancel(&repository, run).await;
    assert_eq!(gitea.unfinished_runs(&repository).await, [0_u64; 0]);
    let seen = gitea.call(Method::GET, &format!("/repos/{repository}"), &Value::Null).await;
    assert_eq!(seen["private"], json!(true));
}

#[tokio::test]
async fn a_push_over_tls_starts_what_it_adds() {
    let gitea = Gitea::start_secure(Duration::from_mins(10)).await;
    assert!(gitea.url().starts_with("https://"));
    let repository = gitea.repository("fleet", "demo", true).await;
    gitea.push(&repository, "ci.yml", "on: push\njobs: {a: {runs-on: x, steps: [{run: 'true'}]}}\n");
    eventually("the push has begun a run", Duration::from_secs(30), async || {
        (gitea.unfinished_runs(&repository).await.len() == 1).then_some(())
    })
    .await;
}
