//! The machine as the agent in a simulated VM sees it: it runs the stand-in for GitHub's runner, which takes a job over the
//! network, lets its time pass and says how it ended.

use std::io::{self, Write};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent::{Event, Exit, Job, Machine, Shortage, Work};
use chassis::Clock;
use protocol::Plan;
use sim::github::Standin;
use tokio::sync::{Notify, oneshot};

/// What the real program prints when it waits for a job, and when one begins.
const LISTENING: &str = "Listening for Jobs";
const RUNNING: &str = "Running job: ";

/// How long a runner tries for its session.
const PATIENCE: Duration = Duration::from_secs(20);

/// A machine that can run jobs of GitHub.
pub(super) struct Workbench {
    /// Where the runner's files are.
    pub(super) home: PathBuf,
    /// Whom it trusts.
    pub(super) trust: PathBuf,
    pub(super) clock: Clock,
}

impl Machine for Workbench {
    type Work = Shift;

    async fn begin(&self, plan: &Plan) -> Result<Shift, String> {
        if plan.runner.is_none() {
            return Err("the demo's machines run jobs of GitHub and no commands".to_owned());
        }
        let variable = |name: &str| plan.env.get(name).cloned();
        let jit_config = variable("ACTIONS_RUNNER_INPUT_JITCONFIG").ok_or("the plan has no configuration")?;
        std::fs::create_dir_all(&self.home).map_err(|error| format!("the runner has no directory: {error}"))?;
        let standin = Standin {
            jit_config,
            root: self.home.clone(),
            return_job_result: variable("ACTIONS_RUNNER_RETURN_JOB_RESULT_FOR_HOSTED").is_some(),
            job_started: None,
            job_completed: None,
            trust: Some(self.trust.clone()),
            patience: PATIENCE,
        };
        Ok(Shift::new(standin, self.clock))
    }

    fn clock(&self) -> i64 {
        self.clock.now().as_second()
    }
}

/// A runner at work; dropped, it falls silent as one does whose machine is switched off.
pub(super) struct Shift {
    /// Nobody waits for this lock: it lets the agent hand the shift from thread to thread.
    life: Mutex<Option<Pin<Box<dyn Future<Output = u8> + Send>>>>,
    home: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    heard: Arc<Heard>,
    told: Signs,
    exit: Option<Exit>,
}

/// What was seen of a runner.
#[derive(Clone, Copy, Debug, Default)]
struct Signs {
    listening: bool,
    began: bool,
}

/// What a runner prints, as far as somebody listens.
#[derive(Default)]
struct Heard {
    signs: Mutex<Signs>,
    news: Notify,
}

impl Heard {
    fn signs(&self) -> Signs {
        *self.signs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a runner prints: each line comes whole.
struct Ear(Arc<Heard>, String);

impl Write for Ear {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let Self(heard, text) = self;
        let mut signs = heard.signs.lock().unwrap_or_else(PoisonError::into_inner);
        signs.listening |= text.contains(LISTENING);
        signs.began |= text.contains(RUNNING);
        text.clear();
        heard.news.notify_one();
        Ok(())
    }
}

impl Shift {
    fn new(standin: Standin, clock: Clock) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let (heard, home) = (Arc::<Heard>::default(), standin.root.clone());
        let ear = Ear(Arc::clone(&heard), String::new());
        let life = async move {
            let asked = async move {
                // Whoever is gone asks for nothing any more.
                if stopped.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            standin.run(ear, clock, Box::pin(asked)).await
        };
        Self {
            life: Mutex::new(Some(Box::pin(life))),
            home,
            stop: Some(stop),
            heard,
            told: Signs::default(),
            exit: None,
        }
    }

    fn fall_silent(&mut self) {
        *self.life.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// A sign that was not told yet.
    fn news(&mut self) -> Option<Event> {
        let seen = self.heard.signs();
        if seen.began && !self.told.began {
            self.told = seen;
            return Some(Event::Began(Job(None)));
        }
        if seen.listening && !self.told.listening {
            self.told.listening = true;
            return Some(Event::Ready);
        }
        None
    }
}

impl Work for Shift {
    async fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.news() {
                return event;
            }
            if let Some(exit) = self.exit {
                return Event::Exited(exit);
            }
            let life = self.life.get_mut().unwrap_or_else(PoisonError::into_inner);
            let Some(life) = life else { return Event::Exited(Exit::Code(-1)) };
            tokio::select! {
                biased;
                code = life => self.exit = Some(Exit::Code(i32::from(code))),
                () = self.heard.news.notified() => {}
            }
        }
    }

    fn job(&mut self) -> Option<Job> {
        self.heard.signs().began.then_some(Job(None))
    }

    fn ask(&mut self, _signal: protocol::Signal) {
        if let Some(stop) = self.stop.take() {
            // One that has exited already hears nothing.
            let _ = stop.send(());
        }
    }

    async fn end(&mut self) {
        self.fall_silent();
    }

    fn output(&self) -> Option<String> {
        None
    }

    fn shortage(&self) -> Option<Shortage> {
        None
    }
}

impl Drop for Shift {
    fn drop(&mut self) {
        self.fall_silent();
        // The disk goes with the machine.
        let _ = std::fs::remove_dir_all(&self.home);
    }
}
