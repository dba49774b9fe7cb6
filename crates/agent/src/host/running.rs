//! Work under way: a tree of programs, the signs that it gives and the end of its output.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::account::Owner;
use super::output::Tail;
use super::secrets::Secrets;
use super::shortage::Stock;
use super::signs::{Lines, Seen, Signs};
use super::tree::Tree;
use crate::{Event, Exit, Job, Shortage, Work};

/// For what was printed last to arrive, and for the dead to be counted.
const SOON: Duration = Duration::from_secs(1);
/// For whoever was killed to be gone: a disk may hold some of them up.
const LATE: Duration = Duration::from_secs(5);
/// A job's beginning is seen so soon, and orphans are buried.
const GLANCE: Duration = Duration::from_millis(50);

/// What to start.
pub(super) struct Order<'a> {
    pub(super) program: &'a str,
    pub(super) arguments: &'a [String],
    pub(super) environment: &'a BTreeMap<String, String>,
    pub(super) folder: &'a Path,
    pub(super) owner: Option<Owner>,
    pub(super) output: u32,
    pub(super) adopts: bool,
    /// None for a command.
    pub(super) signs: Option<Signs>,
    pub(super) secrets: Secrets,
}

/// Work of the real machine; ends with all that it started when it is dropped.
#[derive(Debug)]
pub struct Running {
    leader: Child,
    id: Pid,
    tree: Tree,
    exit: Option<Exit>,
    tail: Option<Arc<Mutex<Tail>>>,
    readers: JoinSet<()>,
    signs: Option<Arc<Signs>>,
    told: Seen,
    stock: Stock,
    shortage: Option<Shortage>,
    secrets: Option<Secrets>,
}

impl Running {
    pub(super) fn spawn(order: Order<'_>) -> io::Result<Self> {
        let mut command = Command::new(order.program);
        command.args(order.arguments).env_clear().envs(order.environment).current_dir(order.folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        if let Some(Owner { user, group }) = order.owner {
            // Where root becomes another user, its other groups are left behind.
            command.uid(user).gid(group);
        }
        let stock = Stock::take(order.folder);
        let mut leader = command.spawn()?;
        let id = leader.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let id = id.ok_or_else(|| io::Error::other("it has no number"))?;
        let tail = Arc::new(Mutex::new(Tail::new(order.output)));
        let signs = order.signs.map(Arc::new);
        let mut readers = JoinSet::new();
        if let (Some(output), Some(errors)) = (leader.stdout.take(), leader.stderr.take()) {
            readers.spawn(read(output, Arc::clone(&tail), signs.clone()));
            readers.spawn(read(errors, Arc::clone(&tail), signs.clone()));
        }
        Ok(Self {
            leader,
            id,
            tree: Tree::new(id, order.adopts),
            exit: None,
            tail: (order.output > 0).then_some(tail),
            readers,
            signs,
            told: Seen::default(),
            stock,
            shortage: None,
            secrets: Some(order.secrets),
        })
    }

    /// A sign that was not told yet.
    fn news(&mut self) -> Option<Event> {
        let Seen { ready, job } = self.signs.as_ref()?.seen();
        if let Some(job) = job.filter(|_| self.told.job.is_none()) {
            self.told = Seen { ready: true, job: Some(job.clone()) };
            return Some(Event::Began(job));
        }
        if ready && !self.told.ready {
            self.told.ready = true;
            return Some(Event::Ready);
        }
        None
    }

    /// Waits until the leader exits or there may be news.
    async fn glance(&mut self) {
        let signs = self.signs.clone();
        let printed = async {
            match &signs {
                Some(signs) => signs.news.notified().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            status = self.leader.wait() => {
                self.exit = Some(status.map_or_else(|error| {
                    tracing::error!(%error, "cannot learn how the work exited");
                    Exit::Code(-1)
                }, exit));
            }
            () = printed => {}
            () = sleep(GLANCE) => self.tree.bury(),
        }
    }

    /// Kills until nobody is left.
    async fn kill(&mut self) {
        while self.tree.kill() {
            sleep(GLANCE).await;
        }
        while self.exit.is_none() {
            self.glance().await;
        }
    }
}

impl Work for Running {
    async fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.news() {
                return event;
            }
            if let Some(exit) = self.exit {
                return Event::Exited(exit);
            }
            self.glance().await;
        }
    }

    fn job(&mut self) -> Option<Job> {
        self.signs.as_ref()?.seen().job
    }

    fn ask(&mut self, signal: protocol::Signal) {
        if self.exit.is_some() {
            return;
        }
        let signal = match signal {
            protocol::Signal::Int => Signal::INT,
            protocol::Signal::Term => Signal::TERM,
            protocol::Signal::Quit => Signal::QUIT,
        };
        // A runner decides by itself what becomes of its steps; a command is asked with all that is in its group.
        let asked = match &self.signs {
            Some(_) => kill_process(self.id, signal),
            None => kill_process_group(self.id, signal),
        };
        if let Err(error) = asked {
            tracing::warn!(%error, "the work cannot be asked to exit");
        }
    }

    async fn end(&mut self) {
        if timeout(LATE, self.kill()).await.is_err() {
            tracing::warn!("something of the work does not go");
        }
        let _: Result<(), _> = timeout(SOON, async { while self.readers.join_next().await.is_some() {} }).await;
        self.readers.abort_all();
        self.shortage = self.stock.shortage();
        // What a sign left among the files is looked at for the last time before they go.
        if let Some(signs) = &self.signs {
            signs.seen();
        }
        self.secrets = None;
    }

    fn output(&self) -> Option<String> {
        self.tail.as_ref().map(|tail| lock(tail).text())
    }

    fn shortage(&self) -> Option<Shortage> {
        self.shortage.clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After its end its numbers may be somebody else's.
        if self.secrets.is_some() {
            self.tree.kill();
        }
    }
}

async fn read(mut stream: impl AsyncRead + Unpin, tail: Arc<Mutex<Tail>>, signs: Option<Arc<Signs>>) {
    let (mut part, mut lines) = ([0; 8192], Lines::default());
    loop {
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => break,
            Ok(length) => {
                lock(&tail).push(&part[..length]);
                if let Some(signs) = &signs {
                    lines.push(&part[..length], signs);
                }
            }
        }
    }
    if let Some(signs) = &signs {
        lines.end(signs);
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
