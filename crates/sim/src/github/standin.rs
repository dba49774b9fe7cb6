//! A stand-in for the runner program: its flags, its words, its exit codes, and jobs that take time and do nothing.

mod job;
mod line;

use std::future::Future;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chassis::Clock;

use super::runner::{Credentials, decode};
use line::{Line, Said};

/// The exit codes of the real program.
pub mod exit {
    /// All went well, a failed job included.
    pub const SUCCESS: u8 = 0;
    /// It cannot go on, and trying again does not help.
    pub const TERMINATED: u8 = 1;
    /// It cannot go on now.
    pub const RETRYABLE: u8 = 2;
    /// Another one holds the session of the same registration.
    pub const SESSION_CONFLICT: u8 = 5;
    /// What is added to a job's result where the result is wanted.
    pub const JOB_RESULT: u8 = 100;
}

/// What the stand-in is started with.
#[derive(Clone, Debug)]
pub struct Standin {
    /// The configuration for one job.
    pub jit_config: String,
    /// Where the configuration's files are written.
    pub root: PathBuf,
    /// Whether the exit code tells the job's result.
    pub return_job_result: bool,
    /// What runs before a job.
    pub job_started: Option<PathBuf>,
    /// What runs after a job, before its result is told.
    pub job_completed: Option<PathBuf>,
    /// Certificates to trust, in PEM.
    pub trust: Option<PathBuf>,
    /// How long it tries to get a session that another one holds.
    pub patience: Duration,
}

/// What it says, as the real program says it.
pub(crate) struct Terminal<W>(Mutex<W>, Clock);

impl<W: Write> Terminal<W> {
    fn say(&self, text: &str) {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(out, "{text}");
        let _ = out.flush();
    }

    fn say_at(&self, text: &str) {
        let now = self.1.now().strftime("%Y-%m-%d %H:%M:%SZ").to_string();
        self.say(&format!("{now}: {text}"));
    }
}

impl Standin {
    /// Runs one job, or until `stop` resolves; the exit code.
    pub async fn run<W: Write>(&self, out: W, clock: Clock, stop: impl Future<Output = ()>) -> u8 {
        let terminal = Terminal(Mutex::new(out), clock);
        let Some(credentials) = decode(&self.jit_config) else {
            terminal.say("An error occurred: The JIT config is not valid.");
            return exit::TERMINATED;
        };
        if let Err(error) = self.write_files(&credentials) {
            terminal.say(&format!("An error occurred: {error}"));
            return exit::TERMINATED;
        }
        let code = self.listen(&terminal, &credentials, stop).await;
        for (name, _) in &credentials.files {
            let _ = std::fs::remove_file(self.root.join(name));
        }
        code
    }

    /// The real program writes its configuration down too.
    fn write_files(&self, credentials: &Credentials) -> std::io::Result<()> {
        for (name, content) in &credentials.files {
            // Names come from the blob; none leads out of the directory.
            let name = name.replace(['/', '\\'], "_");
            std::fs::write(self.root.join(name), content)?;
        }
        Ok(())
    }

    async fn listen<W: Write>(
        &self,
        terminal: &Terminal<W>,
        credentials: &Credentials,
        stop: impl Future<Output = ()>,
    ) -> u8 {
        let line = match Line::new(credentials, self.trust.as_deref()) {
            Ok(line) => Arc::new(line),
            Err(error) => {
                terminal.say(&format!("An error occurred: {error}"));
                return exit::TERMINATED;
            }
        };
        tokio::pin!(stop);
        let session = tokio::select! {
            session = self.connect(terminal, &line) => session,
            () = &mut stop => return exit::SUCCESS,
        };
        let session = match session {
            Ok(session) => session,
            Err(code) => return code,
        };
        terminal.say("");
        terminal.say("√ Connected to GitHub");
        terminal.say("");
        terminal.say("Current runner version: '2.336.0'");
        terminal.say_at("Listening for Jobs");
        self.serve(terminal, &line, &session, stop).await
    }

    /// Waits for a job and carries it out, unless it is stopped first.
    async fn serve<W: Write>(
        &self,
        terminal: &Terminal<W>,
        line: &Line,
        session: &str,
        mut stop: impl Future<Output = ()> + Unpin,
    ) -> u8 {
        loop {
            let said = tokio::select! {
                said = line.next(session) => said,
                () = &mut stop => {
                    terminal.say("Exiting...");
                    line.leave(session).await;
                    return exit::SUCCESS;
                }
            };
            match said {
                Ok(Said::Run(job)) => {
                    let result = self.carry_out(terminal, line, session, &job, &mut stop).await;
                    let told = if self.return_job_result { exit::JOB_RESULT + result.code() } else { exit::SUCCESS };
                    return told;
                }
                Ok(Said::Cancel(_) | Said::Nothing) => {}
                Ok(Said::Gone) => {
                    terminal.say(DELETED);
                    return exit::TERMINATED;
                }
                // A service that is away for a while is waited for.
                Err(error) => {
                    terminal.say_at(&format!("Runner connect error: {error}. Retrying until reconnected."));
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }

    /// Opens a session, again and again while another one holds it.
    async fn connect<W: Write>(&self, terminal: &Terminal<W>, line: &Line) -> Result<String, u8> {
        let started = tokio::time::Instant::now();
        loop {
            let last = started.elapsed() >= self.patience;
            match line.open().await {
                Ok(Some(session)) => return Ok(session),
                Ok(None) if last => {
                    terminal.say("A session for this runner already exists.");
                    return Err(exit::SESSION_CONFLICT);
                }
                Ok(None) => terminal.say("A session for this runner already exists."),
                Err(line::Failed::Gone) => {
                    terminal.say(DELETED);
                    return Err(exit::TERMINATED);
                }
                Err(line::Failed::Unreachable(error)) if last => {
                    terminal.say(&format!("An error occurred: {error}"));
                    return Err(exit::RETRYABLE);
                }
                Err(line::Failed::Unreachable(_)) => {}
            }
            tokio::time::sleep((self.patience / 8).max(Duration::from_millis(50))).await;
        }
    }
}

const DELETED: &str = "Failed to create a session. The runner registration has been deleted from the server, please \
                       re-configure. Runner registrations are automatically deleted for runners that have not connected \
                       to the service recently.";
