//! Every job with its timeline, in as many columns as fit.

use ratatui::style::Style;
use sim::github::Conclusion;

use super::{Brush, Frame};
use crate::demo::track::{Stretch, Track, between};

/// A column: the name, the timeline, a word about it, a gap.
const COLUMN: u16 = 40;
const NAME: u16 = 9;
const LINE: u16 = 14;

/// A timeline covers at least this many seconds, so that the first bars grow and do not jump.
const SHORTEST: f64 = 14.0;

/// What the signs mean.
const LEGEND: &str = "JOBS   · waits   ▒ its VM is made   █ runs   - its VM goes";

impl Brush<'_> {
    /// The jobs from this line on, to this line at most; the first line below them.
    pub(super) fn jobs(&mut self, frame: &Frame<'_>, top: u16, last: u16) -> u16 {
        self.head(top, LEGEND);
        let columns = usize::from((self.area.width / COLUMN).max(1));
        let tracks: Vec<&Track> = frame.chronicle.tracks.values().collect();
        let room = usize::from(last.saturating_sub(top + 1)) * columns;
        let (shown, hidden) = chosen(&tracks, room);
        let rows = shown.len().div_ceil(columns);
        let step = step(frame);
        for (at, track) in shown.iter().enumerate() {
            let (column, row) = (at / rows.max(1), at % rows.max(1));
            let left = u16::try_from(column).unwrap_or(u16::MAX).saturating_mul(COLUMN);
            let below = top + 1 + u16::try_from(row).unwrap_or(u16::MAX);
            self.job(frame, track, step, left, below);
        }
        if hidden > 0 {
            let from = u16::try_from(LEGEND.chars().count()).unwrap_or_default() + 2;
            self.write_at(from, top, &format!("({hidden} more)"), Style::new());
        }
        top + 1 + u16::try_from(rows).unwrap_or(u16::MAX)
    }

    fn job(&mut self, frame: &Frame<'_>, track: &Track, step: f64, left: u16, row: u16) {
        let now = frame.scene.at;
        let first = first(frame);
        self.write_at(left, row, &crate::cli::top::pane::cut(&track.name, NAME - 1), Style::new());
        let line = track.line(first, step, now, usize::from(LINE));
        for (stretch, column) in line.into_iter().zip(left + NAME..) {
            let style = self.stretch(stretch);
            self.write_at(column, row, &stretch.sign().to_string(), style);
        }
        let (text, style) = (word(track, now), self.tone(tone(track)));
        let room = COLUMN - NAME - LINE - 2;
        self.write_at(left + NAME + LINE + 1, row, &crate::cli::top::pane::cut(&text, room), style);
    }
}

/// Those that are shown, and how many are not: of too many, the ones that are over first are left out first.
fn chosen<'a>(tracks: &[&'a Track], room: usize) -> (Vec<&'a Track>, usize) {
    let hidden = tracks.len().saturating_sub(room);
    let mut over: Vec<usize> = (0..tracks.len()).filter(|at| tracks[*at].gone.is_some()).collect();
    over.sort_by_key(|at| tracks[*at].gone);
    let mut left: Vec<usize> = over.into_iter().take(hidden).collect();
    // Where that is not enough, the last ones wait for their place.
    let rest = (0..tracks.len()).rev().filter(|at| !left.contains(at)).take(hidden - left.len()).collect::<Vec<_>>();
    left.extend(rest);
    let shown = tracks.iter().enumerate().filter(|(at, _)| !left.contains(at)).map(|(_, track)| *track);
    (shown.collect(), hidden)
}

fn first(frame: &Frame<'_>) -> jiff::Timestamp {
    let tracks = frame.chronicle.tracks.values();
    tracks.map(|track| track.queued).min().unwrap_or(frame.chronicle.since)
}

/// Seconds that a sign stands for: all timelines fit, and all are drawn to the same scale.
fn step(frame: &Frame<'_>) -> f64 {
    let tracks = || frame.chronicle.tracks.values();
    let over = tracks().all(|track| track.gone.is_some()).then(|| tracks().filter_map(|track| track.gone).max());
    let until = over.flatten().unwrap_or(frame.scene.at);
    between(first(frame), until).max(SHORTEST) / f64::from(LINE)
}

/// What there is to say of a job now.
fn word(track: &Track, now: jiff::Timestamp) -> String {
    let place = track.machine.as_ref().map(|(vmid, node)| format!("{node}/{vmid}"));
    let place = place.unwrap_or_default();
    match (track.at(now), track.conclusion) {
        (Stretch::Waits, _) if track.waits.is_empty() => "queued".to_owned(),
        (Stretch::Waits, _) => track.waits.clone(),
        (Stretch::Made, _) => format!("{place} boots"),
        (Stretch::Runs, _) => format!("{place} runs"),
        (Stretch::Goes, Some(Conclusion::Success)) => "done, VM goes".to_owned(),
        (Stretch::Goes, Some(how)) => format!("{}, VM goes", how.as_str()),
        (Stretch::Nothing, Some(Conclusion::Success)) => {
            format!("done in {:.1} s", between(track.queued, track.ended.unwrap_or(now)))
        }
        (Stretch::Nothing, Some(how)) => how.as_str().to_owned(),
        (Stretch::Goes | Stretch::Nothing, None) => String::new(),
    }
}

fn tone(track: &Track) -> crate::cli::top::pane::Tone {
    use crate::cli::top::pane::Tone;
    match track.conclusion {
        Some(Conclusion::Success) => Tone::Calm,
        Some(_) => Tone::Bad,
        None if track.started.is_some() => Tone::Good,
        None => Tone::Odd,
    }
}
