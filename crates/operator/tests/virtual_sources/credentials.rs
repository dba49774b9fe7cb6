//! Credentials come, go and change while everything runs.

use serde_json::json;
use sim::github::{FaultKind, FaultRule, PERSONAL_TOKEN};
use sim::world::World;

use crate::office::{Office, SECRETS};

const SCOPES: &[&str] = &["repo", "admin:org", "admin:org_hook", "admin:repo_hook"];

#[test]
fn a_source_without_its_secret_says_so_and_works_once_it_is_there() {
    World::run(1, async |world| {
        let office = Office::new(&world, &["operator"]).await;
        office.source("ci", "poll", |_| {}).await;
        office.pool("gpu", &["gpu"]).await;
        office.pass(10).await;
        let (status, reason, message) = office.ready("ci").await;
        assert_eq!((status.as_str(), reason.as_str()), ("False", "CredentialsMissing"));
        assert!(message.contains("Secret ci does not exist in namespace default"), "{message}");
        office.secret("ci", PERSONAL_TOKEN).await;
        office.queue(1);
        office.pass(400).await;
        assert_eq!(office.ready("ci").await.0, "True");
        assert_eq!(office.jobs().await.len(), 1);
    });
}

#[test]
fn a_token_that_is_renewed_is_used_without_a_restart() {
    World::run(2, async |world| {
        let office = Office::with_source(&world, &["operator"], "poll").await;
        office.github.add_token("ghp_new", "octocat", SCOPES);
        assert!(office.github.revoke(PERSONAL_TOKEN));
        office.queue(2);
        office.pass(200).await;
        let (status, reason, message) = office.ready("ci").await;
        assert_eq!((status.as_str(), reason.as_str()), ("False", "AuthenticationFailed"), "{message}");
        assert!(!message.contains(PERSONAL_TOKEN));
        let change = json!({ "stringData": { "token": "ghp_new" } });
        office.person.merge(&format!("{SECRETS}/ci"), &change).await.unwrap();
        office.pass(400).await;
        assert_eq!(office.ready("ci").await.0, "True");
        assert_eq!(office.jobs().await.len(), 2);
    });
}

#[test]
fn a_platform_that_does_not_answer_is_said_to_be_unreachable_and_forgives() {
    World::run(3, async |world| {
        let office = Office::with_source(&world, &["operator"], "poll").await;
        let down = FaultRule { times: Some(0), status: Some(503), ..FaultRule::new(FaultKind::Answer) };
        office.github.set_faults(vec![down]);
        office.pass(900).await;
        assert_eq!(office.ready("ci").await.1, "PlatformUnreachable");
        assert!(office.figure("operator", &["hyperfleet_source_up", "default/ci"]) < 1.0);
        office.github.set_faults(Vec::new());
        office.queue(1);
        office.pass(700).await;
        assert_eq!((office.ready("ci").await.0.as_str(), office.jobs().await.len()), ("True", 1));
    });
}
