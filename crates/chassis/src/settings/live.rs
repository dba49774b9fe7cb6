//! Settings that follow their file.
//!
//! A mounted `ConfigMap` changes by a symbolic link that moves, which change notifications see or miss depending on
//! the kernel and the mount; so the file is simply read every few seconds and its text compared. A bad or missing file
//! changes nothing but is said once: in the log, a metric, the readiness report and [`Live::problem`].

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;

use super::{Effective, Layers, Problems};
use crate::Tasks;
use crate::health::Health;
use crate::metrics::{Metrics, Reload};

/// How often the file is read; the kubelet itself takes up to a minute to show a change.
pub const INTERVAL: Duration = Duration::from_secs(5);

/// The values in force now, and what keeps the newest file from being in force.
#[derive(Clone, Debug)]
pub struct Live {
    /// The values; only settings marked `reload` ever change.
    pub effective: watch::Receiver<Effective>,
    /// What is wrong with the file now.
    pub problem: watch::Receiver<Option<String>>,
}

/// Judges values as a whole: relations between settings, typed views.
type Check = fn(&Effective) -> Result<(), Problems>;

impl Live {
    /// Values that never change, for a program without a file.
    pub fn fixed(effective: Effective) -> Self {
        Self { effective: watch::channel(effective).1, problem: watch::channel(None).1 }
    }

    /// Follows the file at `path` from the `text` it had when `effective` was made of it.
    pub fn follow(follow: Follow, tasks: &Tasks) -> Self {
        let (effective, effective_seen) = watch::channel(follow.effective.clone());
        let (problem, problem_seen) = watch::channel(None);
        let gate = follow.health.gate("settings");
        gate.open();
        let stopping = tasks.stopping();
        tasks.spawn("settings reload", async move {
            tokio::pin!(stopping);
            let mut seen = Seen::Text(follow.text.clone());
            loop {
                tokio::select! {
                    () = &mut stopping => return,
                    () = tokio::time::sleep(follow.interval) => {}
                }
                let now = Seen::from(tokio::fs::read_to_string(&follow.path).await);
                if now == seen {
                    continue;
                }
                seen = now;
                let verdict = follow.judge(&seen, &effective.borrow());
                match verdict {
                    Ok(new) => {
                        effective.send_if_modified(|old| std::mem::replace(old, new) != *old);
                        problem.send_replace(None);
                        gate.open();
                    }
                    Err(trouble) => {
                        gate.open_with(format!("{trouble}; the previous values stay in force"));
                        problem.send_replace(Some(trouble));
                    }
                }
            }
        });
        Self { effective: effective_seen, problem: problem_seen }
    }
}

/// What [`Live::follow`] needs.
#[derive(Debug)]
pub struct Follow {
    /// The file.
    pub path: PathBuf,
    /// Its text when `effective` was made.
    pub text: String,
    /// Everything but the file.
    pub layers: Layers,
    /// The values in force at the start.
    pub effective: Effective,
    /// Judges new values as a whole.
    pub check: Check,
    /// How often to read the file.
    pub interval: Duration,
    /// Where reloads are counted.
    pub metrics: Metrics,
    /// Where a bad file is shown.
    pub health: Health,
}

#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Text(String),
    Nothing(io::ErrorKind, String),
}

impl From<io::Result<String>> for Seen {
    fn from(read: io::Result<String>) -> Self {
        match read {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Nothing(error.kind(), error.to_string()),
        }
    }
}

impl Follow {
    /// The values after this change of the file, or why they stay.
    fn judge(&self, seen: &Seen, current: &Effective) -> Result<Effective, String> {
        let (result, trouble) = match seen {
            Seen::Text(text) => match self.merge(text, current) {
                Ok(new) => {
                    self.metrics.settings_reloaded(Reload::Applied);
                    return Ok(new);
                }
                Err(problems) => (Reload::Rejected, problems.to_string()),
            },
            Seen::Nothing(_, error) => (Reload::Missing, format!("file {}: {error}", self.path.display())),
        };
        self.metrics.settings_reloaded(result);
        tracing::warn!(problem = trouble, "settings file not applied; the previous values stay in force");
        Err(trouble)
    }

    fn merge(&self, text: &str, current: &Effective) -> Result<Effective, Problems> {
        let resolved = self.layers.resolve(Some((&self.path, text)))?;
        (self.check)(&resolved)?;
        let mut merged = current.clone();
        let fixed = merged.adopt(&resolved);
        (self.check)(&merged)?;
        for warning in &merged.warnings {
            tracing::warn!("{warning}");
        }
        for key in fixed {
            tracing::warn!(key, "changed in the settings file; needs a restart");
        }
        Ok(merged)
    }
}
