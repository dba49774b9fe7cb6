//! Where somebody looks, and what their keys do to it.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::view::View;

/// Rows that a page is.
const PAGE: usize = 10;

/// Where somebody looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// The pane that the keys move in.
    pub(super) pane: usize,
    /// The first row that is shown of each.
    pub(super) first: [usize; 3],
}

/// What comes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// They look on.
    Stay,
    /// They have seen enough.
    Leave,
}

impl Look {
    /// Does what a key says.
    pub(super) fn press(&mut self, key: KeyEvent, view: &View) -> Then {
        if key.kind == KeyEventKind::Release {
            return Then::Stay;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let panes = view.panes.len();
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "a keyboard has many keys, and most of them mean nothing here"
        )]
        match key.code {
            KeyCode::Char('c') if control => return Then::Leave,
            KeyCode::Char('q') | KeyCode::Esc => return Then::Leave,
            KeyCode::Tab | KeyCode::Right => self.pane = (self.pane + 1) % panes,
            KeyCode::BackTab | KeyCode::Left => self.pane = (self.pane + panes - 1) % panes,
            KeyCode::Down => self.go(1),
            KeyCode::Up => self.back(1),
            KeyCode::PageDown => self.go(PAGE),
            KeyCode::PageUp => self.back(PAGE),
            KeyCode::Home => self.first[self.pane] = 0,
            KeyCode::End => self.first[self.pane] = usize::MAX,
            _ => {}
        }
        self.settle(view);
        Then::Stay
    }

    fn go(&mut self, rows: usize) {
        self.first[self.pane] = self.first[self.pane].saturating_add(rows);
    }

    fn back(&mut self, rows: usize) {
        self.first[self.pane] = self.first[self.pane].saturating_sub(rows);
    }

    /// Stays within what there is, which may have become less.
    pub(super) fn settle(&mut self, view: &View) {
        for (first, pane) in self.first.iter_mut().zip(&view.panes) {
            *first = (*first).min(pane.rows.len().saturating_sub(1));
        }
    }
}
