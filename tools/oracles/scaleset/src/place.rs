//! Where the simulated GitHub is, and how it is made to do something.

use std::process::Stdio;
use std::time::Duration;

use reqwest::{Certificate, Method};
use scaleset::{Client, Credentials, ExposeSecret, JitRunnerConfig, RetryPolicy, http_client_builder};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

/// A simulated GitHub.
pub struct Place {
    web: String,
    authority: String,
    http: reqwest::Client,
}

/// The value of a variable that must be set.
pub fn set(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

impl Place {
    /// The one that the environment names.
    pub fn of_environment() -> Self {
        let authority = set("GITHUB_CA_FILE");
        let pem = std::fs::read(&authority).expect("read GITHUB_CA_FILE");
        let trusted = Certificate::from_pem(&pem).expect("a certificate in GITHUB_CA_FILE");
        let http = http_client_builder().tls_certs_only([trusted]).build().expect("build a client");
        Self { web: set("GITHUB_WEB"), authority, http }
    }

    /// The client for whatever has this page, as the App that is installed there.
    pub fn app(&self, page: &str) -> Client {
        let key = std::fs::read_to_string(set("GITHUB_APP_KEY_FILE")).expect("read GITHUB_APP_KEY_FILE");
        let installation = set("GITHUB_INSTALLATION").parse().expect("a number in GITHUB_INSTALLATION");
        self.client(page, Credentials::github_app(set("GITHUB_CLIENT_ID"), installation, &key).expect("an App"))
    }

    /// The same with a person's token.
    pub fn person(&self, page: &str, token: &str) -> Client {
        self.client(page, Credentials::personal_access_token(token).expect("a token"))
    }

    fn client(&self, page: &str, credentials: Credentials) -> Client {
        let quick = RetryPolicy::default().min_wait(Duration::from_millis(10)).max_wait(Duration::from_millis(100));
        let builder = Client::builder(format!("{}/{page}", self.web), credentials);
        builder.http_client(self.http.clone()).retry_policy(quick).build().expect("a client")
    }

    /// Somebody queues a run of these jobs; the numbers of the jobs.
    pub async fn queue(&self, label: &str, jobs: usize, seconds: f64) -> Vec<i64> {
        let job = |number| json!({ "name": format!("job {number}"), "labels": [label], "seconds": seconds });
        let jobs: Vec<Value> = (0..jobs).map(job).collect();
        let queued = self.control(Method::POST, "runs", &json!({ "jobs": jobs })).await;
        let queued = queued["jobs"].as_array().expect("the jobs' numbers").iter();
        queued.map(|number| number.as_i64().expect("a number")).collect()
    }

    /// Something goes wrong once from now on.
    pub async fn fault(&self, kind: &str) {
        self.control(Method::PUT, "faults", &json!([{ "kind": kind }])).await;
    }

    async fn control(&self, method: Method, path: &str, body: &Value) -> Value {
        let request = self.http.request(method, format!("{}/sim/{path}", self.web)).body(body.to_string());
        let answer = request.send().await.expect("reach the simulator").error_for_status().expect("have it done");
        serde_json::from_slice(&answer.bytes().await.expect("a whole answer")).expect("an answer in JSON")
    }

    /// A runner with this configuration.
    pub fn run(&self, configuration: &JitRunnerConfig) -> Child {
        let mut runner = Command::new(set("GITHUB_RUNNER"));
        runner.args(["runner", "run"]).env("SSL_CERT_FILE", &self.authority).stdout(Stdio::null());
        runner.env("ACTIONS_RUNNER_INPUT_JITCONFIG", configuration.encoded_jit_config.expose_secret());
        runner.kill_on_drop(true).spawn().expect("start a runner")
    }
}
