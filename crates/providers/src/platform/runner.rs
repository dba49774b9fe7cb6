//! Runners: how they are ordered, registered and removed.

use std::fmt;

use jiff::Timestamp;
use secrecy::SecretString;

use super::error::Error;
use crate::attestor::Attested;

/// A runner to register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnerOrder {
    /// Its name, written down before; at most 64 characters, beginning with the [`Marker`].
    pub name: String,
    /// Its labels, as [`super::Platform::offered`] gives them.
    pub labels: Vec<String>,
    /// The queue session's order that it belongs to, where demand comes from one.
    pub session: Option<super::SessionOrder>,
    /// The UUID of the machine; nobody else may have proven itself.
    pub machine: String,
}

impl RunnerOrder {
    /// Lets only the machine pass that the order is for. Every mint begins with it.
    pub fn admit(&self, machine: &Attested) -> Result<(), Error> {
        if machine.machine().eq_ignore_ascii_case(&self.machine) {
            return Ok(());
        }
        Err(Error::Invalid {
            what: "the machine",
            detail: format!("the order is for {} and {} has proven itself", self.machine, machine.machine()),
        })
    }
}

/// A registered runner and what it needs to be one.
///
/// Not `Debug`: it carries the credential.
#[derive(Clone)]
pub struct Grant {
    /// The runner.
    pub runner: Runner,
    /// What the machine gets, in the platform's own form; nobody keeps it.
    pub credential: SecretString,
    /// When it runs out, where the platform says so.
    pub expires_at: Option<Timestamp>,
}

/// A registration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Runner {
    /// Its name.
    pub name: String,
    /// Its id; none if the answer that had it was lost.
    pub id: Option<String>,
}

/// What the platform thinks of a runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunnerState {
    /// It is connected and has no job, as far as the platform knows.
    Idle,
    /// It has a job.
    Busy,
    /// It is registered and not connected.
    Offline,
    /// There is no such registration.
    Gone,
}

/// Whether a runner goes although it may have a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Only if it has none.
    IfIdle,
    /// Whatever it has: its machine is gone, or must go.
    Force,
}

/// What became of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It is gone, now or before.
    Gone,
    /// It has a job.
    Busy,
    /// It takes no more jobs, and is still registered.
    Drained,
    /// Nobody can tell; nothing may be destroyed because of it.
    Unknown(String),
}

/// What names of our runners begin with, so that those of others are never touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker(String);

impl Marker {
    /// The marker of an installation: `hf-` and the first eight digits of its operator's id.
    pub fn of(operator: &str) -> Self {
        let digits = operator.chars().filter(char::is_ascii_alphanumeric).map(|digit| digit.to_ascii_lowercase());
        Self(format!("hf-{}-", digits.take(8).collect::<String>()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a runner of that name is ours.
    pub fn is_on(&self, name: &str) -> bool {
        name.starts_with(&self.0)
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Registrations at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Those with the marker.
    pub runners: Vec<(Runner, RunnerState)>,
    /// Whether these are all of them.
    pub complete: bool,
}
