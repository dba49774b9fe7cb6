//! The live picture: pools, every job with its timeline, and what has just happened, on one screen of 80 by 24.
//!
//! ```text
//!   HyperFleet demo   7 of 20 jobs done  ███████░░░░░░░░░░░░░   0:09
//!   Proxmox VE: pve1 3 VMs, pve2 2, pve3 2   GitHub: 7 runners, 5 busy
//!   POOL …                              what each pool wants and has, and why
//!   build-01 ··▒▒███--   done 7.1 s     build-11 ········▒▒█     pve2/6004
//!   …
//!   Events, the newest last
//! ```

mod jobs;

use jiff::Timestamp;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::chronicle::{Chronicle, Entry, Mood};
use super::scene::Scene;
use super::track::{Stretch, between};
use crate::cli::top::pane::{Row, Tone, cut, line};
use crate::cli::top::view;
use crate::print::Paint;

/// Everything a frame shows.
pub(super) struct Frame<'a> {
    pub(super) chronicle: &'a Chronicle,
    pub(super) scene: &'a Scene,
    /// How many jobs there are to be.
    pub(super) jobs: usize,
    /// What is going on.
    pub(super) stage: &'a str,
}

/// The progress bar.
const BAR: usize = 20;

/// Lines of a small screen that events have at least.
const EVENTS: u16 = 4;

/// Draws it.
pub(super) fn draw(frame: &Frame<'_>, paint: Paint, area: Rect, buffer: &mut Buffer) {
    let brush = &mut Brush { paint, area, buffer };
    let Some(last) = area.height.checked_sub(1) else { return };
    brush.write(0, &title(frame), Style::new().add_modifier(Modifier::BOLD));
    brush.write(1, &places(frame.scene), Style::new());
    let mut top = brush.pools(frame, 2, last);
    top = brush.jobs(frame, top, last.saturating_sub(EVENTS + 1));
    brush.events(&frame.chronicle.entries, frame.chronicle.since, top, last);
    brush.write(last, frame.stage, Style::new().add_modifier(Modifier::DIM));
}

fn title(frame: &Frame<'_>) -> String {
    let (done, _) = frame.chronicle.done();
    let full = (BAR * done).checked_div(frame.jobs).unwrap_or_default().min(BAR);
    let seconds = frame.scene.at.duration_since(frame.chronicle.since).as_secs().max(0);
    let bar = "█".repeat(full) + &"░".repeat(BAR - full);
    format!("HyperFleet demo   {done} of {} jobs done  {bar}   {}:{:02}", frame.jobs, seconds / 60, seconds % 60)
}

/// What the hypervisor and the platform have.
fn places(scene: &Scene) -> String {
    let nodes: Vec<String> = scene.machines.iter().map(|(node, count)| format!("{node} {count}")).collect();
    let (runners, busy) = scene.runners;
    format!("Proxmox VE: VMs on {}   GitHub: {runners} runners, {busy} busy", nodes.join(", "))
}

/// Draws line by line.
pub(super) struct Brush<'a> {
    paint: Paint,
    area: Rect,
    buffer: &'a mut Buffer,
}

impl Brush<'_> {
    fn write(&mut self, row: u16, text: &str, style: Style) {
        self.write_at(0, row, text, style);
    }

    fn write_at(&mut self, column: u16, row: u16, text: &str, style: Style) {
        if row < self.area.height && column < self.area.width {
            let text = cut(text, self.area.width - column);
            self.buffer.set_string(self.area.x + column, self.area.y + row, text, style);
        }
    }

    fn head(&mut self, row: u16, text: &str) {
        let width = usize::from(self.area.width);
        self.write(row, &format!("{text:width$}"), Style::new().add_modifier(Modifier::REVERSED));
    }

    /// The pools from this line on; the first line below them.
    fn pools(&mut self, frame: &Frame<'_>, top: u16, last: u16) -> u16 {
        let pane = view::pools(&frame.scene.pools, frame.scene.at);
        let heads: Vec<&str> = pane.columns.iter().map(|column| column.head).collect();
        self.head(top, &line(pane.columns, &heads, self.area.width));
        let mut row = top + 1;
        for Row { cells, tone } in pane.rows.iter().take(usize::from(last.saturating_sub(top + 1))) {
            let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
            let style = self.tone(*tone);
            self.write(row, &line(pane.columns, &cells, self.area.width), style);
            row += 1;
        }
        row
    }

    fn events(&mut self, entries: &[Entry], since: Timestamp, top: u16, last: u16) {
        if top >= last {
            return;
        }
        self.head(top, "EVENTS");
        let room = usize::from(last - top - 1);
        let shown = &entries[entries.len().saturating_sub(room)..];
        for (entry, row) in shown.iter().zip(top + 1..) {
            let style = self.mood(entry.mood);
            self.write(row, &told(entry, since), style);
        }
    }

    fn tone(&self, tone: Tone) -> Style {
        match (self.paint, tone) {
            (Paint::Plain, _) | (Paint::Colour, Tone::Calm) => Style::new(),
            (Paint::Colour, Tone::Good) => Style::new().fg(Color::Green),
            (Paint::Colour, Tone::Odd) => Style::new().fg(Color::Yellow),
            (Paint::Colour, Tone::Bad) => Style::new().fg(Color::Red),
        }
    }

    fn mood(&self, mood: Mood) -> Style {
        self.tone(match mood {
            Mood::Calm => Tone::Calm,
            Mood::Good => Tone::Good,
            Mood::Bad => Tone::Bad,
        })
    }

    fn stretch(&self, stretch: Stretch) -> Style {
        match (self.paint, stretch) {
            (Paint::Plain, _) | (Paint::Colour, Stretch::Nothing) => Style::new(),
            (Paint::Colour, Stretch::Waits) => Style::new().fg(Color::Yellow),
            (Paint::Colour, Stretch::Made) => Style::new().fg(Color::Cyan),
            (Paint::Colour, Stretch::Runs) => Style::new().fg(Color::Green),
            (Paint::Colour, Stretch::Goes) => Style::new().fg(Color::Magenta),
        }
    }
}

/// An event in one line, with its time since the beginning.
pub(super) fn told(entry: &Entry, since: Timestamp) -> String {
    format!("{:6.1}s  {}", between(since, entry.at), entry.text)
}

#[cfg(test)]
mod tests;
