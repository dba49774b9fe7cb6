//! What a platform can do.

/// What a platform can do, so that nobody has to know which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own, asked by name")]
pub struct Capabilities {
    /// Whether a runner can be bound to a job.
    pub targeting: Targeting,
    /// Whether there are queue sessions.
    pub sessions: bool,
    /// Whether the platform calls us.
    pub webhooks: bool,
    /// Whether it remembers what it failed to deliver.
    pub recovers: bool,
    /// Whether the platform itself sees to it that a runner gets one job only.
    pub single_use: bool,
    /// Whether its word that a runner is not busy can be relied on.
    pub busy_is_reliable: bool,
    /// Whether a runner can be told to take no more jobs.
    pub drains: bool,
    /// Whether it runs a job again when asked.
    pub reruns: bool,
    /// Whether it says that a repository is public.
    pub tells_public: bool,
    /// Whether it says that a job runs code of a fork.
    pub tells_forks: bool,
}

/// What a runner can be bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targeting {
    /// Any job that fits its labels.
    Labels,
    /// One job.
    Job,
}
