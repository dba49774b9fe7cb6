//! Guests of the simulated VMs: the real agent's life, with work that only takes time.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Answer, Ending, Event, Exit, Job, Line, LineError, Machine, Patience, Shortage, Work, live};
use axum::Router;
use axum::body::Body;
use chassis::Clock;
use http::Request;
use http_body_util::BodyExt;
use operator::bootstrap::{Peer, digest};
use protocol::Plan;
use sim::github::{self, Conclusion, Errand, Listener};
use sim::proxmox::{Hardware, Hook};
use tokio::sync::Notify;
use tokio::time::Instant;
use tower::ServiceExt;

/// Where guests find the bootstrap service, and what became of them.
#[derive(Clone, Default)]
pub(crate) struct Guests {
    /// The service, by the replica that it is on.
    service: Arc<Mutex<BTreeMap<String, Router>>>,
    /// Where platforms deliver, by the replica that it is on.
    ingress: Arc<Mutex<BTreeMap<String, Router>>>,
    endings: Arc<Mutex<Vec<(u32, Ending)>>>,
    /// Seeds that were read, by the VM's firmware.
    seeds: Arc<Mutex<BTreeMap<String, protocol::Seed>>>,
    /// What their cloud-init fetched, by file.
    fetched: Arc<Mutex<Vec<(String, String)>>>,
    /// Serial numbers in their firmware.
    serials: Arc<Mutex<Vec<String>>>,
    /// Guests that never get to their agent.
    dead: Arc<Mutex<bool>>,
    /// Ends the agents of guests that run.
    kill: Arc<Notify>,
    /// Where those that are runners find their jobs, and the right time.
    office: Arc<Mutex<Option<(github::Simulator, Clock)>>>,
    /// Credentials that runners were given.
    credentials: Arc<Mutex<Vec<String>>>,
    /// Requests so far, where each goes to the next replica first.
    turn: Arc<Mutex<Option<usize>>>,
}

impl Guests {
    /// The service is there from now on.
    pub(crate) fn open(&self, replica: &str, router: Router) {
        self.service.lock().unwrap().insert(replica.to_owned(), router);
    }

    /// Deliveries are heard there from now on.
    pub(crate) fn hear(&self, replica: &str, router: Router) {
        self.ingress.lock().unwrap().insert(replica.to_owned(), router);
    }

    /// That replica is dead: nobody is sent there any more.
    pub(crate) fn close(&self, replica: &str) {
        self.service.lock().unwrap().remove(replica);
        self.ingress.lock().unwrap().remove(replica);
    }

    /// Who asks begins with another replica each time from now on, as behind a load balancer. Elsewhere the first that was
    /// opened is where a name leads, whoever else is there.
    pub(crate) fn balance(&self) {
        self.turn.lock().unwrap().get_or_insert(0);
    }

    /// Takes deliveries to one replica, as a load balancer does; whichever it is, it may die in the middle.
    pub(crate) fn receiver(&self) -> github::Receiver {
        let (ingress, turn) = (Arc::clone(&self.ingress), Arc::new(Mutex::new(0_usize)));
        github::Receiver::function(move |request| {
            let doors: Vec<Router> = ingress.lock().unwrap().values().cloned().collect();
            let mut turn = turn.lock().unwrap();
            *turn += 1;
            let door = doors.get(*turn % doors.len().max(1)).cloned();
            Box::pin(async move {
                let (head, body) = request.into_parts();
                let answer = door?.oneshot(Request::from_parts(head, Body::from(body))).await;
                Some(answer.ok()?.status().as_u16())
            })
        })
    }

    /// Somebody asks one replica after the other: one that is cut off from its API server answers 503 at once, one whose
    /// process died in the middle never answers.
    async fn ask(&self, request: impl Fn() -> Request<Body>) -> Option<(u16, Vec<u8>)> {
        let mut doors: Vec<Router> = self.service.lock().unwrap().values().cloned().collect();
        if let Some(turn) = self.turn.lock().unwrap().as_mut() {
            *turn += 1;
            let first = *turn % doors.len().max(1);
            doors.rotate_left(first);
        }
        let patience = Duration::from_secs(10) / u32::try_from(doors.len().max(1)).unwrap();
        for door in doors {
            let answered = tokio::time::timeout(patience, async {
                let response = door.oneshot(request()).await.unwrap();
                let status = response.status().as_u16();
                (status, response.into_body().collect().await.unwrap().to_bytes().to_vec())
            });
            if let Ok(answer) = answered.await {
                return Some(answer);
            }
        }
        None
    }

    /// From now on guests boot and do nothing.
    pub(crate) fn without_agent(&self) {
        *self.dead.lock().unwrap() = true;
    }

    /// From now on guests boot as they should.
    pub(crate) fn with_agent(&self) {
        *self.dead.lock().unwrap() = false;
    }

