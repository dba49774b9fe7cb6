//! What a machine has to do.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Runner;

/// One piece of work. Values of variables and files may be secret: they are not shown when it is printed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The whole environment; nothing else is inherited.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The user it runs as; left out, the agent's unprivileged one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Files that it needs, in memory only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Item>,
    /// After this many seconds the work is ended: from its beginning, or from its job's where it is a runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_seconds: Option<u64>,
    /// Bytes from the end of its output that are wanted; 0 for none.
    #[serde(default)]
    pub output_bytes: u32,
    /// What else there is to know where the work is a runner, which waits for a job; none for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<Runner>,
}

/// A file that the work needs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Where it is, relative to the directory that `HYPERFLEET_FILES` names in the work's environment: plain names
    /// joined by '/'.
    pub path: String,
    /// All of its text.
    pub content: String,
    /// Permission bits.
    pub mode: u32,
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { argv, env, user, files, deadline_seconds, output_bytes, runner } = self;
        f.debug_struct("Plan")
            .field("argv", argv)
            .field("env", &env.keys().collect::<Vec<_>>())
            .field("user", user)
            .field("files", files)
            .field("deadline_seconds", deadline_seconds)
            .field("output_bytes", output_bytes)
            .field("runner", runner)
            .finish()
    }
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, content, mode } = self;
        write!(f, "Item({path:?}, {} bytes, {mode:04o})", content.len())
    }
}
