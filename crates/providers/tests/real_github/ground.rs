//! Programs that speak GitHub, and our client of them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use providers::attestor::{self, Attested, Expected, Shown};
use providers::http::{AddressPolicy, Call, Client, Endpoint, Trust};
use providers::platform::github::{Connect, Credentials, GitHub, Scope, Settings, Site};
use providers::platform::{Batch, RunnerOrder, Session, SessionOrder};
use serde_json::Value;
use sim::Clock;
use testenv::Program;

/// How long anything may take to start, or to happen.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Where a program listens, and whom to believe there.
pub(crate) struct Ground {
    pub(crate) program: Program,
    pub(crate) web: String,
    pub(crate) trust: Trust,
}

impl Ground {
    /// Starts a program that says where it listens after `words`.
    pub(crate) async fn start(command: &Command, words: &str) -> Self {
        let program = Program::start(command);
        let line = program.wait_for_line(words, PATIENCE).await;
        let web = line.trim_start_matches(words).split(',').next().unwrap().to_owned();
        Self { program, web, trust: Trust::System }
    }

    fn reach(&self, trust: &Trust) -> Client {
        let endpoint = Endpoint::https_or_plain(&self.web, trust.clone(), AddressPolicy::anywhere()).unwrap();
        Client::connect("github", &endpoint).unwrap()
    }

    /// Our client of it, under this address: whichever host that means, it is here.
    pub(crate) fn github(&self, address: &str, scope: Scope, credentials: Credentials, wishes: Wishes) -> GitHub {
        let Wishes { sessions, group, trust } = wishes;
        let clock = Clock::system();
        let settings = Settings {
            site: Site::parse(address).unwrap(),
            scope,
            credentials,
            group: group.map(str::to_owned),
            sessions,
            budget: None,
            now: Arc::new(move || clock.now()),
        };
        let client = self.reach(&trust.unwrap_or_else(|| self.trust.clone()));
        let connect: Connect = Arc::new(move |_| Ok(client.clone()));
        GitHub::new(settings, connect).unwrap()
    }

    /// Makes something happen there.
    pub(crate) async fn control(&self, method: Method, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let call = Call {
            method,
            route: "/",
            subject: "control".to_owned(),
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body,
            timeout: PATIENCE,
        };
        let answer = self.reach(&self.trust).send(call).await.unwrap();
        assert!(answer.status.is_success(), "{path}: {} {:?}", answer.status, answer.body);
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }
}

/// What else is wanted of a client.
#[derive(Default)]
pub(crate) struct Wishes {
    pub(crate) sessions: bool,
    pub(crate) group: Option<&'static str>,
    pub(crate) trust: Option<Trust>,
}

/// A program of this workspace, beside our own.
pub(crate) fn beside(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let path = own.parent().and_then(Path::parent).unwrap().join(name);
    assert!(path.exists(), "{name} is not built: run `cargo build -p hyperfleet-sim` first");
    path
}

/// A program that `make tools` builds.
pub(crate) fn tool(name: &str) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hack/tools.sh");
    let output = Command::new("bash").arg(script).args(["--path", name]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    assert!(path.is_file(), "{name} is not at {}: run `make tools`", path.display());
    path
}

pub(crate) fn queue(name: &str, holder: &str) -> SessionOrder {
    SessionOrder { name: name.to_owned(), labels: vec![name.to_owned()], holder: holder.to_owned() }
}

pub(crate) fn order(number: usize, session: Option<SessionOrder>) -> RunnerOrder {
    let (name, machine) = (format!("hf-5e3c1b6a-{number}"), format!("5e3c1b6a-0000-4000-8000-{number:012}"));
    RunnerOrder { name, labels: vec!["self-hosted".to_owned(), "kit".to_owned()], session, machine }
}

/// A machine that has proven itself.
pub(crate) fn proven(machine: &str) -> Attested {
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let expected = Expected { token_hash: hash, key_hash: hash, machine };
    attestor::join_token(&expected, &Shown { token_hash: hash, key_hash: hash, machine }).unwrap()
}

/// The next message with jobs in it; everything is acknowledged.
pub(crate) async fn news<S: Session>(session: &mut S) -> Batch {
    for _ in 0..60 {
        let batch = session.next(1).await.unwrap();
        if let Some(message) = batch.message {
            session.acknowledge(message).await.unwrap();
            if !batch.jobs.is_empty() {
                return batch;
            }
        }
    }
    panic!("nothing came");
}
