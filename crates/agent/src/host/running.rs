//! Work under way: a group of processes and the end of its output.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::account::Owner;
use super::output::Tail;
use crate::{Exit, Work};

/// For what was printed last to arrive, and for the dead to be counted.
const SOON: Duration = Duration::from_secs(1);
const GLANCE: Duration = Duration::from_millis(50);

/// What to start.
pub(super) struct Order<'a> {
    pub(super) program: &'a str,
    pub(super) arguments: &'a [String],
    pub(super) environment: &'a BTreeMap<String, String>,
    pub(super) folder: &'a Path,
    pub(super) owner: Option<Owner>,
    pub(super) output: u32,
    pub(super) grace: Duration,
}

/// Work of the real machine; ends with all that it started when it is dropped.
#[derive(Debug)]
pub struct Running {
    leader: Child,
    /// The group that the leader and all that it starts belong to; none when nothing of it is left.
    group: Option<Pid>,
    grace: Duration,
    exit: Option<Exit>,
    tail: Option<Arc<Mutex<Tail>>>,
    readers: JoinSet<()>,
}

impl Running {
    pub(super) fn spawn(order: &Order<'_>) -> io::Result<Self> {
        let mut command = Command::new(order.program);
        command.args(order.arguments).env_clear().envs(order.environment).current_dir(order.folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        if let Some(Owner { user, group }) = order.owner {
            // Where root becomes another user, its other groups are left behind.
            command.uid(user).gid(group);
        }
        let mut leader = command.spawn()?;
        let group = leader.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let tail = Arc::new(Mutex::new(Tail::new(order.output)));
        let mut readers = JoinSet::new();
        if let (Some(output), Some(errors)) = (leader.stdout.take(), leader.stderr.take()) {
            readers.spawn(read(output, Arc::clone(&tail)));
            readers.spawn(read(errors, Arc::clone(&tail)));
        }
        let tail = (order.output > 0).then_some(tail);
        Ok(Self { leader, group, grace: order.grace, exit: None, tail, readers })
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // It fails where nobody is left, which is what is wanted.
            let _: Result<(), rustix::io::Errno> = kill_process_group(group, signal);
        }
    }

    /// Waits until no process of the group is left.
    async fn gone(&mut self) {
        self.wait().await;
        while self.group.is_some_and(|group| test_kill_process_group(group).is_ok()) {
            sleep(GLANCE).await;
        }
    }
}

impl Work for Running {
    async fn wait(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        let exit = match self.leader.wait().await {
            Ok(status) => exit(status),
            Err(error) => {
                tracing::error!(%error, "cannot learn how the work exited");
                Exit::Code(-1)
            }
        };
        *self.exit.insert(exit)
    }

    async fn end(&mut self) {
        // What outlives the work's own end was not waited for by it, and is not by us.
        if self.exit.is_none() {
            self.signal(Signal::TERM);
            let _: Result<(), _> = timeout(self.grace, self.gone()).await;
        }
        self.signal(Signal::KILL);
        let _: Result<(), _> = timeout(SOON, self.gone()).await;
        self.group = None;
        let _: Result<(), _> = timeout(SOON, async { while self.readers.join_next().await.is_some() {} }).await;
        self.readers.abort_all();
    }

    fn output(&self) -> Option<String> {
        self.tail.as_ref().map(|tail| lock(tail).text())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

async fn read(mut stream: impl AsyncRead + Unpin, tail: Arc<Mutex<Tail>>) {
    let mut part = [0; 8192];
    loop {
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return,
            Ok(length) => lock(&tail).push(&part[..length]),
        }
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Code(-1),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
