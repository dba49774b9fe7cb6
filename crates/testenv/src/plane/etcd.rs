//! etcd: a member alone, in a temporary directory, in a hurry.

use std::process::Command;

use anyhow::Result;

use super::home::Home;
use super::{Progress, await_start, with_free_port};
use crate::assets::Tool;
use crate::guard::{Guarded, Sink};
use crate::ports::answers;

/// Starts etcd on a free port; returns it with the port once it accepts connections.
pub(super) async fn start(home: &Home) -> Result<(Guarded, u16)> {
    let program = Tool::Etcd.path()?;
    with_free_port("etcd", async |port| {
        let url = format!("http://127.0.0.1:{port}");
        let mut command = Command::new(&program);
        command
            .arg(format!("--data-dir={}", home.path().join("etcd").display()))
            .arg(format!("--listen-client-urls={url}"))
            .arg(format!("--advertise-client-urls={url}"))
            // Nobody ever joins, so any port will do.
            .arg("--listen-peer-urls=http://127.0.0.1:0")
            // The data is worth nothing after the test: do not wait for the disk.
            .arg("--unsafe-no-fsync")
            .arg("--log-level=warn");
        home.clear_log("etcd")?;
        let mut etcd = Guarded::spawn(&command, Sink::File(home.log("etcd")?))?;
        match await_start(&mut etcd, "etcd", home, async || answers(port)).await? {
            Progress::Up => Ok(Some((etcd, port))),
            Progress::PortTaken => Ok(None),
        }
    })
    .await
}
