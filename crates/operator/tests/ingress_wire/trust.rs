//! Platforms with a certificate of a private authority.

use std::sync::Arc;
use std::time::Duration;

use api::RunnerSource;
use api::condition::find;
use chassis::health::Health;
use chassis::metrics::Metrics;
use chassis::{Clock, Tasks};
use fleet::source::{self, Observed};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use operator::outpost::{Means, Outposts, over_the_network};
use providers::http::{AddressPolicy, Unmetered};
use runtime::{Cache, Key, Leadership, Parts, Selection};
use serde_json::{Value, json};
use sim::github::{Options, PERSONAL_TOKEN, Server, Simulator};
use sim::proxmox::{Authority, Transport};

/// A GitHub whose authority nobody knows, and who tells what is known of it.
struct Post {
    client: Client,
    outposts: Outposts,
    authority: Arc<Authority>,
    url: String,
    clock: Clock,
    tasks: Tasks,
}

impl Post {
    async fn new() -> Self {
        let (clock, tasks) = (Clock::system(), Tasks::new());
        let github = Simulator::new(Options::new(clock), &tasks);
        let authority = Arc::new(Authority::new(&["127.0.0.1"]).unwrap());
        let transport = Transport::Tls(Arc::clone(&authority));
        let server = Server::start(&github, "127.0.0.1:0".parse().unwrap(), transport).await.unwrap();
        let client = crate::cluster().await;
        let parts = Parts { clock, tasks: tasks.clone(), health: Health::new(), metrics: Metrics::new("test") };
        let sources: Cache<RunnerSource> = Cache::spawn(&Selection::default(), &client, &parts);
        let outposts = Outposts::spawn(Means {
            parts: &parts,
            client: &client,
            leadership: &Leadership::always(),
            dial: over_the_network(AddressPolicy::anywhere(), Arc::new(Unmetered)),
            sources: &sources,
            instance: "test",
            home: None,
        });
        Self { client, outposts, authority, url: server.web().to_owned(), clock, tasks }
    }

    /// A source with a Secret of its own that holds this as its authority.
    async fn source(&self, name: &str, tls: Option<Value>, authority: &str) {
        let secrets: Api<Secret> = Api::default_namespaced(self.client.clone());
        let secret =
            json!({ "metadata": { "name": name }, "stringData": { "token": PERSONAL_TOKEN, "ca.crt": authority } });
        secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
        let mut source = json!({
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "RunnerSource", "metadata": { "name": name },
            "spec": {
                "platform": "github", "url": self.url, "demand": { "mode": "poll" },
                "github": {
                    "scope": { "organization": "acme" }, "credentials": { "pat": { "name": name, "key": "token" } },
                },
            },
        });
        if let Some(tls) = tls {
            source["spec"]["tls"] = tls;
        }
        let sources: Api<RunnerSource> = Api::default_namespaced(self.client.clone());
        sources.create(&PostParams::default(), &serde_json::from_value(source).unwrap()).await.unwrap();
    }

    /// Waits until a source's condition has this reason; its message.
    async fn message(&self, name: &str, reason: &str) -> String {
        let (key, sources) = (Key::new("default", name), Api::<RunnerSource>::default_namespaced(self.client.clone()));
        let source = Arc::new(sources.get(name).await.unwrap());
        let found = async {
            loop {
                let (login, link) = self.outposts.seen(&key).await;
                let (pools, claims, period) = (Vec::new(), Vec::new(), Duration::from_mins(5));
                let observed = Observed { source: Arc::clone(&source), login, link, pools, claims, period };
                let status = source::plan(&observed, self.clock.now()).status.unwrap();
                let ready = find(&status.conditions, api::ConditionType::Ready);
                if let Some(ready) = ready.filter(|ready| ready.reason == reason) {
                    return ready.message.clone();
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), found)
            .await
            .unwrap_or_else(|_| panic!("{name} is never {reason}"))
    }
}

fn named(secret: &str) -> Option<Value> {
    Some(json!({ "caCertificate": { "name": secret, "key": "ca.crt" } }))
}

#[tokio::test]
async fn a_platform_of_a_private_authority_is_believed_by_what_the_source_names() {
    let post = Post::new().await;
    let (right, other) = (post.authority.pem().to_owned(), Authority::new(&["127.0.0.1"]).unwrap());
    post.source("unsaid", None, &right).await;
    post.source("right", named("right"), &right).await;
    post.source("pinned", Some(json!({ "fingerprint": post.authority.fingerprint() })), &right).await;
    post.source("garbled", named("garbled"), "no certificate").await;
    post.source("wrong", named("wrong"), other.pem()).await;
    for believed in ["right", "pinned"] {
        post.message(believed, "PlatformReachable").await;
    }
    let garbled = post.message("garbled", "CredentialsInvalid").await;
    assert!(garbled.contains("spec.tls.caCertificate: entry ca.crt of Secret garbled"), "{garbled}");
    for name in ["unsaid", "wrong"] {
        let told = post.message(name, "TLSVerificationFailed").await;
        assert!(told.contains("certificate is not trusted") && told.contains("spec.tls.caCertificate"), "{told}");
    }

    // The authority is put right, and whoever hears of it asks for a look.
    let secrets: Api<Secret> = Api::default_namespaced(post.client.clone());
    let put = json!({ "stringData": { "ca.crt": right } });
    secrets.patch("wrong", &PatchParams::default(), &Patch::Merge(put)).await.unwrap();
    post.outposts.poke(&Key::new("default", "wrong"));
    post.message("wrong", "PlatformReachable").await;
    post.tasks.shutdown(Duration::from_secs(10)).await.unwrap();
}