    /// Those that are runners find their jobs there.
    pub(crate) fn employ(&self, github: &github::Simulator, clock: Clock) {
        *self.office.lock().unwrap() = Some((github.clone(), clock));
    }

    pub(crate) fn credentials(&self) -> Vec<String> {
        self.credentials.lock().unwrap().clone()
    }

    /// Kills the agents that run now, and nothing else: their VMs go on without them.
    pub(crate) fn kill_agents(&self) {
        self.kill.notify_waiters();
    }

    pub(crate) fn endings(&self) -> Vec<(u32, Ending)> {
        self.endings.lock().unwrap().clone()
    }

    pub(crate) fn seeds(&self) -> Vec<protocol::Seed> {
        self.seeds.lock().unwrap().values().cloned().collect()
    }

    pub(crate) fn fetched(&self) -> Vec<(String, String)> {
        self.fetched.lock().unwrap().clone()
    }

    pub(crate) fn serials(&self) -> Vec<String> {
        self.serials.lock().unwrap().clone()
    }

    /// What a started VM does.
    pub(crate) fn hook(&self) -> Hook {
        let guests = self.clone();
        Hook::Inhabited(Arc::new(move |hardware| {
            let guests = guests.clone();
            Box::pin(async move { guests.inhabit(hardware).await })
        }))
    }

    async fn inhabit(&self, hardware: Hardware) {
        if *self.dead.lock().unwrap() {
            std::future::pending::<()>().await;
        }
        let disc = hardware.discs.iter().find_map(|(_, disc)| agent::seed::file(disc, protocol::FILE).ok());
        let found = disc.and_then(|text| agent::seed::parse(text).ok());
        let Some(seed) = found.or_else(|| agent::seed::engraved(&hardware.family).ok()) else {
            return std::future::pending().await;
        };
        self.seeds.lock().unwrap().insert(hardware.uuid.clone(), seed.clone());
        let line = self.line(hardware.vmid, &hardware.uuid);
        self.serials.lock().unwrap().push(hardware.serial.clone());
        let fetched = line.cloud_init(&hardware.serial).await;
        self.fetched.lock().unwrap().extend(fetched);
        let (patience, bench) = (Patience::default(), Bench(self.clone()));
        tokio::select! {
            biased;
            ending = live(&seed, &hardware.uuid, &line, &bench, &patience) => {
                self.endings.lock().unwrap().push((hardware.vmid, ending));
            }
            () = self.kill.notified() => std::future::pending().await,
        }
    }

    /// The service as the guest of this VM reaches it, with the guest's own key.
    pub(crate) fn line(&self, vmid: u32, uuid: &str) -> Through {
        let address = IpAddr::from([10, 0, 0, vmid.to_be_bytes()[3]]);
        let key = Some(digest(format!("key of a run of {uuid}").as_bytes()));
        Through { guests: self.clone(), peer: Peer { address, key } }
    }
}

/// The service as a guest reaches it.
pub(crate) struct Through {
    pub(crate) guests: Guests,
    pub(crate) peer: Peer,
}

