//! The real machine: an account, files in memory, a group of processes.

mod account;
mod environment;
mod files;
mod output;
mod running;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use protocol::Plan;

use crate::Machine;

pub use running::Running;

/// Where accounts are listed.
const PASSWD: &str = "/etc/passwd";
/// Between asking work to end and making it.
const GRACE: Duration = Duration::from_secs(10);

/// Runs work on the machine that the agent is on.
#[derive(Clone, Debug)]
pub struct Host {
    run_dir: PathBuf,
    user: Option<String>,
    grace: Duration,
}

impl Host {
    /// Work that names no user runs as `user`; `run_dir` is where its files go, and must be in memory.
    pub fn new(run_dir: impl Into<PathBuf>, user: Option<String>) -> Self {
        let run_dir = run_dir.into();
        // The work is told where its files are, and is somewhere else.
        Self { run_dir: std::path::absolute(&run_dir).unwrap_or(run_dir), user, grace: GRACE }
    }

    /// The same, with another time between asking work to end and making it.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }
}

impl Machine for Host {
    type Work = Running;

    async fn begin(&self, plan: &Plan) -> Result<Running, String> {
        let (program, arguments) = plan.argv.split_first().ok_or("the plan names no program")?;
        let passwd = std::fs::read_to_string(PASSWD).map_err(|error| format!("cannot read {PASSWD}: {error}"))?;
        let wanted = plan.user.as_deref().or(self.user.as_deref());
        let runs_as = account::choose(&passwd, wanted, rustix::process::geteuid().as_raw())?;
        let folder = self.run_dir.join("files");
        files::write(&folder, &plan.files, runs_as.owner())?;
        let environment = environment::of(plan, runs_as.account(), &folder)?;
        let home = runs_as.account().map(|account| account.home.clone()).filter(|home| home.is_dir());
        let order = running::Order {
            program,
            arguments,
            environment: &environment,
            folder: home.as_ref().unwrap_or(&self.run_dir),
            owner: runs_as.owner(),
            output: plan.output_bytes,
            grace: self.grace,
        };
        Running::spawn(&order).map_err(|error| format!("cannot start {program:?}: {error}"))
    }

    #[expect(clippy::disallowed_methods, reason = "people compare it with the right time: this is about the machine's")]
    fn clock(&self) -> i64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests;
