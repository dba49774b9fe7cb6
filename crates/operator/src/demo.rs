//! `hyperfleet demo`: the whole thing in one process, without a cluster and without a hypervisor.
//!
//! ```text
//!   GitHub (simulated) ──jobs──▶ the real operator ──▶ Proxmox VE (simulated)
//!        ▲                          │   ▲    │                │ VMs, each with the real agent in it
//!        │                          ▼   │    └── bootstrap ◀──┘
//!        │                    our own API server
//!        └────────── a stand-in for the runner takes the job, and lets its time pass
//! ```
//!
//! Everything talks over TLS on loopback, as it would over a network; only the hypervisor, the platform and what a job does are
//! simulated. What there was before the first job is counted, and counted again after the last: that is the proof that nothing
//! is left.

mod audience;
mod chronicle;
mod fault;
mod guests;
mod home;
mod keep;
mod operate;
mod picture;
mod play;
mod proof;
mod scene;
mod story;
mod strike;
mod tempo;
mod track;
mod verdict;
mod workbench;
mod world;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use chassis::Clock;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

pub(crate) use fault::{Fault, listed};
pub(crate) use tempo::Tempo;

use audience::{Audience, FRAME, Left};
use chronicle::{Chronicle, Mood};
use home::Home;
use operate::Operator;
use picture::Frame;
use play::{Outcome, play};
use scene::Scene;
use strike::Hand;
use world::World;

use crate::print;

/// How long the operator may take to end.
const GRACE: Duration = Duration::from_secs(3);

/// The same where somebody waits to be gone.
const HASTE: Duration = Duration::from_millis(700);

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) jobs: usize,
    pub(crate) fault: Option<Fault>,
    pub(crate) tempo: Tempo,
    /// Whether to stay after the jobs.
    pub(crate) keep: bool,
    /// Whether lines are wanted and no picture.
    pub(crate) plain: bool,
}

/// Shows it all; the exit code says whether everything went as it should.
pub(crate) async fn run(order: Order) -> anyhow::Result<ExitCode> {
    let mut audience = Audience::new(order.plain)?;
    let mut chronicle = Chronicle::new(Clock::system().now());
    let home = Home::new().context("no directory can be made for the demo's files")?;
    let ended = show(&order, &home, &mut audience, &mut chronicle).await;
    audience.curtain(&chronicle).await;
    match ended {
        Ok(0) => Ok(ExitCode::SUCCESS),
        Ok(code) => {
            keep_log(home);
            Ok(ExitCode::from(code))
        }
        Err(Stopped::Left(Left(code))) => Ok(ExitCode::from(code)),
        Err(Stopped::Failed(error)) => {
            keep_log(home);
            Err(error)
        }
    }
}

/// Says where the log is, if there is one.
fn keep_log(home: Home) {
    if home.log().exists()
        && let Ok(log) = home.keep_log()
    {
        print::note(&format!("The operator's log: {}", log.display()));
    }
}

/// Why there is no verdict.
enum Stopped {
    /// Somebody left.
    Left(Left),
    /// Something that has nothing to do with jobs went wrong.
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for Stopped {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

/// From the first server to the last word; the exit code. Everything that was started has ended when this returns.
async fn show(order: &Order, home: &Home, audience: &mut Audience, chronicle: &mut Chronicle) -> Result<u8, Stopped> {
    chronicle.add(chronicle.since, Mood::Calm, "an API server, a Proxmox VE and a GitHub start in this process");
    let world = tokio::select! {
        left = audience.left() => return Err(Stopped::Left(left)),
        world = World::start(home, order.tempo, order.fault) => Arc::new(world?),
    };
    let mut operator = Operator::start(&world, home).context("the operator cannot be started")?;
    let ended = perform(order, home, &world, &mut operator, audience, chronicle).await;
    operator.end(if ended.is_ok() { GRACE } else { HASTE }).await;
    if let Some(world) = Arc::into_inner(world) {
        world.end(if ended.is_ok() { GRACE } else { HASTE }).await;
    }
    ended
}

async fn perform(
    order: &Order,
    home: &Home,
    world: &World,
    operator: &mut Operator,
    audience: &mut Audience,
    chronicle: &mut Chronicle,
) -> Result<u8, Stopped> {
    let (tell, mut heard) = mpsc::unbounded_channel();
    let say = move |text: String| drop(tell.send(text));
    let hand = Hand { world, tempo: order.tempo, say: &say, operator: &operator.wanted };
    let mut played = Box::pin(play(order, &hand));
    let mut frames = tokio::time::interval(FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut stage = Watch { order, world, audience, chronicle };
    let outcome: Outcome = loop {
        tokio::select! {
            outcome = &mut played => break outcome?,
            left = stage.audience.left() => return Err(Stopped::Left(left)),
            failed = &mut operator.failed => {
                let why = failed.unwrap_or_else(|_| anyhow::anyhow!("nobody knows why"));
                return Err(Stopped::Failed(why.context("the operator has ended")));
            }
            Some(text) = heard.recv() => stage.hear(&text),
            _ = frames.tick() => stage.look()?,
        }
    };
    drop(played);
    while let Ok(text) = heard.try_recv() {
        stage.hear(&text);
    }
    stage.look()?;
    let Watch { audience, chronicle, .. } = stage;
    audience.curtain(chronicle).await;
    let verdict = verdict::verdict(order, &outcome, chronicle);
    print::out(&verdict.text(audience.paint())).context("nobody reads any more")?;
    if order.keep {
        let left = keep::stay(order, home, world, audience, chronicle).await?;
        // Whoever leaves a demo that went wrong is told so, and where its log is.
        return if verdict.code() == 0 { Err(Stopped::Left(left)) } else { Ok(verdict.code()) };
    }
    Ok(verdict.code())
}

/// Looks again and again, and shows what is seen.
struct Watch<'a> {
    order: &'a Order,
    world: &'a World,
    audience: &'a mut Audience,
    chronicle: &'a mut Chronicle,
}

impl Watch<'_> {
    fn hear(&mut self, text: &str) {
        let mood = if text.starts_with("fault:") { Mood::Bad } else { Mood::Calm };
        self.chronicle.add(self.world.clock.now(), mood, text);
    }

    fn look(&mut self) -> anyhow::Result<()> {
        let scene = Scene::look(self.world);
        self.chronicle.note(&scene);
        let stage = self.order.stage();
        self.audience.show(&Frame { chronicle: self.chronicle, scene: &scene, jobs: self.order.jobs, stage: &stage })
    }
}

impl Order {
    /// What is going on, in a line.
    fn stage(&self) -> String {
        let fault = self.fault.map(|fault| format!("   fault: {fault}")).unwrap_or_default();
        format!("simulated hypervisor and GitHub, real operator and agents{fault}   q: leave")
    }
}
