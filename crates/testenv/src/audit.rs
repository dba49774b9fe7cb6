//! Who asked what of the API server, from its own audit log.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::access::get_text;
use crate::demand::demand;
use crate::plane::ControlPlane;
use crate::waiting::poll;

/// How long the log may lag behind the answers.
const LAG: Duration = Duration::from_secs(10);

/// A point in the audit log: everything asked later comes after it.
#[derive(Clone, Copy, Debug)]
pub struct AuditMark(u64);

/// One request that the API server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLine {
    /// Who asked.
    pub user: String,
    /// With which program.
    pub user_agent: String,
    /// The verb of the API: get, list, watch, create, update, patch, delete, deletecollection.
    pub verb: String,
    /// The API group; empty for the core group and for paths that are no resources.
    pub group: String,
    /// The plural of the resource; empty for paths that are no resources.
    pub resource: String,
    /// The subresource, such as `status`; usually empty.
    pub subresource: String,
    /// The namespace; empty for cluster-wide requests.
    pub namespace: String,
    /// The object's name; empty for lists and, as often, for creations.
    pub name: String,
    /// The path and query as they were sent.
    pub uri: String,
    /// The HTTP status of the answer.
    pub code: u16,
}

impl AuditLine {
    /// Whether the request meant to change something.
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }

    /// Parses a line of the log; `None` for stages that would count a request twice.
    fn parse(line: &str) -> Option<Self> {
        let event: Value = serde_json::from_str(line).ok()?;
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let verb = text("/verb");
        // A watch is told of when it begins, everything else when it has been answered.
        let counted = if verb == "watch" { "ResponseStarted" } else { "ResponseComplete" };
        if text("/stage") != counted {
            return None;
        }
        let code = event.pointer("/responseStatus/code").and_then(Value::as_u64).unwrap_or_default();
        Some(Self {
            user: text("/user/username"),
            user_agent: text("/userAgent"),
            verb,
            group: text("/objectRef/apiGroup"),
            resource: text("/objectRef/resource"),
            subresource: text("/objectRef/subresource"),
            namespace: text("/objectRef/namespace"),
            name: text("/objectRef/name"),
            uri: text("/requestURI"),
            code: u16::try_from(code).unwrap_or_default(),
        })
    }
}

/// Requests, narrowed step by step: `plane.audit().await.user("…").verb("create").resource("pods").len()`.
#[derive(Clone, Debug, Default)]
pub struct Audit(Vec<AuditLine>);

impl Audit {
    /// The requests themselves, oldest first.
    pub fn lines(&self) -> &[AuditLine] {
        &self.0
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that satisfy `test`.
    #[must_use]
    pub fn filter(mut self, test: impl Fn(&AuditLine) -> bool) -> Self {
        self.0.retain(test);
        self
    }

    /// Those of this user; see [`crate::ServiceAccountRef::username`].
    #[must_use]
    pub fn user(self, user: &str) -> Self {
        self.filter(|line| line.user == user)
    }

    /// Those with this verb.
    #[must_use]
    pub fn verb(self, verb: &str) -> Self {
        self.filter(|line| line.verb == verb)
    }

    /// Those of this resource, by its plural, subresources included.
    #[must_use]
    pub fn resource(self, resource: &str) -> Self {
        self.filter(|line| line.resource == resource)
    }

    /// Those in this namespace.
    #[must_use]
    pub fn namespace(self, namespace: &str) -> Self {
        self.filter(|line| line.namespace == namespace)
    }

    /// Those that meant to change something, refused ones included.
    #[must_use]
    pub fn writes(self) -> Self {
        self.filter(AuditLine::is_write)
    }
}

impl ControlPlane {
    /// Every request that was answered so far.
    pub async fn audit(&self) -> Audit {
        self.audit_since(AuditMark(0)).await
    }

    /// A point in the log after every request that was answered so far.
    pub async fn audit_mark(&self) -> AuditMark {
        AuditMark(demand("read the audit log", self.settle(0).await).1)
    }

    /// Every request that was answered after the mark. A long run makes a long log: prefer this to [`Self::audit`].
    pub async fn audit_since(&self, mark: AuditMark) -> Audit {
        demand("read the audit log", self.settle(mark.0).await).0
    }

    /// Reads the log from `offset` up to a request of our own, made now: what was answered before it is in the log by then.
    async fn settle(&self, offset: u64) -> Result<(Audit, u64)> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let uri = format!("/version?audit-mark={}-{serial}", std::process::id());
        get_text(&self.client(), &uri).await?;
        let mut reader = Reader::open(self, offset)?;
        poll(LAG, async || reader.up_to(&uri).transpose())
            .await
            .context("the audit log did not show a request that was answered")??;
        Ok((Audit(reader.lines), reader.offset))
    }
}

/// Reads a log that somebody else is appending to.
struct Reader {
    file: BufReader<File>,
    offset: u64,
    lines: Vec<AuditLine>,
}

impl Reader {
    fn open(plane: &ControlPlane, offset: u64) -> Result<Self> {
        let mut file = File::open(plane.home().audit_log()).context("open the audit log")?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(Self { file: BufReader::new(file), offset, lines: Vec::new() })
    }

    /// Collects complete lines until the one of `uri`; `None` while it has not come.
    fn up_to(&mut self, uri: &str) -> Result<Option<()>> {
        let mut line = String::new();
        loop {
            line.clear();
            let length = self.file.read_line(&mut line)?;
            if !line.ends_with('\n') {
                // Half a line: step back, it will be whole the next time.
                self.file.seek_relative(-i64::try_from(length)?)?;
                return Ok(None);
            }
            self.offset += u64::try_from(length)?;
            match AuditLine::parse(&line) {
                Some(parsed) if parsed.uri == uri => return Ok(Some(())),
                Some(parsed) => self.lines.push(parsed),
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATED: &str = r#"{"stage":"ResponseComplete","verb":"create","user":{"username":"admin"},"userAgent":"curl",
        "objectRef":{"resource":"pods","subresource":"status","namespace":"a","name":"b"},"requestURI":"/x","responseStatus":{"code":201}}"#;

    #[test]
    fn a_line_says_who_did_what_to_which_object() {
        let line = AuditLine::parse(CREATED).unwrap();
        assert_eq!((line.user.as_str(), line.verb.as_str(), line.resource.as_str()), ("admin", "create", "pods"));
        assert_eq!((line.namespace.as_str(), line.name.as_str(), line.code), ("a", "b", 201));
        assert!(line.is_write());
    }

    #[test]
    fn a_watch_counts_once_when_it_begins() {
        let stage = |stage: &str| format!(r#"{{"stage":"{stage}","verb":"watch"}}"#);
        assert!(AuditLine::parse(&stage("ResponseStarted")).is_some_and(|line| !line.is_write()));
        assert!(AuditLine::parse(&stage("ResponseComplete")).is_none());
    }

    #[test]
    fn filters_narrow_step_by_step() {
        let audit = Audit(vec![AuditLine::parse(CREATED).unwrap()]);
        assert_eq!(audit.clone().user("admin").verb("create").resource("pods").namespace("a").writes().len(), 1);
        assert!(audit.clone().namespace("other").is_empty());
        assert!(audit.user("somebody").is_empty());
    }
}
