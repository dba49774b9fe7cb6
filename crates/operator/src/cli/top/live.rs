//! The view that follows what happens, until somebody has seen enough.

use std::io;
use std::time::Duration;

use anyhow::Context;
use api::{MachineClaim, RunnerJob, RunnerPool};
use chassis::health::Health;
use chassis::metrics::Metrics;
use chassis::{Clock, Tasks};
use kube::Client;
use ratatui::crossterm::event::{self, Event};
use runtime::{Cache, Parts, Selection};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::super::VERSION;
use super::Scope;
use super::draw::draw;
use super::look::{Look, Then};
use super::view::{Objects, View};
use crate::print::{Paint, Screen};

/// How often the frame is drawn anew: ages are shown in seconds.
const FRAME: Duration = Duration::from_secs(1);

/// How long a look at the keyboard takes at most; so long leaving may take.
const GLANCE: Duration = Duration::from_millis(200);

/// How long our watches may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// Follows what happens, and shows it.
pub(super) async fn run(client: &Client, scope: &Scope) -> anyhow::Result<()> {
    let parts =
        Parts { clock: Clock::system(), tasks: Tasks::new(), health: Health::new(), metrics: Metrics::new(VERSION) };
    let town = Followed::new(client, scope, &parts);
    let (keys, keyboard) = listen();
    let outcome = show(&town, scope, &parts, keys).await;
    // The terminal is somebody else's again: nothing of ours may read from it any more.
    let read = keyboard.await.context("the keyboard cannot be read")?;
    parts.tasks.shutdown(GRACE).await?;
    outcome.and(read.context("the keyboard cannot be read"))
}

/// What is followed.
struct Followed {
    pools: Cache<RunnerPool>,
    jobs: Cache<RunnerJob>,
    claims: Cache<MachineClaim>,
}

impl Followed {
    fn new(client: &Client, scope: &Scope, parts: &Parts) -> Self {
        let namespaces: Vec<String> = scope.0.iter().cloned().collect();
        let selection = Selection::namespaces(&namespaces);
        Self {
            pools: Cache::spawn(&selection, client, parts),
            jobs: Cache::spawn(&selection, client, parts),
            claims: Cache::spawn(&selection, client, parts),
        }
    }

    fn objects(&self) -> Objects {
        Objects { pools: self.pools.all(), jobs: self.jobs.all(), claims: self.claims.all() }
    }
}

/// Draws until somebody leaves, or we are told to end. The terminal is given back on every way out.
async fn show(
    followed: &Followed,
    scope: &Scope,
    parts: &Parts,
    mut keys: mpsc::Receiver<Event>,
) -> anyhow::Result<()> {
    let mut ending = Ending::new().context("signals cannot be received")?;
    let (paint, mut look) = (Paint::detect(), Look::default());
    let mut screen = Screen::open().context("the terminal cannot be taken")?;
    let mut frames = tokio::time::interval(FRAME);
    loop {
        let view = View::of(&followed.objects(), scope, trouble(&parts.health), parts.clock.now());
        look.settle(&view);
        screen
            .draw(|area, buffer| draw(&view, &look, paint, area, buffer))
            .context("the terminal cannot be written")?;
        tokio::select! {
            _ = frames.tick() => {}
            () = ending.comes() => return Ok(()),
            key = keys.recv() => match key {
                None => return Ok(()),
                Some(Event::Key(key)) if look.press(key, &view) == Then::Leave => return Ok(()),
                // A new size is drawn like any other frame.
                Some(_) => {}
            },
        }
    }
}

/// The first thing that keeps us from knowing better.
fn trouble(health: &Health) -> Option<String> {
    let report = health.readiness().to_string();
    report.lines().find_map(|line| line.strip_prefix("[-]").map(crate::print::plain))
}

/// Reads the keyboard on a thread of its own, until nobody listens.
pub(crate) fn listen() -> (mpsc::Receiver<Event>, JoinHandle<io::Result<()>>) {
    let (heard, keys) = mpsc::channel(16);
    let keyboard = tokio::task::spawn_blocking(move || {
        while !heard.is_closed() {
            if event::poll(GLANCE)? && heard.blocking_send(event::read()?).is_err() {
                break;
            }
        }
        Ok(())
    });
    (keys, keyboard)
}

/// What ends us from outside. The keyboard's own Ctrl-C is a key like others while the terminal is ours.
struct Ending([Signal; 3]);

impl Ending {
    fn new() -> io::Result<Self> {
        Ok(Self([signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?]))
    }

    async fn comes(&mut self) {
        let [terminate, interrupt, hangup] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