impl Through {
    /// What cloud-init does with a serial number that leads it to a seed: fetches the files, ten times each if it must.
    async fn cloud_init(&self, serial: &str) -> Vec<(String, String)> {
        let Some(address) = serial.strip_prefix("ds=nocloud-net;s=https://bootstrap:8444") else { return Vec::new() };
        let mut fetched = Vec::new();
        for file in ["meta-data", "user-data", "vendor-data"] {
            for _ in 0..10 {
                if let Some((200, text)) = self.get(&format!("{address}{file}")).await {
                    fetched.push((file.to_owned(), text));
                    break;
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        fetched
    }

    /// Somebody without a key reads something.
    pub(crate) async fn get(&self, path: &str) -> Option<(u16, String)> {
        let peer = Peer { key: None, ..self.peer.clone() };
        let request = || Request::get(path).extension(peer.clone()).body(Body::empty()).unwrap();
        let (status, body) = self.guests.ask(request).await?;
        Some((status, String::from_utf8(body).unwrap()))
    }

    async fn send(&self, path: &str, body: Vec<u8>, peer: Peer) -> Result<Answer, LineError> {
        let request = || Request::post(path).extension(peer.clone()).body(Body::from(body.clone())).unwrap();
        let answer = self.guests.ask(request).await.map(|(status, body)| Answer::new(status, body));
        answer.ok_or_else(|| LineError::Unreachable("no answer".to_owned()))
    }
}

impl Line for Through {
    async fn post(&self, path: &str, body: Vec<u8>) -> Result<Answer, LineError> {
        self.send(path, body, self.peer.clone()).await
    }

    async fn beacon(&self, path: &str, body: Vec<u8>) {
        let _ = self.send(path, body, Peer { key: None, ..self.peer.clone() }).await;
    }
}

/// Work that only takes time: `sleep N`, `exit CODE after N`, and the jobs of a runner.
struct Bench(Guests);

enum Toil {
    Command { until: Instant, code: i32 },
    Runner(Box<Shift>),
}

impl Machine for Bench {
    type Work = Toil;

    async fn begin(&self, plan: &Plan) -> Result<Toil, String> {
        if plan.runner.is_some() {
            let credential = plan.env.get("ACTIONS_RUNNER_INPUT_JITCONFIG").ok_or("no configuration")?.clone();
            self.0.credentials.lock().unwrap().push(credential.clone());
            let office = self.0.office.lock().unwrap().clone();
            let (github, _) = office.ok_or("there is no GitHub")?;
            return Ok(Toil::Runner(Box::new(Shift::new(github, credential))));
        }
        let words: Vec<&str> = plan.argv.iter().map(String::as_str).collect();
        let (code, seconds) = match words.as_slice() {
            ["sleep", seconds] => (0, seconds.parse().unwrap()),
            ["exit", code, "after", seconds] => (code.parse().unwrap(), seconds.parse().unwrap()),
            other => return Err(format!("{other:?} is no work for a simulated machine")),
        };
        Ok(Toil::Command { until: Instant::now() + Duration::from_secs(seconds), code })
    }

    fn clock(&self) -> i64 {
        self.0.office.lock().unwrap().as_ref().map_or(0, |(_, clock)| clock.now().as_second())
    }
}

impl Work for Toil {
    async fn next(&mut self) -> Event {
        match self {
            Self::Command { until, code } => {
                tokio::time::sleep_until(*until).await;
                Event::Exited(Exit::Code(*code))
            }
            Self::Runner(shift) => shift.next().await,
        }
    }

    fn job(&mut self) -> Option<Job> {
        match self {
            Self::Command { .. } => None,
            Self::Runner(shift) => shift.job.as_ref().map(|_| Job(None)),
        }
    }

    fn ask(&mut self, _signal: protocol::Signal) {
        match self {
            Self::Command { until, .. } => *until = Instant::now(),
            Self::Runner(shift) => shift.asked = true,
        }
    }

    async fn end(&mut self) {
        if let Self::Runner(shift) = self {
            shift.listener = None;
        }
    }

    fn output(&self) -> Option<String> {
        Some("done\n".to_owned())
    }

    fn shortage(&self) -> Option<Shortage> {
        None
    }
}

/// What the real runner does with a job, without the job.
struct Shift {
    github: github::Simulator,
    credential: String,
    listener: Option<Listener>,
    connected: bool,
    asked: bool,
    /// The job's number, its end and how it ends.
    job: Option<(u64, Instant, Conclusion)>,
    exit: Option<i32>,
}

impl Shift {
    fn new(github: github::Simulator, credential: String) -> Self {
        Self { github, credential, listener: None, connected: false, asked: false, job: None, exit: None }
    }

    async fn next(&mut self) -> Event {
        loop {
            if let Some(code) = self.exit {
                return Event::Exited(Exit::Code(code));
            }
            let Some(listener) = &self.listener else {
                match self.github.listen(&self.credential) {
                    Ok(listener) => (self.listener, self.connected) = (Some(listener), true),
                    Err(_) => self.exit = Some(1),
                }
                if self.connected {
                    return Event::Ready;
                }
                continue;
            };
            match self.job {
                None if self.asked => {
                    self.listener.take().into_iter().for_each(Listener::leave);
                    self.exit = Some(0);
                }
                None => match listener.next().await {
                    Ok(Errand::Run { job, name, span, conclusion, .. }) => {
                        self.job = Some((job, Instant::now() + span, conclusion));
                        return Event::Began(Job(Some(name)));
                    }
                    Ok(Errand::Cancel { .. } | Errand::Nothing) => {}
                    Err(_) => self.exit = Some(1),
                },
                Some((job, until, planned)) => {
                    let ended = tokio::select! {
                        biased;
                        () = tokio::time::sleep_until(until) => Some(planned),
                        told = listener.next() => match told {
                            Ok(errand) => (errand == Errand::Cancel { job }).then_some(Conclusion::Cancelled),
                            Err(_) => Some(Conclusion::Failure),
                        },
                    };
                    if let Some(conclusion) = ended {
                        let _ = listener.finish(job, conclusion);
                        self.exit = Some(code(conclusion));
                    }
                }
            }
        }
    }
}

/// The exit code that tells a result.
const fn code(conclusion: Conclusion) -> i32 {
    match conclusion {
        Conclusion::Success => 100,
        Conclusion::Failure | Conclusion::TimedOut => 102,
        Conclusion::Cancelled => 103,
        Conclusion::Skipped => 104,
    }
}
