//! Flags, the files they name, and the questions that stand in for those that are missing.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, anyhow, bail};
use clap::ArgMatches;
use secrecy::SecretString;

use crate::init::questions::Questions;
use crate::print;

/// What the command line says, and who can be asked for the rest.
#[derive(Clone, Copy)]
pub(super) struct Flags<'a> {
    pub(super) matches: &'a ArgMatches,
    pub(super) questions: Questions,
}

impl Flags<'_> {
    /// A flag's value.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.matches.get_one::<String>(name).cloned()
    }

    /// The values of a flag that may be given several times.
    pub(super) fn many(&self, name: &str) -> Vec<String> {
        self.matches.get_many::<String>(name).map(|values| values.cloned().collect()).unwrap_or_default()
    }

    /// What a flag's value means, or the first answer to a question that means something; nothing if the answer is empty or
    /// nobody is there.
    pub(super) fn asked<T>(
        &self,
        name: &str,
        question: &str,
        read: impl Fn(&str) -> anyhow::Result<T>,
    ) -> anyhow::Result<Option<T>> {
        if let Some(value) = self.text(name) {
            return read(&value).map(Some);
        }
        while let Some(answer) = self.questions.ask(question)? {
            match read(&answer) {
                Ok(meant) => return Ok(Some(meant)),
                Err(error) => print::note(&error.to_string()),
            }
        }
        Ok(None)
    }

    /// The same where there must be one.
    pub(super) fn needed<T>(
        &self,
        name: &str,
        question: &str,
        read: impl Fn(&str) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        self.asked(name, question, read)?.ok_or_else(|| anyhow!("--{name} is needed: nobody answered at a terminal"))
    }

    /// What is in the file that a flag names.
    pub(super) fn content(&self, name: &str) -> anyhow::Result<Option<String>> {
        let path = self.matches.get_one::<PathBuf>(name);
        path.map(|path| read(&format!("--{name}"), path)).transpose()
    }

    /// Something secret in a file, without the newline at its end.
    pub(super) fn secret(&self, name: &str) -> anyhow::Result<Option<SecretString>> {
        let Some(text) = self.content(name)? else { return Ok(None) };
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            bail!("--{name}: the file is empty; put the secret into it");
        }
        Ok(Some(text.to_owned().into()))
    }
}

/// A value of a flag as what it means.
pub(super) fn parsed<T: FromStr>(flag: &str, text: &str) -> anyhow::Result<T>
where
    T::Err: std::fmt::Display,
{
    text.trim().parse().map_err(|error| anyhow!("{flag}: {error}"))
}

fn read(flag: &str, path: &Path) -> anyhow::Result<String> {
    let text =
        if path.as_os_str() == "-" { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(path) };
    text.with_context(|| format!("{flag}: {} cannot be read", path.display()))
}
