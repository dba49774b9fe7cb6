//! How a platform tells of jobs, as it sees it itself.

use jiff::Timestamp;

/// A hook that may tell us of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hearing {
    /// Where deliveries go; empty if nowhere.
    pub url: String,
    /// Whether it tells of jobs.
    pub jobs: bool,
    /// Whether it delivers JSON; a form is not read here.
    pub json: bool,
    /// Its last deliveries about jobs, the newest first: when, and the status that was answered; 0 for none. Nothing where
    /// the platform does not say.
    pub deliveries: Option<Vec<(Timestamp, u16)>>,
}
