//! Questions to the person at the terminal, if one is there and wants to be asked.

use std::io::IsTerminal;

use secrecy::{ExposeSecret, SecretString};

use crate::print;

/// Whether somebody can be asked, and how. Nobody can if there is no terminal, or with `--yes`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Questions {
    open: bool,
}

impl Questions {
    /// Questions to whoever is at the terminal, unless they said that they want none.
    pub(crate) fn new(unwanted: bool) -> Self {
        Self { open: !unwanted && std::io::stdin().is_terminal() }
    }

    /// Whether somebody can be asked.
    pub(super) const fn open(self) -> bool {
        self.open
    }

    /// The answer; nothing if it is empty or nobody is there.
    pub(super) fn ask(self, question: &str) -> anyhow::Result<Option<String>> {
        if !self.open {
            return Ok(None);
        }
        Ok(print::ask(question)?.filter(|answer| !answer.is_empty()))
    }

    /// Whether somebody said yes.
    pub(super) fn agrees(self, question: &str) -> anyhow::Result<bool> {
        let answer = self.ask(question)?.map(|answer| answer.to_ascii_lowercase());
        Ok(answer.is_some_and(|answer| answer == "yes" || answer == "y"))
    }

    /// Something secret; nothing if it is empty or nobody is there.
    pub(super) fn hidden(self, question: &str) -> anyhow::Result<Option<SecretString>> {
        if !self.open {
            return Ok(None);
        }
        Ok(print::ask_hidden(question)?.filter(|typed| !typed.expose_secret().is_empty()))
    }
}
