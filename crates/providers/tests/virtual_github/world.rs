//! A simulated GitHub that makes jobs, runners and trouble when the kit asks for them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use providers::http::Client;
use providers::platform::github::{Credentials, GitHub, Scope, Settings, Site};
use providers::platform::kit::{Bench, Delivery, Trouble, Unavailable};
use providers::platform::{Grant, JobKey, Marker};
use secrecy::{ExposeSecret as _, SecretString};
use sim::github::{
    CLIENT_ID, Conclusion, ENTERPRISE, Errand, FaultKind, FaultRule, HOOK_SECRET, HookOwner, HookWeather,
    INSTALLATION_ID, JobSpec, Listener, ORGANIZATION, Options, PERSONAL_TOKEN, REPOSITORY, Receiver, Simulator, Status,
};
use sim::{Clock, Tasks};
use tokio::sync::oneshot;

pub(crate) const SCOPES: &[&str] = &["repo", "admin:org", "admin:org_hook", "admin:repo_hook"];

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Token,
    App,
}

/// The platform, and the GitHub it talks to.
pub(crate) struct World {
    pub(crate) github: GitHub,
    pub(crate) sim: Simulator,
    pub(crate) clock: Clock,
    caller: Caller,
    inbox: Arc<Mutex<Vec<Delivery>>>,
    runs: Mutex<Vec<u64>>,
    running: Mutex<BTreeMap<String, oneshot::Sender<()>>>,
    tasks: Tasks,
    count: AtomicUsize,
}

pub(crate) fn epoch() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

pub(crate) fn options() -> Options {
    Options::new(Clock::starting_at(epoch()))
}

pub(crate) fn organization() -> Scope {
    Scope::Organization(ORGANIZATION.to_owned())
}

pub(crate) fn enterprise() -> Scope {
    Scope::Enterprise(ENTERPRISE.to_owned())
}

pub(crate) fn repository() -> Scope {
    let (owner, name) = REPOSITORY.split_once('/').unwrap();
    Scope::Repository { owner: owner.to_owned(), name: name.to_owned() }
}

pub(crate) fn credentials(caller: Caller, sim: &Simulator) -> Credentials {
    match caller {
        Caller::Token => Credentials::Token(PERSONAL_TOKEN.into()),
        Caller::App => Credentials::App {
            id: CLIENT_ID.to_owned(),
            key: sim.app_key().pem().into(),
            installation: INSTALLATION_ID,
        },
    }
}

/// A platform over a simulator, with a clock of its own.
pub(crate) fn platform(
    sim: &Simulator,
    caller: Caller,
    scope: Scope,
    sessions: bool,
    clock: Clock,
    web: &str,
) -> GitHub {
    let settings = Settings {
        site: Site::parse(web).unwrap(),
        scope,
        credentials: credentials(caller, sim),
        group: None,
        sessions,
        budget: None,
        now: Arc::new(move || clock.now()),
    };
    let service = sim.service();
    GitHub::new(settings, Arc::new(move |_| Ok(Client::over("github", service.clone())))).unwrap()
}

impl World {
    pub(crate) fn new(caller: Caller, scope: Scope, sessions: bool) -> Self {
        Self::over(options(), caller, scope, sessions)
    }

    pub(crate) fn over(options: Options, caller: Caller, scope: Scope, sessions: bool) -> Self {
        let (tasks, clock) = (Tasks::new(), options.clock);
        let web = options.web.clone().unwrap_or_else(|| "https://github.com".to_owned());
        let sim = Simulator::new(options, &tasks);
        let github = platform(&sim, caller, scope.clone(), sessions, clock, &web);
        let inbox: Arc<Mutex<Vec<Delivery>>> = Arc::default();
        let kept = Arc::clone(&inbox);
        let receiver = Receiver::function(move |request| {
            let (head, body) = request.into_parts();
            kept.lock().unwrap().push(Delivery { headers: head.headers, body });
            Box::pin(async { Some(202) })
        });
        let owner = match (caller, scope) {
            (Caller::App, _) => HookOwner::App,
            (Caller::Token, Scope::Repository { .. }) => {
                HookOwner::Of(sim::github::Scope::Repository(REPOSITORY.to_owned()))
            }
            (Caller::Token, Scope::Organization(_)) => {
                HookOwner::Of(sim::github::Scope::Organization(ORGANIZATION.to_owned()))
            }
            (Caller::Token, Scope::Enterprise(_)) => {
                HookOwner::Of(sim::github::Scope::Enterprise(ENTERPRISE.to_owned()))
            }
        };
        sim.add_hook(owner, "https://hooks.example/", HOOK_SECRET, receiver);
        Self {
            github,
            sim,
            clock,
            caller,
            inbox,
            runs: Mutex::default(),
            running: Mutex::default(),
            tasks,
            count: AtomicUsize::new(0),
        }
    }

