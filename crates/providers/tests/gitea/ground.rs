//! An organization of a test's own at the server that the tests of this program share.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use providers::http::{AddressPolicy, Call, Client, Endpoint, TransportError, Trust};
use providers::platform::gitea::{Gitea, GiteaScope, GiteaSettings};
use providers::platform::kit::Trouble;
use providers::platform::{Job, JobState, Platform};
use serde_json::Value;
use testenv::{Stopwatch, eventually};
use tokio::sync::OnceCell;

use crate::receiver::Receiver;

pub(crate) const SECRET: &str = "a secret of the hook";
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// Ends with this program; each test has an organization at it.
static SERVER: OnceCell<testenv::Gitea> = OnceCell::const_new();

/// A repository, a platform that serves its organization, and what that sends.
pub(crate) struct Ground {
    pub(crate) server: &'static testenv::Gitea,
    pub(crate) platform: Gitea,
    pub(crate) receiver: Receiver,
    pub(crate) repository: String,
    pub(crate) trouble: Arc<Mutex<Option<Trouble>>>,
}

impl Ground {
    pub(crate) async fn new(organization: &str) -> Self {
        let server = SERVER.get_or_init(testenv::Gitea::start).await;
        let repository = server.repository(organization, "demo", true).await;
        let receiver = Receiver::start().await;
        server.hook(&format!("orgs/{organization}"), receiver.url(), SECRET).await;
        let trouble = Arc::default();
        let narrow = server.token_for(organization, &["read:organization"]).await;
        let settings = GiteaSettings {
            url: server.url().to_owned(),
            scope: GiteaScope::Organization(organization.to_owned()),
            token: server.token().into(),
        };
        let platform = Gitea::new(&settings, client(server.url(), narrow, Arc::clone(&trouble)));
        Self { server, platform: platform.expect("the settings are right"), receiver, repository, trouble }
    }

    /// Starts a job that runs until there is a file `finish` in the home directory of its runner.
    pub(crate) async fn queue(&self, labels: &[String]) -> u64 {
        let file = format!("{}.yml", labels.join("-"));
        let there = format!("/repos/{}/git/trees/main?recursive=true", self.repository);
        let tree = self.server.call(Method::GET, &there, &Value::Null).await;
        let known = tree.to_string().contains(&format!("workflows/{file}\""));
        if !known {
            let text = format!(
                "on: workflow_dispatch\njobs:\n  build:\n    runs-on: [{}]\n    steps:\n      - run: |\n          \
                 for _ in $(seq 300); do [ -e \"$HOME/finish\" ] && exit 0; sleep 0.1; done; exit 1\n",
                labels.join(", ")
            );
            self.server.workflow(&self.repository, &file, &text).await;
        }
        self.server.dispatch(&self.repository, &file).await
    }

    /// The one job that waits or runs, once it is so.
    pub(crate) async fn only_job(&self, state: JobState) -> Job {
        eventually("there is one job in that state", SOON, async || {
            let snapshot = self.platform.poll(now()).await.expect("a poll");
            assert!(snapshot.complete);
            snapshot.jobs.into_iter().find(|job| job.state == state)
        })
        .await
    }
}

/// A client whose calls reach the real server, with what is arranged to go wrong on the way.
fn client(url: &str, narrow: String, trouble: Arc<Mutex<Option<Trouble>>>) -> Client {
    let endpoint = Endpoint::https_or_plain(url, Trust::Insecure, AddressPolicy::anywhere()).expect("a URL");
    let real = Client::connect("gitea", &endpoint).expect("loopback is allowed");
    let service = tower::service_fn(move |mut request: Request<Full<Bytes>>| {
        let (real, trouble) = (real.clone(), trouble.lock().expect("nobody panics with it").clone());
        let narrow = narrow.clone();
        async move {
            let registers = request.uri().path().ends_with("/Register");
            let stranger = match &trouble {
                Some(Trouble::RefusedCredential) => Some("token nobodys".to_owned()),
                Some(Trouble::MissingPermission) => Some(format!("token {narrow}")),
                Some(Trouble::LostMintAnswer | Trouble::RateLimited(_) | Trouble::FailingDeliveries) | None => None,
            };
            if let Some(stranger) = stranger {
                request.headers_mut().insert("authorization", stranger.parse().expect("a header"));
            }
            if matches!(trouble, Some(Trouble::RateLimited(_))) {
                // What a proxy before the server answers: Gitea itself has no limits.
                let refused = Response::builder().status(429).header("retry-after", "1").body(Full::default());
                return Ok(refused.expect("an answer"));
            }
            let answer = forward(&real, request).await?;
            if registers && trouble == Some(Trouble::LostMintAnswer) {
                return Err(TransportError::Interrupted { detail: "on purpose".to_owned() });
            }
            Ok::<_, TransportError>(answer)
        }
    });
    Client::over("gitea", service)
}

async fn forward(real: &Client, request: Request<Full<Bytes>>) -> Result<Response<Full<Bytes>>, TransportError> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.expect("it is all there").to_bytes();
    let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let (route, subject, timeout) = ("/", String::new(), SOON);
    let call = Call { method: head.method, route, subject, path, headers: head.headers, body, timeout };
    let answer = real.send(call).await?;
    let mut response = Response::new(Full::new(answer.body));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    Ok(response)
}

/// Waits in real time until it is so; panics when it takes too long.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool + Send) {
    let watch = Stopwatch::start();
    while !holds() {
        assert!(watch.elapsed() < SOON, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "the server lives in real time")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
