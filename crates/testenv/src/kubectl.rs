//! The real kubectl, as an administrator.

use std::process::{ExitStatus, Stdio};

use anyhow::Result;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::assets::Tool;
use crate::demand::demand;
use crate::plane::ControlPlane;

/// What a program printed and how it ended.
#[derive(Clone, Debug)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

impl Output {
    /// Whether it ended well.
    pub fn success(&self) -> bool {
        self.status.success()
    }
}

impl ControlPlane {
    /// Runs kubectl with these arguments as an administrator.
    pub async fn kubectl(&self, arguments: &[&str]) -> Output {
        self.kubectl_with_input(arguments, "").await
    }

    /// Runs kubectl with these arguments as an administrator and `input` as its standard input, for `-f -`.
    pub async fn kubectl_with_input(&self, arguments: &[&str], input: &str) -> Output {
        demand("run kubectl", self.run_kubectl(arguments, input).await)
    }

    async fn run_kubectl(&self, arguments: &[&str], input: &str) -> Result<Output> {
        let mut child = Command::new(Tool::Kubectl.path()?)
            .args(arguments)
            .env("KUBECONFIG", self.kubeconfig())
            // The usual place is keyed by host and port: what an earlier control plane on this port served would be believed.
            .env("KUBECACHEDIR", self.home().kubectl_cache())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut stdin = child.stdin.take().expect("asked for above");
        let feed = async move {
            // A kubectl that fails early does not read its input; its exit status tells the story.
            let _ = stdin.write_all(input.as_bytes()).await;
        };
        let ((), output) = tokio::join!(feed, child.wait_with_output());
        let output = output?;
        Ok(Output {
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}
