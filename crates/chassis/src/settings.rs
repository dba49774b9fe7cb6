//! What an administrator can set: one table, four sources, one answer.
//!
//! Each setting is stated once, as a [`Setting`]: its key in the file, its flag, its environment variable, default,
//! meaning, and whether it may change while the process runs. The value in force is the flag's, else the variable's,
//! else the file's, else the default. Everything wrong is reported at once: unknown names with the nearest known one,
//! values with their source and what was expected. The file (a mounted `ConfigMap`) is read again when it changes; see
//! [`Live`].

mod effective;
mod file;
mod kind;
mod live;
mod problem;
mod runtime;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

pub use effective::{Effective, Line, Source};
pub use kind::Kind;
pub use live::{Follow, INTERVAL, Live};
pub use problem::{Problem, Problems};
pub use runtime::{LeaderElection, MetricsEndpoint, REFUSED, RUNTIME, Runtime};

use crate::telemetry::Env;
use problem::nearest;

/// One thing that can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its path in the file, `metrics.bindAddress` for `metrics: {bindAddress: …}`.
    pub key: &'static str,
    /// Its flag, without the dashes.
    pub flag: &'static str,
    /// Its environment variable.
    pub env: &'static str,
    /// The value if nobody sets one, as it would be written.
    pub default: &'static str,
    /// Whether a change in the file takes effect without a restart.
    pub reload: bool,
    /// What values it takes.
    pub kind: Kind,
    /// One sentence for `--help` and the reference page, without its full stop.
    pub help: &'static str,
}

/// A flag of other operators that does nothing here; a trailing `*` stands for any ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The flag, without the dashes.
    pub flag: &'static str,
    /// What to use instead, or why nothing is needed.
    pub instead: &'static str,
}

impl Refused {
    fn covers(&self, flag: &str) -> bool {
        self.flag.strip_suffix('*').map_or(self.flag == flag, |stem| flag.starts_with(stem))
    }
}

/// What to say about a flag that other operators have and that would do nothing here.
pub fn refused(flag: &str) -> Option<Problem> {
    let known = REFUSED.iter().find(|refused| refused.covers(flag))?;
    Some(Problem::Refused { flag: flag.into(), instead: known.instead })
}

/// Reads an environment variable of this process. The only place that does; everybody else is given a function.
#[expect(clippy::disallowed_methods, reason = "the one reader of the environment")]
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A program's settings with what its flags and environment say: all but the file, which may change later.
#[derive(Clone, Debug)]
pub struct Layers {
    table: Vec<Setting>,
    flags: Vec<(String, String)>,
    env: BTreeMap<&'static str, String>,
}

impl Layers {
    /// Takes the flags as (name, value) pairs, the last one of a name winning, and looks up the variables of `tables`; an
    /// empty variable counts as unset.
    pub fn new(tables: &[&[Setting]], flags: impl IntoIterator<Item = (String, String)>, env: Env<'_>) -> Self {
        let table = tables.concat();
        let env = table
            .iter()
            .filter_map(|setting| Some((setting.env, env(setting.env).filter(|value| !value.trim().is_empty())?)))
            .collect();
        Self { table, flags: flags.into_iter().collect(), env }
    }

    /// The values in force with this file (its path and text), or everything that is wrong.
    pub fn resolve(&self, file: Option<(&Path, &str)>) -> Result<Effective, Problems> {
        let mut problems = Vec::new();
        let entries = file.map_or_else(Vec::new, |(path, text)| self.read(path, text, &mut problems));
        for (flag, _) in &self.flags {
            problems.extend(self.unknown_flag(flag));
        }
        let mut effective = Effective::default();
        for setting in &self.table {
            let default = (setting.default.to_owned(), Source::Default);
            let in_file = entries.iter().find(|(key, _)| key == setting.key);
            let in_file = in_file.zip(file).map(|((_, value), (path, _))| (value.clone(), Source::File(path.into())));
            let in_env = self.env.get(setting.env).map(|value| (value.clone(), Source::Env(setting.env)));
            let flag = self.flags.iter().rfind(|(flag, _)| flag == setting.flag);
            let flag = flag.map(|(_, value)| (value.clone(), Source::Flag(setting.flag)));
            // Every source is checked, not only the winning one: a mistake must not wait for its turn.
            let candidates = [Some(default), in_file, in_env, flag].into_iter().flatten();
            for (value, source) in candidates {
                match setting.kind.check(value.trim()) {
                    Ok(()) => effective.put(*setting, value.trim().to_owned(), source),
                    Err(expected) if setting.kind == Kind::Level => {
                        let warning = format!("{}: {value:?} from {source} is not {expected}; using INFO", setting.key);
                        effective.warnings.push(warning);
                        effective.put(*setting, "INFO".into(), source);
                    }
                    Err(expected) => {
                        problems.push(Problem::Malformed { key: setting.key, found: source, value, expected });
                    }
                }
            }
        }
        if problems.is_empty() { Ok(effective) } else { Err(Problems(problems)) }
    }

    fn read(&self, path: &Path, text: &str, problems: &mut Vec<Problem>) -> Vec<(String, String)> {
        let found = Source::File(path.into());
        let entries = match file::flatten(text) {
            Ok(entries) => entries,
            Err(error) => {
                problems.push(Problem::Unreadable { found, error });
                return Vec::new();
            }
        };
        for (at, (key, _)) in entries.iter().enumerate() {
            if entries[..at].iter().any(|(earlier, _)| earlier == key) {
                problems.push(Problem::Twice { key: key.clone(), found: found.clone() });
            }
            if self.table.iter().all(|setting| setting.key != key) {
                let nearest = nearest(key, self.table.iter().map(|setting| setting.key)).to_owned();
                problems.push(Problem::Unknown { name: key.clone(), found: found.clone(), nearest });
            }
        }
        entries
    }

    fn unknown_flag(&self, flag: &str) -> Option<Problem> {
        if self.table.iter().any(|setting| setting.flag == flag) {
            return None;
        }
        if let Some(problem) = refused(flag) {
            return Some(problem);
        }
        let nearest = format!("--{}", nearest(flag, self.table.iter().map(|setting| setting.flag)));
        Some(Problem::Unknown { name: format!("--{flag}"), found: Source::CommandLine, nearest })
    }
}
