//! Signs that a runner gives: lines of its output, and files that its hooks leave among the plan's.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use protocol::{Runner, Sign};
use rustix::fs::OFlags;
use tokio::sync::Notify;

use crate::Job;

/// Bytes of a line that are looked at, and of what is told about a job.
const LONGEST_LINE: usize = 4096;
const LONGEST_WORD: usize = 200;

/// What to look for, and what was seen.
#[derive(Debug)]
pub(super) struct Signs {
    folder: PathBuf,
    ready: Option<Sign>,
    began: Vec<Sign>,
    seen: Mutex<Seen>,
    /// Rings when a line was one.
    pub(super) news: Notify,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) ready: bool,
    pub(super) job: Option<Job>,
}

impl Signs {
    /// The signs of a runner whose files are in `folder`; the error is a sentence.
    pub(super) fn new(runner: &Runner, folder: &Path) -> Result<Self, String> {
        if runner.began.is_empty() {
            return Err("the plan does not say how it is seen that a job has begun".to_owned());
        }
        for sign in runner.began.iter().chain(&runner.ready) {
            if let Sign::File(name) = sign
                && (name.is_empty() || name.contains(['/', '\0']) || name == "." || name == "..")
            {
                return Err(format!("{name:?} of the plan is a sign and must be a plain name"));
            }
        }
        let seen = Seen { ready: runner.ready.is_none(), job: None };
        let (ready, began) = (runner.ready.clone(), runner.began.clone());
        Ok(Self { folder: folder.to_owned(), ready, began, seen: Mutex::new(seen), news: Notify::new() })
    }

    /// A line was printed.
    pub(super) fn line(&self, line: &str) {
        let is_in = |sign: &Sign| matches!(sign, Sign::Line(text) if line.contains(text));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.job.is_none() && self.began.iter().any(is_in) {
            seen.job = Some(Job(word(line)));
            self.news.notify_one();
        }
        if !seen.ready && self.ready.iter().any(is_in) {
            seen.ready = true;
            self.news.notify_one();
        }
    }

    /// What was seen until now, files included.
    pub(super) fn seen(&self) -> Seen {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.job.is_none() {
            seen.job = self.began.iter().find_map(|sign| self.file(sign)).map(|text| Job(word(&text)));
        }
        seen.ready |= self.ready.as_ref().is_some_and(|sign| self.file(sign).is_some());
        seen.clone()
    }

    /// The beginning of a file that is a sign, if it is there.
    fn file(&self, sign: &Sign) -> Option<String> {
        let Sign::File(name) = sign else { return None };
        let path = self.folder.join(name);
        std::fs::symlink_metadata(&path).ok()?;
        // The work may put anything there: whatever it is, it is a sign, but only a file of its own is read.
        let plain = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
        let mut text = Vec::new();
        if let Ok(file) = OpenOptions::new().read(true).custom_flags(plain).open(&path)
            && file.metadata().is_ok_and(|found| found.is_file())
        {
            let _: Result<usize, _> = file.take(LONGEST_LINE as u64).read_to_end(&mut text);
        }
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

/// The first line, as much as is told of it.
fn word(text: &str) -> Option<String> {
    let line = text.lines().next().unwrap_or_default().trim();
    let end = (0..=LONGEST_WORD.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    Some(line[..end].to_owned()).filter(|line| !line.is_empty())
}

/// Cuts a stream into lines.
#[derive(Default)]
pub(super) struct Lines(Vec<u8>);

impl Lines {
    /// Tells `signs` of every line that is whole now.
    pub(super) fn push(&mut self, bytes: &[u8], signs: &Signs) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LONGEST_LINE.saturating_sub(self.0.len());
            self.0.extend(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                self.end(signs);
            }
        }
    }

    /// Tells `signs` of what there is of a line, which is not coming to its end.
    pub(super) fn end(&mut self, signs: &Signs) {
        signs.line(&String::from_utf8_lossy(&self.0));
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(folder: &Path) -> Signs {
        let runner = Runner {
            ready: Some(Sign::Line("Listening".to_owned())),
            began: vec![Sign::File("began".to_owned()), Sign::Line("Running job".to_owned())],
            ..Runner::default()
        };
        Signs::new(&runner, folder).unwrap()
    }

    #[test]
    fn a_line_is_seen_however_it_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let signs = signs(folder.path());
        let mut lines = Lines::default();
        for part in ["2026: Liste", "ning for Jobs", "\nRunning", " job: build\nmore"] {
            lines.push(part.as_bytes(), &signs);
            assert_eq!(signs.seen().ready, part.contains('\n'), "{part}");
        }
        assert_eq!(signs.seen().job, Some(Job(Some("Running job: build".to_owned()))));
    }

    #[test]
    fn a_line_without_an_end_is_looked_at_when_there_is_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let signs = signs(folder.path());
        let mut lines = Lines::default();
        lines.push(&vec![b'x'; 1_000_000], &signs);
        assert_eq!(lines.0.len(), LONGEST_LINE, "and no more of it is kept");
        lines.push(b"\nRunning job", &signs);
        assert_eq!(signs.seen().job, None);
        lines.end(&signs);
        assert!(signs.seen().job.is_some());
    }

    #[test]
    fn a_file_tells_its_first_line_and_nothing_that_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let began = folder.path().join("began");
        std::fs::write(&began, "build of run 42\nsecret").unwrap();
        assert_eq!(signs(folder.path()).seen().job, Some(Job(Some("build of run 42".to_owned()))));
        std::fs::remove_file(&began).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &began).unwrap();
        assert_eq!(signs(folder.path()).seen().job, Some(Job(None)), "it is a sign all the same");
    }

    #[test]
    fn a_plan_that_does_not_say_how_a_job_is_seen_is_refused() {
        let folder = Path::new("/");
        assert!(Signs::new(&Runner::default(), folder).unwrap_err().contains("how it is seen"));
        for name in ["", "a/b", "..", "/x"] {
            let runner = Runner { began: vec![Sign::File(name.to_owned())], ..Runner::default() };
            assert!(Signs::new(&runner, folder).unwrap_err().contains("plain name"), "{name}");
        }
    }
}
