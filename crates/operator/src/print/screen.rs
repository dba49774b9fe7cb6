//! The whole terminal, for as long as somebody holds it.

use std::io::{self, IsTerminal};

use ratatui::DefaultTerminal;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// The whole terminal: raw, on its other screen. It is given back when this value goes, and before the words of a panic.
pub(crate) struct Screen(DefaultTerminal);

impl Screen {
    /// Whether there is a terminal to take.
    pub(crate) fn is_there() -> bool {
        io::stdout().is_terminal() && io::stdin().is_terminal()
    }

    /// Takes the terminal.
    pub(crate) fn open() -> io::Result<Self> {
        // One that could be taken only in part is given back, too.
        ratatui::try_init().map(Self).inspect_err(|_| release())
    }

    /// Draws one frame.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(Rect, &mut Buffer)) -> io::Result<()> {
        self.0.draw(|frame| draw(frame.area(), frame.buffer_mut())).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        release();
    }
}

fn release() {
    // A terminal that does not take this is gone.
    let _ = ratatui::try_restore();
}
