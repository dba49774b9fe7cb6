//! Our own programs as tests start them: real processes whose output is read and which signals can reach.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::guard::{Guarded, Sink};
use crate::waiting::{eventually, poll};

/// How long the last words of a program that has ended may take to arrive.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What a test may send to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Please end (SIGTERM).
    Terminate,
    /// What the keyboard sends (SIGINT).
    Interrupt,
    /// Read the configuration again (SIGHUP).
    HangUp,
    /// End at once, as in a crash (SIGKILL).
    Kill,
    /// Freeze (SIGSTOP).
    Stop,
    /// Thaw (SIGCONT).
    Continue,
}

impl From<Signal> for rustix::process::Signal {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Terminate => Self::TERM,
            Signal::Interrupt => Self::INT,
            Signal::HangUp => Self::HUP,
            Signal::Kill => Self::KILL,
            Signal::Stop => Self::STOP,
            Signal::Continue => Self::CONT,
        }
    }
}

/// Which of its two outputs a program wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// A line that a program wrote, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where it was written.
    pub stream: Stream,
    /// What it says.
    pub text: String,
}

type Lines = Arc<Mutex<Vec<Line>>>;

/// A running program; it and what it started are gone when this value is, or when the test is killed.
#[derive(Debug)]
pub struct Program {
    guarded: Mutex<Guarded>,
    lines: Lines,
}

impl Program {
    /// Starts what the command describes: program, arguments, environment changes, directory. Its input is empty.
    pub fn start(command: &Command) -> Self {
        let mut guarded = Guarded::spawn(command, Sink::Pipes).expect("start a program");
        let lines = Lines::default();
        let child = guarded.child();
        let (out, err) = (child.stdout.take(), child.stderr.take());
        collect(Stream::Out, out.expect("a pipe was asked for"), Arc::clone(&lines));
        collect(Stream::Err, err.expect("a pipe was asked for"), Arc::clone(&lines));
        Self { guarded: Mutex::new(guarded), lines }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.guarded().pid()
    }

    /// Sends a signal; a program that has ended gets none.
    pub fn signal(&self, signal: Signal) {
        self.guarded().signal(signal.into()).expect("signal a program of our own");
    }

    /// Kills it as `kill -9` does; returns when it is gone.
    pub fn kill(&self) -> ExitStatus {
        self.guarded().stop().expect("kill a program of our own")
    }

    /// How it ended, if it has.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.guarded().ended().expect("look at a program of our own")
    }

    /// Waits until it ends by itself; panics with its output when it does not in time.
    pub async fn wait(&self, within: Duration) -> ExitStatus {
        let ended = poll(within, async || self.ended()).await;
        assert!(ended.is_some(), "the program still runs after {within:?}; it said:\n{}", self.output());
        // What it said with its last breath may still be on its way; what it started may keep its output open.
        poll(LAST_WORDS, async || self.is_silent().then_some(())).await;
        ended.expect("just checked")
    }

    /// Every line so far, both streams, in the order in which they came.
    pub fn lines(&self) -> Vec<Line> {
        lock(&self.lines).clone()
    }

    /// How many lines there are so far: a point from which [`Self::wait_for_line_after`] looks.
    pub fn mark(&self) -> usize {
        lock(&self.lines).len()
    }

    /// Whether everything that it and its children will ever say has been read.
    pub fn is_silent(&self) -> bool {
        // The readers hold a share of the lines until their pipe ends.
        Arc::strong_count(&self.lines) == 1
    }

    /// Everything so far as one text, for messages.
    pub fn output(&self) -> String {
        self.lines().into_iter().map(|line| line.text + "\n").collect()
    }

    /// Waits for a line that contains `words`, old or new; panics with the whole output when none comes in time.
    pub async fn wait_for_line(&self, words: &str, within: Duration) -> String {
        self.wait_for_line_after(0, words, within).await
    }

    /// Waits for a line that contains `words` and came after the mark.
    pub async fn wait_for_line_after(&self, mark: usize, words: &str, within: Duration) -> String {
        let found = poll(within, async || {
            // Looked at before the lines: a program that has ended may have said the words with its last breath.
            let ended = self.ended();
            let found =
                lock(&self.lines)[mark..].iter().find(|line| line.text.contains(words)).map(|line| line.text.clone());
            match (found, ended) {
                (Some(text), _) => Some(Some(text)),
                (None, Some(_)) if self.is_silent() => Some(None),
                (None, _) => None,
            }
        })
        .await
        .flatten();
        assert!(found.is_some(), "no line with {words:?} within {within:?}; the program said:\n{}", self.output());
        found.expect("just checked")
    }

    /// Waits until `test` holds for all lines so far.
    pub async fn wait_until(&self, what: &str, within: Duration, test: impl Fn(&[Line]) -> bool) {
        eventually(what, within, async || test(&lock(&self.lines)).then_some(())).await;
    }

    /// Waits until `attempt` answers `Some`; panics with the output when that takes too long or the program has ended.
    pub async fn eventually<T>(&self, what: &str, within: Duration, mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
        let found = poll(within, async || {
            let ended = self.ended();
            attempt().await.map(Ok).or_else(|| ended.map(Err))
        })
        .await;
        let wrong = match &found {
            Some(Ok(_)) => None,
            Some(Err(ended)) => Some(format!("it ended with {ended}")),
            None => Some(format!("waited {within:?} in vain")),
        };
        let said = || self.output();
        assert!(wrong.is_none(), "{} before {what}; the program said:\n{}", wrong.unwrap_or_default(), said());
        found.and_then(Result::ok).expect("just checked")
    }

    fn guarded(&self) -> MutexGuard<'_, Guarded> {
        lock(&self.guarded)
    }
}

/// A test that panicked while it held the lock has left nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a pipe to its end on a thread of its own, so that the program never waits for the test to look.
fn collect(stream: Stream, pipe: impl Read + Send + 'static, lines: Lines) {
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut bytes = Vec::new();
        while pipe.read_until(b'\n', &mut bytes).is_ok_and(|length| length > 0) {
            let text = String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
            lock(&lines).push(Line { stream, text });
            bytes.clear();
        }
    });
}
