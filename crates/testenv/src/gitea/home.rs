//! The directory of a Gitea server: its settings, its tables, its administrator.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::assets::Tool;
use crate::pki::Identity;

/// The administrator's name at Gitea.
pub(super) const ADMINISTRATOR: &str = "boss";
/// The administrator's password, for the pages that take no token.
pub(super) const PASSWORD: &str = "correct-horse-7";

/// The directory and the program.
#[derive(Debug)]
pub(super) struct Home {
    path: PathBuf,
    program: PathBuf,
}

impl Home {
    /// The home of a new server in an empty directory.
    pub(super) fn found(path: &Path) -> Result<Self> {
        std::fs::create_dir(path.join("home"))?;
        Ok(Self { path: path.to_owned(), program: Tool::Gitea.path()? })
    }

    /// Puts a certificate where [`Self::configure`] expects it for a server that speaks TLS.
    pub(super) fn identify(&self, identity: &Identity) -> Result<()> {
        let parts =
            [("ca.pem", &identity.ca), ("server.pem", &identity.certificate), ("server-key.pem", &identity.key)];
        parts.iter().try_for_each(|(name, text)| {
            std::fs::write(self.path.join(name), text).context("write Gitea's certificate")
        })
    }

    /// Where the certificate of its authority is, if it has one.
    pub(super) fn authority(&self) -> PathBuf {
        self.path.join("ca.pem")
    }

    /// The home directory of whoever runs something for this server.
    pub(super) fn of_people(&self) -> PathBuf {
        self.path.join("home")
    }

    /// Writes the settings of a server that listens at `url`. The server adds secrets of its own to the file.
    pub(super) fn configure(&self, url: &str, silence: Duration) -> Result<()> {
        let (path, files) = (self.path.display().to_string(), self.files()?.display().to_string());
        let settings = settings(url, &path, &files, silence);
        std::fs::write(self.settings(), settings).context("write Gitea's settings")
    }

    /// What runs the server.
    pub(super) fn server(&self) -> Command {
        let mut command = self.command();
        command.arg("web");
        command
    }

    /// Creates the administrator and returns a token that may do everything.
    pub(super) fn create_administrator(&self) -> Result<String> {
        let mut command = self.command();
        command.args(["admin", "user", "create", "--admin", "--username", ADMINISTRATOR, "--password", PASSWORD]);
        command.args(["--email", "boss@example.com", "--must-change-password=false", "--access-token"]);
        command.args(["--access-token-name", "boot", "--access-token-scopes", "all"]);
        let output = command.output().context("run gitea admin")?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        // Warnings go to the same output: the token is the one word that looks like it.
        let mut words = said.split_whitespace().rev();
        let token = words.find(|word| word.len() == 40 && word.bytes().all(|digit| digit.is_ascii_hexdigit()));
        token.map(str::to_owned).with_context(|| format!("gitea admin gave no token; it said:\n{said}"))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--config").arg(self.settings()).env("HOME", self.of_people()).current_dir(&self.path);
        command
    }

    fn settings(&self) -> PathBuf {
        self.path.join("app.ini")
    }

    /// Where pages and texts are: beside the program's directory.
    fn files(&self) -> Result<&Path> {
        self.program.ancestors().nth(2).context("a program lies in a directory below its home")
    }
}

/// The least that works, with queues in memory (hooks come within 0.3 s, not 3), times that tests can wait for, and deliveries
/// to loopback allowed. Without the line about authorized keys a first start rewrites those of the user.
fn settings(url: &str, path: &str, files: &str, silence: Duration) -> String {
    let silence = silence.as_secs();
    let port = url.rsplit(':').next().unwrap_or_default();
    let protocol = if url.starts_with("https:") {
        format!("PROTOCOL = https\nCERT_FILE = {path}/server.pem\nKEY_FILE = {path}/server-key.pem\n")
    } else {
        String::new()
    };
    format!(
        "I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = {path}
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = {url}/
{protocol}STATIC_ROOT_PATH = {files}
OFFLINE_MODE = true
DISABLE_SSH = true
SSH_CREATE_AUTHORIZED_KEYS_FILE = false
SSH_ROOT_PATH = {path}/ssh
LFS_START_SERVER = false
[database]
DB_TYPE = sqlite3
PATH = {path}/gitea.db
SQLITE_JOURNAL_MODE = WAL
[security]
INSTALL_LOCK = true
[actions]
ENABLED = true
ZOMBIE_TASK_TIMEOUT = {silence}s
[webhook]
ALLOWED_HOST_LIST = loopback
[queue]
TYPE = channel
[log]
MODE = console
LEVEL = warn
"
    )
}
