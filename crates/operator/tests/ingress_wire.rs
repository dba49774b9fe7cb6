//! What goes over the network between us and CI platforms: deliveries, from senders that keep to nothing, and our own
//! calls.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "ingress_wire/tls.rs"]
mod tls;
#[path = "ingress_wire/trust.rs"]
mod trust;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use api::{RunnerJob, RunnerSource};
use apiserver::{ApiServer, User};
use chassis::health::Health;
use chassis::metrics::Metrics;
use chassis::serve::Bind;
use chassis::{Clock, Tasks};
use hmac::{Hmac, KeyInit as _, Mac as _};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use operator::ingress::{Ingress, serve};
use operator::outpost::{Caches, Intake, Means, Outposts};
use providers::http::{Client as Http, TransportError};
use runtime::{Cache, Leadership, Parts, Selection};
use serde_json::json;
use sha2::Sha256;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const SECRET: &str = "It's a Secret to Everybody";

struct Office {
    address: SocketAddr,
    path: String,
    jobs: Api<RunnerJob>,
    tasks: Tasks,
}

impl Office {
    async fn open() -> Self {
        Self::serving(None).await
    }

    /// One that serves with the certificate in this directory.
    async fn serving(certificate: Option<&Path>) -> Self {
        let client = cluster().await;
        let (clock, tasks) = (Clock::system(), Tasks::new());
        let parts = Parts { clock, tasks: tasks.clone(), health: Health::new(), metrics: Metrics::new("test") };
        let source = source(&client).await;
        let all = Selection::default();
        let sources: Cache<RunnerSource> = Cache::spawn(&all, &client, &parts);
        let caches = Caches {
            jobs: Cache::spawn(&all, &client, &parts),
            claims: Cache::spawn(&all, &client, &parts),
            pools: Cache::spawn(&all, &client, &parts),
        };
        // Nobody is asked anything.
        let away = tower::service_fn(async |_| Err(TransportError::Unsendable));
        let outposts = Outposts::spawn(Means {
            parts: &parts,
            client: &client,
            leadership: &Leadership::always(),
            dial: Arc::new(move |provider, _, _| Ok(Http::over(provider, away))),
            sources: &sources,
            instance: "test",
            home: None,
        });
        let intake = Intake::new(&client, &parts, "ingress", "test", &caches);
        let ingress = Ingress::new(&outposts, &intake, &sources, &parts);
        sources.synced().await;
        caches.synced().await;
        let key = runtime::Key::new("default", "ci");
        while outposts.get(&key).is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let bind = Bind::At("127.0.0.1:0".parse().unwrap());
        let address = serve(bind, certificate, &ingress, &tasks).await.unwrap().unwrap();
        let path = fleet::source::webhook_path(&source).unwrap();
        Self { address, path, jobs: Api::default_namespaced(client), tasks }
    }

    /// Sends these bytes and gives the status that is answered; nothing if the connection just ends.
    async fn send(&self, bytes: &[u8]) -> Option<u16> {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // Whoever is cut off may not be able to send everything.
        let _ = stream.write_all(bytes).await;
        status(&mut stream).await
    }

    async fn count(&self) -> usize {
        self.jobs.list(&ListParams::default()).await.unwrap().items.len()
    }

    async fn close(self) {
        self.tasks.shutdown(Duration::from_secs(10)).await.unwrap();
    }
}

/// An API server with our kinds.
async fn cluster() -> Client {
    let server = ApiServer::new(apiserver::Options::in_memory(Clock::system(), [7; 32])).unwrap();
    let client = Client::new(server.door(User::admin()), "default");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for crd in api::crds() {
        definitions.create(&PostParams::default(), &crd).await.unwrap();
    }
    client
}

async fn status(stream: &mut TcpStream) -> Option<u16> {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).split(' ').nth(1)?.parse().ok()
}

