//! From what there is to show to letters on a terminal.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::look::Look;
use super::pane::{Pane, Row, Tone, cut, line};
use super::view::View;
use crate::print::Paint;

/// Below this height only the pane that somebody looks at is shown.
const ALL_PANES: u16 = 15;

/// Title and heads of a pane.
const HEADS: u16 = 2;

/// How wide one plain frame is: wide enough for every column.
const PLAIN_WIDTH: u16 = 120;

const KEYS: &str = "Tab: next pane  Up/Down: move  q: leave";

/// Draws a frame.
pub(super) fn draw(view: &View, look: &Look, paint: Paint, area: Rect, buffer: &mut Buffer) {
    let Some(last) = area.height.checked_sub(1) else { return };
    let brush = &mut Brush { paint, area, buffer };
    brush.line(0, &view.head, Style::new().add_modifier(Modifier::BOLD));
    if last > 0 {
        let (foot, style) = match &view.trouble {
            Some(trouble) => (trouble.as_str(), brush.tone(Tone::Bad)),
            None => (KEYS, Style::new().add_modifier(Modifier::DIM)),
        };
        brush.line(last, foot, style);
    }
    let room = last.saturating_sub(1);
    let mut top = 1;
    for (at, height) in heights(view, look, room).into_iter().enumerate() {
        brush.pane(&view.panes[at], look.first[at], at == look.pane, top, height);
        top += height;
    }
}

/// How many lines each pane gets: what it needs if there is room, and at least its share.
fn heights(view: &View, look: &Look, room: u16) -> [u16; 3] {
    if room + 2 < ALL_PANES {
        return [0, 1, 2].map(|at| if at == look.pane { room } else { 0 });
    }
    let needs = |pane: &Pane| u16::try_from(pane.rows.len()).unwrap_or(u16::MAX).saturating_add(HEADS + 1);
    let [pools, queue, _] = &view.panes;
    let pools = needs(pools).min(room / 3);
    let queue = needs(queue).min((room - pools) / 2);
    [pools, queue, room - pools - queue]
}

struct Brush<'a> {
    paint: Paint,
    area: Rect,
    buffer: &'a mut Buffer,
}

impl Brush<'_> {
    fn line(&mut self, row: u16, text: &str, style: Style) {
        if row < self.area.height {
            let text = cut(text, self.area.width);
            self.buffer.set_string(self.area.x, self.area.y + row, text, style);
        }
    }

    fn pane(&mut self, pane: &Pane, first: usize, looked_at: bool, top: u16, height: u16) {
        let Pane { title, columns, rows } = pane;
        if height == 0 {
            return;
        }
        let style = Style::new().add_modifier(if looked_at { Modifier::REVERSED } else { Modifier::UNDERLINED });
        let shown = usize::from(height.saturating_sub(HEADS));
        let hidden = rows.len().saturating_sub(first.saturating_add(shown));
        let more = if hidden > 0 && shown > 0 { format!(" ({hidden} more below)") } else { String::new() };
        self.line(top, &format!("{title}{more}"), style);
        if height > 1 {
            let heads: Vec<&str> = columns.iter().map(|column| column.head).collect();
            self.line(top + 1, &line(columns, &heads, self.area.width), Style::new().add_modifier(Modifier::DIM));
        }
        for (row, at) in rows.iter().skip(first).take(shown).zip(top + HEADS..) {
            let cells: Vec<&str> = row.cells.iter().map(String::as_str).collect();
            let style = self.tone(row.tone);
            self.line(at, &line(columns, &cells, self.area.width), style);
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
}

/// One frame with every row, as plain text.
pub(super) fn plain(view: &View) -> String {
    let head = [view.head.clone()].into_iter();
    let lines = head.chain(view.panes.iter().flat_map(table));
    lines.map(|line| line + "\n").collect()
}

fn table(pane: &Pane) -> impl Iterator<Item = String> {
    let Pane { title, columns, rows } = pane;
    let heads: Vec<&str> = columns.iter().map(|column| column.head).collect();
    let heads = [String::new(), title.clone(), line(columns, &heads, PLAIN_WIDTH)];
    let row = |row: &Row| {
        let cells: Vec<&str> = row.cells.iter().map(String::as_str).collect();
        line(columns, &cells, PLAIN_WIDTH)
    };
    heads.into_iter().chain(rows.iter().map(row))
}

#[cfg(test)]
mod tests;
