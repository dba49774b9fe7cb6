//! Guests of the simulated VMs: the real agent's life, with work that only takes time.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Answer, Ending, Event, Exit, Job, Line, LineError, Machine, Patience, Shortage, Work, live};
use axum::Router;
use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use operator::bootstrap::{Peer, digest};
use protocol::Plan;
use sim::proxmox::{Hardware, Hook};
use tokio::sync::Notify;
use tower::ServiceExt;

/// Where guests find the bootstrap service, and what became of them.
#[derive(Clone, Default)]
pub(crate) struct Guests {
    service: Arc<Mutex<Option<Router>>>,
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
}

impl Guests {
    /// The service is there from now on.
    pub(crate) fn open(&self, router: Router) {
        *self.service.lock().unwrap() = Some(router);
    }

    /// From now on guests boot and do nothing.
    pub(crate) fn without_agent(&self) {
        *self.dead.lock().unwrap() = true;
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
        let patience = Patience::default();
        tokio::select! {
            ending = live(&seed, &hardware.uuid, &line, &Bench, &patience) => {
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
        let router = self.guests.service.lock().unwrap().clone()?;
        let peer = Peer { key: None, ..self.peer.clone() };
        let request = Request::get(path).extension(peer).body(Body::empty()).unwrap();
        let answered = tokio::time::timeout(Duration::from_secs(10), async {
            let response = router.oneshot(request).await.unwrap();
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            (status, String::from_utf8(body.to_vec()).unwrap())
        });
        answered.await.ok()
    }

    async fn send(&self, path: &str, body: Vec<u8>, peer: Peer) -> Result<Answer, LineError> {
        let router = self.guests.service.lock().unwrap().clone();
        let router = router.ok_or_else(|| LineError::Unreachable("nobody is there".to_owned()))?;
        let request = Request::post(path).extension(peer).body(Body::from(body)).unwrap();
        // A service whose process died in the middle never answers.
        let answered = tokio::time::timeout(Duration::from_secs(10), async {
            let response = router.oneshot(request).await.unwrap();
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            Answer::new(status, body.to_vec())
        });
        answered.await.map_err(|_| LineError::Unreachable("no answer".to_owned()))
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

/// Work that only takes time: `sleep N` and `exit CODE after N`.
struct Bench;

struct Toil {
    until: tokio::time::Instant,
    code: i32,
}

impl Machine for Bench {
    type Work = Toil;

    async fn begin(&self, plan: &Plan) -> Result<Toil, String> {
        let words: Vec<&str> = plan.argv.iter().map(String::as_str).collect();
        let (code, seconds) = match words.as_slice() {
            ["sleep", seconds] => (0, seconds.parse().unwrap()),
            ["exit", code, "after", seconds] => (code.parse().unwrap(), seconds.parse().unwrap()),
            other => return Err(format!("{other:?} is no work for a simulated machine")),
        };
        Ok(Toil { until: tokio::time::Instant::now() + Duration::from_secs(seconds), code })
    }

    fn clock(&self) -> i64 {
        0
    }
}

impl Work for Toil {
    async fn next(&mut self) -> Event {
        tokio::time::sleep_until(self.until).await;
        Event::Exited(Exit::Code(self.code))
    }

    fn job(&mut self) -> Option<Job> {
        None
    }

    fn ask(&mut self, _signal: protocol::Signal) {
        self.until = tokio::time::Instant::now();
    }

    async fn end(&mut self) {}

    fn output(&self) -> Option<String> {
        Some("done\n".to_owned())
    }

    fn shortage(&self) -> Option<Shortage> {
        None
    }
}