/// The source, and its Secret.
async fn source(client: &Client) -> RunnerSource {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "ci" },
        "stringData": { "token": "ghp_x", "hook": SECRET },
    });
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    let key = |entry: &str| json!({ "name": "ci", "key": entry });
    let source = json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "RunnerSource", "metadata": { "name": "ci" },
        "spec": {
            "platform": "github", "url": "https://github.com",
            "github": { "scope": { "organization": "acme" }, "credentials": { "pat": key("token") } },
            "demand": { "mode": "webhook" }, "webhook": { "secret": key("hook") },
        },
    });
    let sources: Api<RunnerSource> = Api::default_namespaced(client.clone());
    sources.create(&PostParams::default(), &serde_json::from_value(source).unwrap()).await.unwrap()
}

fn event() -> String {
    json!({
        "action": "queued",
        "workflow_job": {
            "id": 1, "run_id": 1, "run_attempt": 1, "name": "build", "workflow_name": "ci", "status": "queued",
            "conclusion": null, "labels": ["self-hosted"], "runner_id": null, "runner_name": null,
            "head_branch": "main", "head_sha": "0", "created_at": "2027-01-15T08:00:00Z",
            "started_at": "2027-01-15T08:00:00Z", "completed_at": null,
            "html_url": "https://github.com/acme/widgets/actions/runs/1/job/1",
        },
        "repository": { "id": 101, "full_name": "acme/widgets", "private": true, "owner": { "login": "acme" } },
        "organization": { "login": "acme" },
        "sender": { "login": "octocat" },
    })
    .to_string()
}

/// What proves that a body is the platform's.
fn signature(body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    format!("sha256={}", providers::hex::encode(&mac.finalize().into_bytes()))
}

fn post(path: &str, body: &str, length: usize) -> Vec<u8> {
    let signature = signature(body);
    format!(
        "POST {path} HTTP/1.1\r\nhost: hooks\r\nconnection: close\r\ncontent-type: application/json\r\n\
         x-github-event: workflow_job\r\nx-github-delivery: 1\r\nx-hub-signature-256: {signature}\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

#[tokio::test]
async fn a_signed_delivery_is_stored_before_it_is_answered() {
    let office = Office::open().await;
    let body = event();
    assert_eq!(office.send(&post(&office.path, &body, body.len())).await, Some(202));
    assert_eq!(office.count().await, 1);
    assert_eq!(office.send(&post(&office.path, &body, body.len())).await, Some(202));
    assert_eq!(office.count().await, 1);
    office.close().await;
}

#[tokio::test]
async fn strangers_get_the_same_answer_whatever_they_try() {
    let office = Office::open().await;
    let body = event();
    let forged = body.replace("queued", "QUEUED");
    let mut wrong = post(&office.path, &body, body.len());
    wrong.truncate(wrong.len() - body.len());
    wrong.extend_from_slice(forged.as_bytes());
    assert_eq!(office.send(&wrong).await, Some(401));
    let elsewhere = "/webhooks/00000000-0000-4000-8000-000000000000";
    assert_eq!(office.send(&post(elsewhere, &body, body.len())).await, Some(401));
    assert_eq!(office.count().await, 0);
    office.close().await;
}

#[tokio::test]
async fn a_sender_of_too_much_is_cut_off_and_others_are_heard() {
    let office = Office::open().await;
    let long = "x".repeat(3 << 20);
    assert!(matches!(office.send(&post(&office.path, &long, long.len())).await, Some(413) | None));
    // Half a body, and nothing more: it holds one place, and nobody else waits for it.
    let mut slow = TcpStream::connect(office.address).await.unwrap();
    let body = event();
    let whole = post(&office.path, &body, body.len());
    slow.write_all(&whole[..whole.len() / 2]).await.unwrap();
    assert_eq!(office.send(&whole).await, Some(202));
    assert_eq!(status(&mut slow).await, Some(408));
    assert_eq!(office.count().await, 1);
    office.close().await;
}
