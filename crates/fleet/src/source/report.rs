//! What a look at a platform found.

use api::Reason;
use jiff::Timestamp;

/// The last looks at a platform.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// What the last look that was answered found.
    pub report: Option<Report>,
    /// What went wrong since, if anything did.
    pub trouble: Option<Trouble>,
}

/// A platform that answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Its version, where it tells one.
    pub version: Option<String>,
    /// What its version lacks, with the version that has it; none if it is new enough.
    pub outdated: Option<String>,
    /// What we may not do and should.
    pub lacks: Vec<Lack>,
    /// When the credential runs out, where the platform says so.
    pub expires: Option<Timestamp>,
}

/// Something that we may not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// What it is, what for, and how it is granted.
    pub message: String,
    /// Whether nothing works without it.
    pub required: bool,
}

/// Why looks are not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What kind of trouble.
    pub kind: Reason,
    /// What happened and what to do about it.
    pub message: String,
    /// Looks in a row without an answer.
    pub failures: u32,
    /// Whether trying again can help: a connection that broke may come back, a credential that was refused does not.
    pub may_pass: bool,
    /// Until when the platform does not want to be asked.
    pub until: Option<Timestamp>,
}

/// How it is with the queue session of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Session {
    /// There is none, or nothing is known of it yet.
    #[default]
    None,
    /// We hold it.
    Held,
    /// Somebody else does: who, as far as the platform tells.
    Taken(String),
}
