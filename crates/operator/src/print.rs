//! The one place that writes to the terminal.

mod prompt;
mod screen;

use std::io::{self, IsTerminal, Write};

use chassis::settings::environment;

pub(crate) use prompt::ask_hidden;
pub(crate) use screen::Screen;

/// Writes `text` to standard output. A reader that has gone away (`hyperfleet crds | head`) is no error.
pub(crate) fn out(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes an error and the chain of its causes to standard error.
pub(crate) fn error(error: &anyhow::Error) {
    let mut stderr = io::stderr().lock();
    // Nothing is left to do about an error that cannot be told.
    let _ = writeln!(stderr, "error: {error}");
    for cause in error.chain().skip(1) {
        let _ = writeln!(stderr, "  because: {cause}");
    }
}

/// Writes one line about what is going on to standard error, so that standard output holds only what was asked for.
pub(crate) fn note(text: &str) {
    // Whoever does not listen misses nothing that counts.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Asks the person at the terminal; `None` if there is none.
pub(crate) fn ask(question: &str) -> io::Result<Option<String>> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Ok(None);
    }
    out(question)?;
    let mut answer = String::new();
    stdin.read_line(&mut answer)?;
    Ok(Some(answer.trim().to_owned()))
}

/// A text of somebody else in one line, without what would steer a terminal or turn its letters around.
pub(crate) fn plain(text: &str) -> String {
    let steers = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|letter| if steers(letter) { ' ' } else { letter }).collect()
}

/// How words stand out on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Not at all: it is read by a program, or the reader does not want it.
    Plain,
    /// By colour.
    Colour,
}

impl Paint {
    /// What suits standard output; `NO_COLOR` (no-color.org) is heard.
    pub(crate) fn detect() -> Self {
        let unwanted = environment("NO_COLOR").is_some_and(|value| !value.is_empty());
        if io::stdout().is_terminal() && !unwanted { Self::Colour } else { Self::Plain }
    }

    /// Something good.
    pub(crate) fn good(self, word: &str) -> String {
        self.wrap("32", word)
    }

    /// Something that should be looked at.
    pub(crate) fn odd(self, word: &str) -> String {
        self.wrap("33", word)
    }

    /// Something bad.
    pub(crate) fn bad(self, word: &str) -> String {
        self.wrap("31;1", word)
    }

    fn wrap(self, code: &str, word: &str) -> String {
        match self {
            Self::Plain => word.to_owned(),
            Self::Colour => format!("\u{1b}[{code}m{word}\u{1b}[0m"),
        }
    }
}
