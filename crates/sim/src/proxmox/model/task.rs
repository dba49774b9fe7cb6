//! A task and its log.

use serde_json::{Value, json};

/// A task.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) upid: String,
    pub(crate) node: String,
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) user: String,
    pub(crate) token: Option<String>,
    pub(crate) pid: u32,
    pub(crate) pstart: i64,
    pub(crate) start: i64,
    pub(crate) log: Vec<String>,
    pub(crate) warnings: u32,
    /// When it ended and how.
    pub(crate) end: Option<(i64, String)>,
    /// Ends it from outside.
    pub(crate) abort: Option<futures::future::AbortHandle>,
}

impl Task {
    /// What every view of it has.
    fn identity(&self) -> Value {
        let mut shown = json!({
            "upid": self.upid, "node": self.node, "pid": self.pid, "pstart": self.pstart, "starttime": self.start,
            "type": self.kind, "id": self.id, "user": self.user,
        });
        if let Some(token) = &self.token {
            shown["tokenid"] = json!(token);
        }
        shown
    }

    /// As its own status call shows it; there is no end time here.
    pub(crate) fn status(&self) -> Value {
        let mut shown = self.identity();
        match &self.end {
            None => shown["status"] = json!("running"),
            Some((_, status)) => {
                shown["status"] = json!("stopped");
                shown["exitstatus"] = json!(status);
            }
        }
        shown
    }

    /// As a list shows it.
    pub(crate) fn listed(&self) -> Value {
        let mut shown = self.identity();
        match &self.end {
            None => shown["status"] = json!("RUNNING"),
            Some((end, status)) => {
                shown["endtime"] = json!(end);
                shown["status"] = json!(status);
            }
        }
        shown
    }
}

/// The parts of a task id, if it is one: node, pid, pstart, start, kind, id, user.
pub(crate) fn upid_parts(upid: &str) -> Option<[&str; 7]> {
    let parts: Vec<&str> = upid.strip_prefix("UPID:")?.strip_suffix(':')?.split(':').collect();
    let parts: [&str; 7] = parts.try_into().ok()?;
    let hex = |text: &str, lengths: &[usize]| {
        lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let word = |text: &str| !text.contains(|c: char| c.is_whitespace() || c == '/');
    let right = hex(parts[1], &[8])
        && hex(parts[2], &[8, 9])
        && hex(parts[3], &[8])
        && parts[4..].iter().all(|part| word(part))
        && ![parts[0], parts[4], parts[6]].iter().any(|part| part.is_empty());
    right.then_some(parts)
}
