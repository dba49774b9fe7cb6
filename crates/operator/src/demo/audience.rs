//! Who looks on: a person at a terminal, or whatever reads a pipe; and how they leave.

use std::io;
use std::time::Duration;

use anyhow::Context;
use ratatui::crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::chronicle::{Chronicle, Entry};
use super::picture::{Frame, draw, told};
use crate::cli::top::live::listen;
use crate::print::{self, Paint, Screen};

/// How often it is looked and shown anew.
pub(super) const FRAME: Duration = Duration::from_millis(250);

/// Somebody has left before the end; what a shell would say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left(pub(super) u8);

/// Ctrl-C, by signal or by key.
const INTERRUPTED: Left = Left(130);

/// Who looks on.
pub(super) struct Audience {
    /// The whole terminal, as long as there is a picture on it.
    stage: Option<Stage>,
    paint: Paint,
    signals: [(Signal, Left); 3],
    /// Lines that were printed already.
    told: usize,
}

struct Stage {
    screen: Screen,
    keys: mpsc::Receiver<Event>,
    keyboard: JoinHandle<io::Result<()>>,
}

impl Audience {
    /// An audience that is shown a picture if there is a terminal and nobody wants it plain. Before anything is begun, since
    /// from now on nobody can leave without being noticed.
    pub(super) fn new(plain: bool) -> anyhow::Result<Self> {
        let hear = |kind, left| signal(kind).map(|signal| (signal, left)).context("signals cannot be received");
        let signals = [
            hear(SignalKind::interrupt(), INTERRUPTED)?,
            hear(SignalKind::terminate(), Left(143))?,
            hear(SignalKind::hangup(), Left(129))?,
        ];
        let mut audience = Self { stage: None, paint: Paint::detect(), signals, told: 0 };
        if !plain && Screen::is_there() {
            let screen = Screen::open().context("the terminal cannot be taken")?;
            let (keys, keyboard) = listen();
            audience.stage = Some(Stage { screen, keys, keyboard });
        }
        Ok(audience)
    }

    /// How words stand out for them.
    pub(super) const fn paint(&self) -> Paint {
        self.paint
    }

    /// Shows how things are now.
    pub(super) fn show(&mut self, frame: &Frame<'_>) -> anyhow::Result<()> {
        let paint = self.paint;
        match &mut self.stage {
            None => self.tell(frame.chronicle),
            Some(stage) => stage
                .screen
                .draw(|area, buffer| draw(frame, paint, area, buffer))
                .context("the terminal cannot be written"),
        }
    }

    /// Prints what happened since the last time.
    fn tell(&mut self, chronicle: &Chronicle) -> anyhow::Result<()> {
        let line = |entry: &Entry| told(entry, chronicle.since) + "\n";
        let text: String = chronicle.entries[self.told..].iter().map(line).collect();
        self.told = chronicle.entries.len();
        Ok(print::out(&text)?)
    }

    /// Resolves when somebody leaves.
    pub(super) async fn left(&mut self) -> Left {
        let [interrupt, terminate, hangup] = &mut self.signals;
        let keys = async {
            let Some(stage) = &mut self.stage else { return std::future::pending().await };
            loop {
                match stage.keys.recv().await {
                    Some(event) if leaves(&event) => return INTERRUPTED,
                    Some(_) => {}
                    // Nobody can be heard any more, but signals can.
                    None => return std::future::pending().await,
                }
            }
        };
        tokio::select! {
            _ = interrupt.0.recv() => interrupt.1,
            _ = terminate.0.recv() => terminate.1,
            _ = hangup.0.recv() => hangup.1,
            left = keys => left,
        }
    }

    /// Gives the terminal back; from now on lines are printed. What happened until now was shown already.
    pub(super) async fn curtain(&mut self, chronicle: &Chronicle) {
        let Some(Stage { screen, keys, keyboard }) = self.stage.take() else { return };
        self.told = chronicle.entries.len();
        drop(keys);
        drop(screen);
        // The terminal is somebody else's again: nothing of ours may read from it any more.
        let _ = keyboard.await;
    }
}

fn leaves(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let leaves = matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) || (control && key.code == KeyCode::Char('c'));
    leaves && key.kind != KeyEventKind::Release
}
