//! What is left of a platform's limits.

use jiff::Timestamp;

use super::error::Bucket;

/// A limit and what is left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Which limit.
    pub bucket: Bucket,
    /// How much there is of it until it begins anew.
    pub limit: u32,
    /// How much is left.
    pub remaining: u32,
    /// When it begins anew.
    pub resets_at: Timestamp,
}
