//! Why something waits: one sentence, and the way from the CI job to the VM that leads to it.
//!
//! ```text
//!   RunnerJob ─▶ RunnerPool ─▶ MachineClaim ─▶ HypervisorMachineTemplate ─▶ HypervisorCluster
//!       └─────────────┴─────────────┴──────▶ RunnerSource
//! ```
//!
//! Each object says in a condition what it waits for, and many of these reasons only point at another object, further down.
//! [`follow`] goes where they point until somebody points no further: what that one says is the answer, with what a
//! person can do about it. Nothing is guessed: where the controllers have not said a word, that is the answer.

mod answer;
mod choose;
mod link;
mod mark;
mod object;
mod obstacle;
mod rest;
mod sense;

use api::{HypervisorCluster, HypervisorMachineTemplate, MachineClaim, RunnerJob, RunnerPool, RunnerSource};
use jiff::Timestamp;
use serde::Serialize;

pub use answer::{Answer, Standing, answer};
pub use choose::{claim_of_job, claim_of_pool, job_of_claim};
pub use link::{Link, telling};
pub use mark::{Event, Mark, events};

/// What is on the way, from the job to the hypervisor; later ones are further down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A job at the platform.
    Job,
    /// The pool that serves it.
    Pool,
    /// The claim made for it.
    Claim,
    /// Where it comes from.
    Source,
    /// What its machine is made from.
    Template,
    /// Where its machine is made.
    Cluster,
}

impl Kind {
    /// Every kind, from the job down.
    pub const ALL: [Self; 6] = [Self::Job, Self::Pool, Self::Claim, Self::Source, Self::Template, Self::Cluster];

    /// The resource, as `kubectl` takes it before a slash.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Job => "runnerjob",
            Self::Pool => "runnerpool",
            Self::Claim => "machineclaim",
            Self::Source => "runnersource",
            Self::Template => "hypervisormachinetemplate",
            Self::Cluster => "hypervisorcluster",
        }
    }
}

/// An object on the way, as far as it could be looked at.
#[derive(Clone, Debug, Default)]
pub enum Found<T> {
    /// Nothing refers to one.
    #[default]
    Unnamed,
    /// There is none of that name.
    Missing(String),
    /// It could not be read.
    Hidden {
        /// Its name.
        name: String,
        /// Why not.
        why: String,
    },
    /// This is it.
    There(Box<T>),
}

impl<T> Found<T> {
    /// The object, if it is there.
    pub fn there(&self) -> Option<&T> {
        match self {
            Self::There(object) => Some(object),
            Self::Unnamed | Self::Missing(_) | Self::Hidden { .. } => None,
        }
    }
}

/// Everything on the way that could be looked at.
#[derive(Clone, Debug)]
pub struct Scene {
    /// What was asked about: a job, a claim or a pool, which is there.
    pub subject: Kind,
    /// Its namespace; objects elsewhere are shown with theirs.
    pub namespace: String,
    /// The job.
    pub job: Found<RunnerJob>,
    /// The pool.
    pub pool: Found<RunnerPool>,
    /// The claim.
    pub claim: Found<MachineClaim>,
    /// The source.
    pub source: Found<RunnerSource>,
    /// The template.
    pub template: Found<HypervisorMachineTemplate>,
    /// The cluster.
    pub cluster: Found<HypervisorCluster>,
}

impl Scene {
    /// A scene in which nothing has been looked at yet.
    pub fn of(subject: Kind, namespace: impl Into<String>) -> Self {
        Self {
            subject,
            namespace: namespace.into(),
            job: Found::Unnamed,
            pool: Found::Unnamed,
            claim: Found::Unnamed,
            source: Found::Unnamed,
            template: Found::Unnamed,
            cluster: Found::Unnamed,
        }
    }
}

/// Why something waits, and how it got there.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trail {
    /// What was asked about, as `kind/name`.
    pub subject: String,
    /// What the platform calls the job, and where: repository, name, page.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The one thing it waits for.
    pub answer: Answer,
    /// What happened so far, in the order of time.
    pub events: Vec<Event>,
    /// What each object on the way says, from the job down.
    pub links: Vec<Link>,
    /// When it was looked at.
    pub at: Timestamp,
}

/// Follows what the objects say to the one that can say no more.
pub fn follow(scene: &Scene, now: Timestamp) -> Trail {
    Trail {
        subject: object::name(scene, scene.subject).unwrap_or_default(),
        about: scene.job.there().map(about).unwrap_or_default(),
        answer: answer(scene, Some(now)),
        events: events(scene),
        links: link::links(scene),
        at: now,
    }
}

fn about(job: &RunnerJob) -> String {
    let spec = &job.spec;
    let known = [&spec.repository, &spec.display_name, &spec.url];
    known.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
