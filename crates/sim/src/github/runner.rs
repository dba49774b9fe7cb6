//! What runners connect to, and the blob that they connect with.

mod contact;
mod jit;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use contact::Register;
pub(crate) use jit::{Credentials, decode, encode};

use super::Simulator;
use super::model::Conclusion;
use super::world::{Shared, World};

/// What the service tells a runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Errand {
    /// Run a job.
    Run {
        /// Its number.
        job: u64,
        /// Its name.
        name: String,
        /// Where it is from.
        repository: String,
        /// Its run.
        run: u64,
        /// The attempt of the run.
        attempt: u64,
        /// How long it takes.
        span: Duration,
        /// How it ends.
        conclusion: Conclusion,
    },
    /// End a job early.
    Cancel {
        /// Its number.
        job: u64,
    },
    /// Nothing has happened.
    Nothing,
}

/// Why a runner is sent away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such registration any more.
    #[error("the runner registration has been deleted from the server")]
    Gone,
    /// Another runner holds a session with it.
    #[error("a session for this runner already exists")]
    Conflict,
}

/// A runner in this process. Dropped without [`Listener::leave`], it falls silent as a machine does that is switched off.
pub struct Listener {
    world: Shared,
    session: String,
    /// The registration's number.
    pub id: u64,
}

impl Listener {
    /// Waits for what the service has to say, as long as a poll takes.
    pub async fn next(&self) -> Result<Errand, Refused> {
        World::poll(&self.world, &self.session).await
    }

    /// Reports how the job ended.
    pub fn finish(&self, job: u64, conclusion: Conclusion) -> Result<(), Refused> {
        self.world.finish(&self.session, job, conclusion)
    }

    /// Ends the session in order.
    pub fn leave(self) {
        self.world.hang_up(&self.session);
    }
}

impl Simulator {
    /// A runner connects with what it was configured with.
    pub fn listen(&self, jit_config: &str) -> Result<Listener, Refused> {
        let Credentials { secret, .. } = decode(jit_config).ok_or(Refused::Gone)?;
        let (id, session) = self.world.open(&secret)?;
        Ok(Listener { world: Arc::clone(&self.world), session, id })
    }

    /// A runner's whole life: it connects, waits for a job, runs it and reports how it ended.
    pub async fn work(&self, jit_config: &str) -> Result<Conclusion, Refused> {
        let listener = self.listen(jit_config)?;
        loop {
            let Errand::Run { job, span, conclusion, .. } = listener.next().await? else { continue };
            let ended = ended(&listener, job, span, conclusion).await?;
            listener.finish(job, ended)?;
            return Ok(ended);
        }
    }
}

/// How a job ends: as it should, unless somebody cancels it first.
async fn ended(listener: &Listener, job: u64, span: Duration, planned: Conclusion) -> Result<Conclusion, Refused> {
    let over = tokio::time::sleep(span);
    tokio::pin!(over);
    loop {
        tokio::select! {
            biased;
            () = &mut over => return Ok(planned),
            told = listener.next() => {
                if told? == (Errand::Cancel { job }) {
                    return Ok(Conclusion::Cancelled);
                }
            }
        }
    }
}
