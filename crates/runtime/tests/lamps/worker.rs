//! The lamp operator as a real process.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::Api;
use testenv::{Program, eventually, free_port};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::room::Room;

/// One replica: a process, and the port of its health server.
pub struct Worker {
    pub program: Program,
    pub health: u16,
}

/// The program that `cargo test` builds beside the tests.
fn executable() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples/lamps");
    assert!(
        path.exists(),
        "{} is missing: build it with `cargo build --examples -p hyperfleet-runtime`",
        path.display()
    );
    path
}

impl Worker {
    /// Starts a replica called `name`, with `flags` and `environment` beside what every test wants.
    pub fn start(room: &Room<'_>, name: &str, flags: &[&str], environment: &[(&str, &str)]) -> Self {
        let health = free_port().unwrap();
        let mut command = Command::new(executable());
        command
            .env("KUBECONFIG", room.plane.kubeconfig_for(&room.account))
            .env("HOSTNAME", name)
            .env("LOG_LEVEL", "DEBUG")
            .env("WATCH_NAMESPACES", &room.namespace)
            .env("POD_NAMESPACE", &room.namespace)
            .arg(format!("--health-probe-bind-address=127.0.0.1:{health}"))
            .arg("--metrics-bind-address=0")
            .args(flags)
            .envs(environment.iter().copied());
        Self { program: Program::start(&command), health }
    }

    /// A replica that takes part in an election with a lease of three seconds.
    pub fn candidate(room: &Room<'_>, name: &str, environment: &[(&str, &str)]) -> Self {
        let flags = [
            "--leader-elect=true",
            "--leader-election-lease-duration=3s",
            "--leader-election-renew-deadline=2s",
            "--leader-election-retry-period=1s",
        ];
        Self::start(room, name, &flags, environment)
    }

    /// Status code and body of a page of the health server; nothing while it does not answer.
    pub async fn page(&self, path: &str) -> Option<(u16, String)> {
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", self.health)).await.ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        let code = answer.split(' ').nth(1)?.parse().ok()?;
        Some((code, answer.split_once("\r\n\r\n")?.1.to_owned()))
    }

    /// Waits until `/readyz` answers with this code and a body that contains `words`.
    pub async fn readiness(&self, code: u16, words: &str) {
        eventually(&format!("/readyz says {code} with {words:?}"), Duration::from_secs(40), async || {
            let (status, body) = self.page("/readyz").await?;
            (status == code && body.contains(words)).then_some(())
        })
        .await;
    }
}

/// The Lease of the room's replicas.
pub async fn lease(room: &Room<'_>) -> Option<LeaseSpec> {
    let leases: Api<Lease> = Api::namespaced(room.plane.client(), &room.namespace);
    leases.get_opt("lamps").await.unwrap()?.spec
}

/// Who holds the Lease, by the name its replica was started with.
pub async fn holder(room: &Room<'_>) -> Option<String> {
    let identity = lease(room).await?.holder_identity?;
    identity.split_once('_').map(|(name, _)| name.to_owned())
}

/// Waits until somebody else than `former` leads; who it is.
pub async fn successor(room: &Room<'_>, former: &str) -> String {
    eventually(&format!("somebody else than {former} leads"), Duration::from_mins(1), async || {
        holder(room).await.filter(|holder| !holder.is_empty() && holder != former)
    })
    .await
}
