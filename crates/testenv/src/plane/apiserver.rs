//! kube-apiserver: TLS by our own authority, RBAC on, every request in an audit log.

use std::process::Command;

use anyhow::Result;

use super::home::Home;
use super::{Progress, await_start, with_free_port};
use crate::access::{Access, get_text};
use crate::assets::Tool;
use crate::guard::{Guarded, Sink};

const NAME: &str = "kube-apiserver";

/// A running API server and the command that starts it again.
pub(super) struct Apiserver {
    pub(super) program: Guarded,
    pub(super) command: Command,
}

/// Starts the API server over the etcd on `etcd_port`; returns when it is ready.
pub(super) async fn start(home: &Home, etcd_port: u16, flags: &[String]) -> Result<Apiserver> {
    let path = Tool::KubeApiserver.path()?;
    with_free_port(NAME, async |port| {
        let mut command = Command::new(&path);
        command.args(arguments(home, etcd_port, port)).args(flags);
        home.announce(&format!("https://127.0.0.1:{port}"))?;
        match launch(home, &command, &home.access()?).await? {
            (program, Progress::Up) => Ok(Some(Apiserver { program, command })),
            (_, Progress::PortTaken) => Ok(None),
        }
    })
    .await
}

/// Starts the same API server again, on its old port.
pub(super) async fn restart(home: &Home, command: &Command, access: &Access) -> Result<Guarded> {
    match launch(home, command, access).await? {
        (program, Progress::Up) => Ok(program),
        (_, Progress::PortTaken) => home.failure(NAME, "found its port taken by another program"),
    }
}

async fn launch(home: &Home, command: &Command, access: &Access) -> Result<(Guarded, Progress)> {
    home.clear_log(NAME)?;
    let mut program = Guarded::spawn(command, Sink::File(home.log(NAME)?))?;
    let client = access.client()?;
    // Ready means that RBAC's built-in roles exist too: before that, even right requests are refused.
    let progress = await_start(&mut program, NAME, home, async || get_text(&client, "/readyz").await.is_ok()).await?;
    Ok((program, progress))
}

fn arguments(home: &Home, etcd_port: u16, port: u16) -> Vec<String> {
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
        // Else the past is forgotten every five minutes, and what a long test sees depends on when it looks.
        "--etcd-compaction-interval=0".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        // Else it looks for an address that others could reach, and ends where the machine has no network. Nobody uses the
        // `kubernetes` service, whose endpoint must not be a loopback address.
        "--advertise-address=127.0.0.1".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        format!("--secure-port={port}"),
        format!("--cert-dir={}", home.path().display()),
        format!("--tls-cert-file={}", home.server_certificate().display()),
        format!("--tls-private-key-file={}", home.server_key().display()),
        "--authorization-mode=RBAC".to_owned(),
        format!("--token-auth-file={}", home.tokens().display()),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
        format!("--service-account-key-file={}", home.account_public_key().display()),
        format!("--service-account-signing-key-file={}", home.account_key().display()),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        // No kubelet mounts tokens here, and without the controllers no namespace has its default account.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        format!("--audit-policy-file={}", home.audit_policy().display()),
        format!("--audit-log-path={}", home.audit_log().display()),
        // Never rotated: a test that counts must find every line in one file.
        "--audit-log-maxsize=8192".to_owned(),
    ]
}
