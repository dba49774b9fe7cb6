//! The transcript: every call and its answer, a line of JSON each, in the form that the simulator is held to.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use providers::http::{Exchange, Recorder};

use super::progress::Progress;
use super::redact::Redaction;
use super::request::Request;
use super::row::{Row, Scope};

/// A transcript that is being written.
pub(super) struct Transcript {
    path: PathBuf,
    redaction: Redaction,
    scope: Scope,
    progress: Arc<Progress>,
    written: Mutex<Written>,
}

struct Written {
    file: File,
    calls: usize,
    failure: Option<io::Error>,
}

impl Transcript {
    /// Begins a transcript; a file that is there is replaced. Only its owner can read it.
    pub(super) fn create(path: &Path, request: &Request, progress: &Arc<Progress>) -> Result<Self, String> {
        let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
        let file = opened.map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            redaction: Redaction::new(&request.host, &request.credentials),
            scope: Scope { image: request.image.get(), range: request.range },
            progress: Arc::clone(progress),
            written: Mutex::new(Written { file, calls: 0, failure: None }),
        })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// How many calls were written, or why not all were.
    pub(super) fn finish(&self) -> io::Result<usize> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        match written.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(written.calls),
        }
    }
}

impl Recorder for Transcript {
    fn record(&self, exchange: &Exchange<'_>) {
        let row = Row::of(exchange, self.progress.stage(), self.scope, &self.redaction);
        let line = serde_json::to_string(&row).map_err(io::Error::from);
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        // Each line at once: a run that is killed has written what it saw.
        match line.and_then(|line| written.file.write_all(format!("{line}\n").as_bytes())) {
            Ok(()) => written.calls += 1,
            Err(error) => written.failure = Some(error),
        }
    }
}
