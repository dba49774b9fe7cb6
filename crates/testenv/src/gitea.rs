//! A real Gitea: a server on a free loopback port, its administrator, and what tests do at it.
//!
//! ```text
//!   test ──▶ Gitea::start ─▶ gitea web ◀── gitea-runner     started by the test, as a machine would
//!              │                │
//!              └─ repository, push, dispatch, cancel        ──▶ hooks to a receiver on loopback
//! ```
//!
//! Everything is in one temporary directory, the home directory of the server included: with another one it would write
//! into the SSH settings of whoever runs the tests.

mod home;
mod push;
mod requests;
mod web;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::demand::demand;
use crate::guard::Scratch;
use crate::pki::Identity;
use crate::ports::free_port;
use crate::program::Program;
use home::Home;
use web::Web;

/// How long the server may take to answer: 2 s on an idle machine; builds on the same cores make it slow.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long a runner of a server for tests may be silent before its job is given up.
const HASTE: Duration = Duration::from_secs(2);
/// How often a start is tried again because somebody took the port first.
const PORT_ATTEMPTS: usize = 5;

/// A Gitea server that ends with this value.
#[derive(Debug)]
pub struct Gitea {
    server: Mutex<Program>,
    home: Home,
    web: Web,
    url: String,
    token: String,
    _scratch: Scratch,
}

impl Gitea {
    /// Starts a server with an administrator and nothing else; panics with the reason when it cannot.
    pub async fn start() -> Self {
        demand("start Gitea", Self::try_start(None, HASTE).await)
    }

    /// The same over TLS, with a certificate that only those believe who know its [`Self::authority`]. It gives up jobs
    /// whose runners were silent for so long: whenever it is told to ([`Self::cron`]), and when it starts again.
    pub async fn start_secure(silence: Duration) -> Self {
        let identity = demand("make a certificate", Identity::generate("gitea"));
        demand("start Gitea", Self::try_start(Some(identity), silence).await)
    }

    async fn try_start(identity: Option<Identity>, silence: Duration) -> Result<Self> {
        let scratch = Scratch::new().context("a temporary directory")?;
        let home = Home::found(scratch.path())?;
        let web = Web::new(identity.as_ref().map(|identity| identity.ca.as_str()))?;
        identity.as_ref().map_or(Ok(()), |identity| home.identify(identity))?;
        let scheme = if identity.is_some() { "https" } else { "http" };
        for _ in 0..PORT_ATTEMPTS {
            let url = format!("{scheme}://127.0.0.1:{}", free_port()?);
            home.configure(&url, silence)?;
            let server = Program::start(&home.server());
            if is_up(&server, &web, &url).await? {
                let token = home.create_administrator()?;
                return Ok(Self { server: Mutex::new(server), home, web, url, token, _scratch: scratch });
            }
        }
        bail!("{PORT_ATTEMPTS} free ports in a row were taken before Gitea could listen on them")
    }

    /// Kills the server as a crash would, and starts it again on the same port; returns when it answers.
    pub async fn restart(&self) {
        self.server().kill();
        let server = Program::start(&self.home.server());
        assert!(demand("start Gitea again", is_up(&server, &self.web, &self.url).await), "somebody took the port");
        *self.server() = server;
    }

    /// Where the certificate of its authority stands, as PEM; nothing is there unless it was started over TLS.
    pub fn authority(&self) -> PathBuf {
        self.home.authority()
    }

    /// Where it listens, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The administrator's access token, which may do everything.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Everything that the server said since it was started, for messages.
    pub fn log(&self) -> String {
        self.server().output()
    }

    fn server(&self) -> MutexGuard<'_, Program> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until the server answers; false if somebody else has its port.
async fn is_up(server: &Program, web: &Web, url: &str) -> Result<bool> {
    let up = crate::waiting::poll(PATIENCE, async || match server.ended() {
        Some(_) => Some(false),
        None => web.is_healthy(url).await.then_some(true),
    });
    match up.await {
        Some(true) => Ok(true),
        Some(false) if server.output().contains("address already in use") => Ok(false),
        Some(false) => bail!("Gitea ended early; it said:\n{}", server.output()),
        None => bail!("Gitea was not ready within {PATIENCE:?}; it said:\n{}", server.output()),
    }
}
