//! The real machine: an account, files in memory, a tree of programs.

mod account;
mod environment;
mod files;
mod output;
mod places;
mod root;
mod running;
mod secrets;
mod shortage;
mod signs;
mod tree;

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use protocol::{Plan, Root};

use crate::Machine;
use account::{Account, Owner, RunsAs};
use places::Places;
use root::Mounted;
use secrets::Secrets;
use signs::Signs;

pub use running::Running;

/// Where accounts are listed.
const PASSWD: &str = "/etc/passwd";

/// Where images keep runners unless it is said.
pub(crate) const RUNNERS: &str = "/opt";

/// Runs work on the machine that the agent is on.
#[derive(Clone, Debug)]
pub struct Host {
    run_dir: PathBuf,
    work_dir: PathBuf,
    runners: PathBuf,
    user: Option<String>,
    adopts: bool,
}

impl Host {
    /// Work that names no user runs as `user`; `run_dir` is where its files go, and must be in memory; `work_dir` is where
    /// those of a runner's jobs go, and should not be.
    pub fn new(run_dir: impl Into<PathBuf>, work_dir: impl Into<PathBuf>, user: Option<String>) -> Self {
        // The work is told where its files are, and is somewhere else.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        let (run_dir, work_dir) = (absolute(run_dir.into()), absolute(work_dir.into()));
        Self { run_dir, work_dir, runners: RUNNERS.into(), user, adopts: false }
    }

    /// The same on a machine that has its runners below `runners`, each in a directory of its own. No plan says where
    /// that is: a plan's `{runners}` is this.
    #[must_use]
    pub fn with_runners(self, runners: impl Into<PathBuf>) -> Self {
        Self { runners: runners.into(), ..self }
    }

    /// The same where this program starts nothing but the work: whatever the work leaves behind comes to this program, so
    /// that all of it can be ended.
    #[must_use]
    pub fn adopting(self) -> Self {
        Self { adopts: tree::adopt(), ..self }
    }

    fn account(&self, plan: &Plan) -> Result<RunsAs, String> {
        let passwd = std::fs::read_to_string(PASSWD).map_err(|error| format!("cannot read {PASSWD}: {error}"))?;
        let wanted = plan.user.as_deref().or(self.user.as_deref());
        account::choose(&passwd, wanted, rustix::process::geteuid().as_raw())
    }

    /// Makes the directory for the files of a runner's jobs.
    fn make_work_dir(&self, owner: Option<Owner>) -> Result<(), String> {
        let made = std::fs::create_dir_all(&self.work_dir).and_then(|()| match owner {
            None => Ok(()),
            Some(Owner { user, group }) => chown(&self.work_dir, Some(user), Some(group)),
        });
        made.map_err(|error| format!("cannot make {} for the jobs' files: {error}", self.work_dir.display()))
    }

    /// Prepares what a runner needs beyond what any work does.
    fn ground(&self, root: Option<Root>, owner: Option<Owner>) -> Result<Option<Mounted>, String> {
        self.make_work_dir(owner)?;
        let mount = |root| Mounted::new(&root, &self.run_dir.join("root"), &self.work_dir, owner);
        root.map(mount).transpose()
    }
}

impl Machine for Host {
    type Work = Running;

    async fn begin(&self, plan: &Plan) -> Result<Running, String> {
        let runs_as = self.account(plan)?;
        let files = self.run_dir.join("files");
        let (mut root, mut signs, mut put) = (None, None, None);
        if let Some(runner) = &plan.runner {
            signs = Some(Signs::new(runner, &files)?);
            let places = Places { files: &files, work: &self.work_dir, runners: &self.runners, root: None };
            root = self.ground(runner.root.as_ref().map(|root| places.put_into_root(root)), runs_as.owner())?;
            put = Some(Places { root: root.as_ref().map(Mounted::path), ..places }.put_into(plan));
        }
        let plan = put.as_ref().unwrap_or(plan);
        let (program, arguments) = plan.argv.split_first().ok_or("the plan names no program")?;
        files::write(&files, &plan.files, runs_as.owner())?;
        let secrets = Secrets::new(files.clone(), root);
        let environment = environment::of(plan, runs_as.account(), &files)?;
        let home = runs_as.account().map(|account: &Account| account.home.clone()).filter(|home| home.is_dir());
        let folder: &Path = if signs.is_some() { &self.work_dir } else { home.as_ref().unwrap_or(&self.run_dir) };
        let order = running::Order {
            program,
            arguments,
            environment: &environment,
            folder,
            owner: runs_as.owner(),
            output: plan.output_bytes,
            adopts: self.adopts,
            signs,
            secrets,
        };
        Running::spawn(order).map_err(|error| format!("cannot start {program:?} in {}: {error}", folder.display()))
    }

    #[expect(clippy::disallowed_methods, reason = "people compare it with the right time: this is about the machine's")]
    fn clock(&self) -> i64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests;