    pub(crate) fn received(&self) -> Vec<Delivery> {
        std::mem::take(&mut *self.inbox.lock().unwrap())
    }

    pub(crate) fn fault(&self, rule: FaultRule) {
        self.sim.set_faults(vec![rule]);
    }
}

/// A runner that runs what it is given until somebody says that it is done.
async fn work(listener: Listener, mut done: oneshot::Receiver<()>) {
    let mut held = None;
    loop {
        tokio::select! {
            told = listener.next() => match told {
                Ok(Errand::Run { job, .. }) => held = Some(job),
                Ok(Errand::Cancel { job }) => {
                    let _ = listener.finish(job, Conclusion::Cancelled);
                    return;
                }
                Ok(Errand::Nothing) => {}
                Err(_) => return,
            },
            said = &mut done => {
                if let (Ok(()), Some(job)) = (said, held) {
                    let _ = listener.finish(job, Conclusion::Success);
                }
                return;
            }
        }
    }
}

impl Bench for World {
    fn pool(&self) -> Vec<String> {
        vec!["kit".to_owned()]
    }

    fn marker(&self) -> Marker {
        Marker::of("5e3c1b6a")
    }

    fn secret(&self) -> SecretString {
        HOOK_SECRET.into()
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn nobody(&self) -> JobKey {
        JobKey::new(format!("{REPOSITORY}/job/999999999/1"))
    }

    async fn queue(&self, labels: &[String]) -> Result<String, Unavailable> {
        let name = format!("kit-{}", self.count.fetch_add(1, Ordering::Relaxed));
        let spec = JobSpec { labels: labels.to_vec(), ..JobSpec::new(&name, &[]) };
        let (run, _) = self.sim.queue(REPOSITORY, &[spec]).unwrap();
        self.runs.lock().unwrap().push(run);
        Ok(name)
    }

    async fn cancel(&self) -> Result<(), Unavailable> {
        let runs = std::mem::take(&mut *self.runs.lock().unwrap());
        for run in &runs {
            self.sim.cancel(*run);
        }
        // A rerun is another attempt of a run.
        while self.sim.jobs().iter().any(|job| job.status != Status::Completed) {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Ok(())
    }

    async fn deliveries(&self) -> Result<Vec<Delivery>, Unavailable> {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(self.received())
    }

    async fn connect(&self, grant: &Grant) -> Result<(), Unavailable> {
        let listener = self.sim.listen(grant.credential.expose_secret()).map_err(|why| Unavailable(why.to_string()))?;
        let (done, wait) = oneshot::channel();
        self.running.lock().unwrap().insert(grant.runner.name.clone(), done);
        self.tasks.spawn("runner", work(listener, wait));
        Ok(())
    }

    async fn finish(&self, runner: &str) -> Result<(), Unavailable> {
        let done = self.running.lock().unwrap().remove(runner);
        done.ok_or_else(|| Unavailable(format!("{runner} is not connected")))?.send(()).unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(())
    }

    async fn arrange(&self, trouble: Trouble) -> Result<(), Unavailable> {
        match trouble {
            Trouble::RefusedCredential => {
                self.fault(FaultRule { status: Some(401), times: Some(0), ..FaultRule::new(FaultKind::Answer) });
            }
            Trouble::MissingPermission => match self.caller {
                Caller::Token => self.sim.add_token(PERSONAL_TOKEN, "octocat", &["user"]),
                Caller::App => {
                    for name in ["organization_self_hosted_runners", "administration"] {
                        self.sim.set_permission(name, None);
                    }
                }
            },
            Trouble::LostMintAnswer => self.fault(FaultRule::new(FaultKind::Lost).on("POST", "/generate")),
            Trouble::RateLimited(span) => self.fault(
                FaultRule { seconds: Some(span.as_secs_f64()), ..FaultRule::new(FaultKind::SecondaryLimit) }
                    .on("POST", "/generate"),
            ),
            Trouble::FailingDeliveries => self.sim.set_weather(HookWeather { fail: 1.0, ..HookWeather::default() }),
        }
        Ok(())
    }

    async fn calm(&self) {
        self.sim.set_faults(Vec::new());
        self.sim.set_weather(HookWeather::default());
        self.sim.add_token(PERSONAL_TOKEN, "octocat", SCOPES);
        for name in ["organization_self_hosted_runners", "administration"] {
            self.sim.set_permission(name, Some("write"));
        }
    }
}
