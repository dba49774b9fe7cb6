//! The directory of a control plane: what is in it and where.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::access::Access;
use crate::pki::Pki;

/// What is recorded: who did what to which object, not the objects themselves. What the server does for itself and what
/// probes ask would only be noise.
const AUDIT_POLICY: &str = "
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ['system:apiserver']
- level: None
  nonResourceURLs: ['/readyz*', '/livez*', '/healthz*']
- level: Metadata
";

/// How much of a log a failure shows.
const LOG_TAIL_LINES: usize = 25;

/// The directory that holds everything of one control plane.
#[derive(Debug)]
pub(crate) struct Home(PathBuf);

impl Home {
    /// Fills an empty directory with certificates, keys, the administrator's token and the audit policy.
    pub(super) fn found(path: &Path) -> Result<Self> {
        let home = Self(path.to_owned());
        let pki = Pki::generate()?;
        let token = random_hex()?;
        for (file, content) in [
            (home.ca(), pki.ca.as_str()),
            (home.server_certificate(), &pki.server),
            (home.server_key(), &pki.server_key),
            (home.account_key(), &pki.account_key),
            (home.account_public_key(), &pki.account_public_key),
            (home.token(), &token),
            (home.tokens(), &format!("{token},admin,admin,system:masters\n")),
            (home.audit_policy(), AUDIT_POLICY),
            (home.audit_log(), ""),
        ] {
            fs::write(&file, content).with_context(|| format!("write {}", file.display()))?;
        }
        fs::create_dir(home.accounts())?;
        Ok(home)
    }

    /// The directory of a control plane that another program started.
    pub(super) fn existing(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// The administrator's access, as written by whoever started the API server.
    pub(super) fn access(&self) -> Result<Access> {
        let read = |path: PathBuf| fs::read_to_string(&path).with_context(|| format!("read {}", path.display()));
        Ok(Access { url: read(self.url())?, ca_pem: read(self.ca())?, token: read(self.token())? })
    }

    /// Writes down where the API server listens, for ourselves and for other programs.
    pub(super) fn announce(&self, url: &str) -> Result<()> {
        fs::write(self.url(), url)?;
        self.access()?.write_kubeconfig(&self.admin_kubeconfig(), &self.ca())
    }

    /// Opens the log of a program for appending.
    pub(super) fn log(&self, program: &str) -> Result<File> {
        let path = self.log_path(program);
        OpenOptions::new().create(true).append(true).open(&path).with_context(|| format!("open {}", path.display()))
    }

    /// Whether a program's log has these words.
    pub(super) fn log_mentions(&self, program: &str, words: &str) -> bool {
        fs::read_to_string(self.log_path(program)).is_ok_and(|log| log.contains(words))
    }

    /// Forgets a program's log before it is started anew.
    pub(super) fn clear_log(&self, program: &str) -> Result<()> {
        fs::write(self.log_path(program), "").with_context(|| format!("clear the log of {program}"))
    }

    /// An error that says what a program did and shows the end of its log.
    pub(super) fn failure<T>(&self, program: &str, what: &str) -> Result<T> {
        let log = fs::read_to_string(self.log_path(program)).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n");
        bail!("{program} {what}; the end of its log:\n{tail}")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn ca(&self) -> PathBuf {
        self.0.join("ca.pem")
    }

    pub(super) fn server_certificate(&self) -> PathBuf {
        self.0.join("apiserver.pem")
    }

    pub(super) fn server_key(&self) -> PathBuf {
        self.0.join("apiserver-key.pem")
    }

    pub(super) fn account_key(&self) -> PathBuf {
        self.0.join("service-accounts-key.pem")
    }

    pub(super) fn account_public_key(&self) -> PathBuf {
        self.0.join("service-accounts.pem")
    }

    fn token(&self) -> PathBuf {
        self.0.join("admin.token")
    }

    fn url(&self) -> PathBuf {
        self.0.join("url")
    }

    pub(super) fn tokens(&self) -> PathBuf {
        self.0.join("tokens.csv")
    }

    pub(super) fn audit_policy(&self) -> PathBuf {
        self.0.join("audit-policy.yaml")
    }

    pub(crate) fn audit_log(&self) -> PathBuf {
        self.0.join("audit.log")
    }

    pub(super) fn admin_kubeconfig(&self) -> PathBuf {
        self.0.join("admin.kubeconfig")
    }

    fn accounts(&self) -> PathBuf {
        self.0.join("accounts")
    }

    pub(super) fn account_kubeconfig(&self, namespace: &str, name: &str) -> PathBuf {
        self.accounts().join(format!("{namespace}-{name}.kubeconfig"))
    }

    pub(crate) fn kubectl_cache(&self) -> PathBuf {
        self.0.join("kubectl-cache")
    }

    fn log_path(&self, program: &str) -> PathBuf {
        self.0.join(format!("{program}.log"))
    }
}

/// A secret nobody can guess, from the kernel.
fn random_hex() -> Result<String> {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}
