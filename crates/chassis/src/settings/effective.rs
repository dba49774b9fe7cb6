//! The values in force, and where each comes from.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::{Setting, kind};
use crate::serve::Bind;
use crate::telemetry::{self, Level};

/// Where a value was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nobody set it.
    Default,
    /// This file.
    File(PathBuf),
    /// This environment variable.
    Env(&'static str),
    /// This flag.
    Flag(&'static str),
    /// The command line, where no setting's flag was meant.
    CommandLine,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Env(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => write!(f, "flag --{name}"),
            Self::CommandLine => f.write_str("command line"),
        }
    }
}

/// One setting's value in force; `Display` is `key=value (source)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What is set.
    pub setting: Setting,
    /// The value, as it would be written.
    pub value: String,
    /// Where it comes from.
    pub source: Source,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={} ({})", self.setting.key, self.value, self.source)
    }
}

/// Every setting of a program with its value in force; made by [`Layers::resolve`](super::Layers::resolve).
///
/// The typed readers expect a key of the program's table with the matching kind, and panic otherwise: the values have
/// been checked, so anything else is a mistake in the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effective {
    lines: Vec<Line>,
    /// What is not wrong enough to stop, but should be known.
    pub warnings: Vec<String>,
}

impl Effective {
    pub(super) fn put(&mut self, setting: Setting, value: String, source: Source) {
        match self.lines.iter_mut().find(|line| line.setting.key == setting.key) {
            Some(line) => *line = Line { setting, value, source },
            None => self.lines.push(Line { setting, value, source }),
        }
    }

    /// Every value with its source, in the table's order.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The value as text.
    pub fn text(&self, key: &str) -> &str {
        let line = self.lines.iter().find(|line| line.setting.key == key);
        &line.expect("the key is in the program's table").value
    }

    /// The value of a switch.
    pub fn is_on(&self, key: &str) -> bool {
        kind::boolean(self.text(key)).expect("checked when it was read")
    }

    /// The value of a time span.
    pub fn duration(&self, key: &str) -> Duration {
        kind::duration(self.text(key)).expect("checked when it was read")
    }

    /// The value of a number.
    pub fn number(&self, key: &str) -> u64 {
        self.text(key).parse().expect("checked when it was read")
    }

    /// The value of a list.
    pub fn list(&self, key: &str) -> Vec<String> {
        kind::list(self.text(key))
    }

    /// The value of an address.
    pub fn bind(&self, key: &str) -> Bind {
        self.text(key).parse().expect("checked when it was read")
    }

    /// The value of a log level.
    pub fn level(&self, key: &str) -> Level {
        telemetry::level(self.text(key)).expect("checked when it was read")
    }

    /// Takes over from `new` what may change at run time; returns the keys that would need a restart.
    pub(super) fn adopt(&mut self, new: &Self) -> Vec<&'static str> {
        let changed = self.lines.iter_mut().zip(&new.lines).filter(|(old, new)| *old != *new);
        let mut fixed = Vec::new();
        for (old, new) in changed {
            if old.setting.reload {
                *old = new.clone();
            } else if old.value != new.value {
                fixed.push(old.setting.key);
            }
        }
        self.warnings.clone_from(&new.warnings);
        fixed
    }
}
