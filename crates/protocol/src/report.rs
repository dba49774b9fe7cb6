//! What the work does.

use serde::{Deserialize, Serialize};

/// What a machine says about its work, in this order, each once; saying one again is fine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "report")]
pub enum Report {
    /// It has begun.
    Started,
    /// It has ended; the machine powers off as soon as this is acknowledged.
    Finished(Finish),
}

/// How the work ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finish {
    /// The exit code; none if a signal or the agent ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What ended it, if it was not its own exit: a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The end of its output, if the plan asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}
