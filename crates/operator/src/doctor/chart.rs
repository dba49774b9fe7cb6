//! What was found: each thing with its object, what is wrong, and what to do.

use std::fmt;

use kube::core::ObjectMeta;
use serde::Serialize;

/// How much a finding matters; the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Machines cannot be made, or jobs are not served.
    Broken,
    /// It could not be looked at.
    Unknown,
    /// It works, and could be better.
    Advice,
}

/// What was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The Kubernetes API.
    Kubernetes,
    /// The definitions of our kinds.
    Definitions,
    /// What the caller may look at.
    Rights,
    /// The key that marks machines as ours.
    OwnershipKey,
    /// What Secrets hold, and whether it is accepted.
    Credentials,
    /// The address of a hypervisor or a platform.
    Endpoint,
    /// Its certificate.
    Certificate,
    /// Its clock.
    Clock,
    /// The nodes of a hypervisor.
    Nodes,
    /// What we may do on a hypervisor.
    Privileges,
    /// The resource pool on a hypervisor.
    ResourcePool,
    /// The storages of a hypervisor.
    Storage,
    /// Its networks.
    Network,
    /// The numbers of machines.
    Vmids,
    /// A template and its image.
    Template,
    /// The address that machines call.
    Advertise,
    /// What we may do at a CI platform.
    Permissions,
    /// Deliveries of a CI platform.
    Webhook,
    /// The queue service of a CI platform.
    Queue,
    /// What pools refer to, and what they serve.
    Pool,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What was looked at.
    pub check: Check,
    /// The object that it is about, or what else.
    pub object: String,
    /// What is wrong.
    pub what: String,
    /// A command to run, or a field to change.
    pub remedy: String,
}

/// Something that is well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Passed {
    /// What was looked at.
    pub check: Check,
    /// The object that it is about, or what else.
    pub object: String,
    /// What was found.
    pub what: String,
}

/// Everything that was found, in the order in which it was looked at.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    findings: Vec<Finding>,
    passed: Vec<Passed>,
}

/// An object in words: kind, namespace and name.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) kind: &'static str,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl About {
    pub(crate) fn new(kind: &'static str, metadata: &ObjectMeta) -> Self {
        let namespace = metadata.namespace.clone().unwrap_or_default();
        Self { kind, namespace, name: metadata.name.clone().unwrap_or_default() }
    }

    /// The command that opens it in an editor.
    pub(crate) fn edit(&self) -> String {
        format!("kubectl -n {} edit {} {}", self.namespace, self.kind.to_lowercase(), self.name)
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

impl Chart {
    /// Something is well.
    pub(crate) fn pass(&mut self, check: Check, object: &impl ToString, what: impl Into<String>) {
        self.passed.push(Passed { check, object: object.to_string(), what: what.into() });
    }

    /// Something is not.
    pub(crate) fn find(
        &mut self,
        severity: Severity,
        check: Check,
        object: &impl ToString,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let (object, what, remedy) = (object.to_string(), what.into(), remedy.into());
        self.findings.push(Finding { severity, check, object, what, remedy });
    }

    /// What is not well, the worst first.
    pub fn findings(&self) -> Vec<&Finding> {
        let mut findings: Vec<&Finding> = self.findings.iter().collect();
        findings.sort_by_key(|finding| finding.severity);
        findings
    }

    /// What is well.
    pub fn passed(&self) -> &[Passed] {
        &self.passed
    }

    /// How many findings matter that much.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// How the program ends: 1 if something is broken, 2 if something could not be looked at, else 0.
    pub fn code(&self) -> u8 {
        match (self.count(Severity::Broken), self.count(Severity::Unknown)) {
            (0, 0) => 0,
            (0, _) => 2,
            (_, _) => 1,
        }
    }
}
