//! Registrations that no claim has.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::json;
use sim::github::PERSONAL_TOKEN;
use sim::world::World;
use tower::ServiceExt as _;

use crate::office::Office;

async fn register(office: &Office, name: &str) {
    let body = json!({ "name": name, "runner_group_id": 1, "labels": ["gpu"] }).to_string();
    let request = Request::post("https://api.github.com/orgs/acme/actions/runners/generate-jitconfig")
        .header("authorization", format!("Bearer {PERSONAL_TOKEN}"))
        .header("user-agent", "test")
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    let answer = office.github.service().oneshot(request).await.unwrap();
    assert_eq!(answer.status(), 201);
}

fn names(office: &Office) -> Vec<String> {
    office.github.runners().into_iter().map(|runner| runner.name).collect()
}

#[test]
fn class_6_11_registrations_of_ours_without_a_claim_go_and_others_stay() {
    World::run(1, async |world| {
        let office = Office::with_source(&world, &["operator"], "poll").await;
        register(&office, "hf-01234567-gpu-dead").await;
        register(&office, "hf-76543210-gpu-anothers").await;
        register(&office, "by-hand").await;
        office.pass(9 * 60).await;
        assert_eq!(names(&office).len(), 3, "not before ten minutes");
        office.pass(20 * 60).await;
        assert_eq!(names(&office), ["hf-76543210-gpu-anothers", "by-hand"]);
        assert!(office.figure("operator", &["registrations_swept_total", "removed"]) >= 1.0);
    });
}
