//! Proving itself: the one request that carries the token.
//!
//! The same key is shown at every try, so that an answer that was lost is given again.

use protocol::{Beacon, Seed, Stage, Start, Welcome, path};
use tokio::time::{Instant, sleep};

use super::Ending;
use super::patience::{Patience, Pauses};
use crate::{Answer, Line, LineError, Machine, VERSION};

/// Uses the token until there is a plan or no hope.
pub(super) async fn start(
    seed: &Seed,
    firmware: &str,
    line: &impl Line,
    machine: &impl Machine,
    patience: &Patience,
) -> Result<Welcome, Ending> {
    let (token, agent) = (seed.token.clone(), VERSION.to_owned());
    let body = Start { token, machine: firmware.to_owned(), agent };
    let body = serde_json::to_vec(&body).expect("texts have a form in JSON");
    let mut tries = Tries::new(patience);
    loop {
        let said = line.post(&path::start(&seed.id), body.clone()).await;
        if let Err(LineError::Untrusted(why)) = &said {
            let beacon = Beacon { stage: Stage::Trust, trouble: why.clone(), clock: machine.clock() };
            let beacon = serde_json::to_vec(&beacon).expect("texts have a form in JSON");
            line.beacon(&path::beacon(&seed.id), beacon).await;
        }
        let pause = match tries.judge(said) {
            Verdict::Welcome(welcome) => return Ok(*welcome),
            Verdict::Again(pause, why) => {
                tracing::warn!(why, ?pause, "trying again");
                pause
            }
            Verdict::Never(ending) => return Err(ending),
        };
        sleep(pause).await;
    }
}

/// What a try means.
enum Verdict {
    Welcome(Box<Welcome>),
    Again(std::time::Duration, String),
    Never(Ending),
}

/// What was tried so far.
struct Tries<'a> {
    patience: &'a Patience,
    began: Instant,
    pauses: Pauses,
    /// Since when nobody is the right one.
    doubted: Option<Instant>,
    refused: u32,
}

impl<'a> Tries<'a> {
    fn new(patience: &'a Patience) -> Self {
        Self { patience, began: Instant::now(), pauses: Pauses::new(patience), doubted: None, refused: 0 }
    }

    fn judge(&mut self, said: Result<Answer, LineError>) -> Verdict {
        match said {
            Ok(answer) => {
                self.doubted = None;
                self.answered(&answer)
            }
            Err(error @ LineError::Unreachable(_)) => self.later(error.to_string(), None),
            Err(error @ LineError::Untrusted(_)) => {
                let since = *self.doubted.get_or_insert_with(Instant::now);
                if since.elapsed() >= self.patience.trust {
                    return Verdict::Never(Ending::Untrusted(error.to_string()));
                }
                Verdict::Again(self.pauses.next(None), error.to_string())
            }
        }
    }

    fn answered(&mut self, answer: &Answer) -> Verdict {
        let status = answer.status;
        if answer.is_success() {
            return match serde_json::from_slice(&answer.body) {
                Ok(welcome) => Verdict::Welcome(Box::new(welcome)),
                // Not the reader's own words, which may show a part of the plan.
                Err(error) => Verdict::Never(Ending::Refused(format!(
                    "the service answered what is no plan (line {}, column {}): use an image with the agent of the \
                     operator's version",
                    error.line(),
                    error.column()
                ))),
            };
        }
        if answer.may_pass() {
            return self.later(format!("the service answered {status}"), answer.retry_after);
        }
        if status == 403 && self.refused < self.patience.refusals {
            self.refused += 1;
            return Verdict::Again(self.patience.refusal_pause, "the service refused us".to_owned());
        }
        let why = format!("the service refused us with {status}: its log says why");
        Verdict::Never(Ending::Refused(why))
    }

    fn later(&mut self, why: String, asked: Option<std::time::Duration>) -> Verdict {
        if self.began.elapsed() >= self.patience.connect {
            return Verdict::Never(Ending::Unreachable(why));
        }
        Verdict::Again(self.pauses.next(asked), why)
    }
}
