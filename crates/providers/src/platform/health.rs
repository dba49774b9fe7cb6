//! Whether a platform can be used.

use jiff::Timestamp;

/// What a probe found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// The version that the platform reports, where it does.
    pub version: Option<String>,
    /// What is missing before it can be used; nothing if it can.
    pub missing: Vec<Missing>,
    /// When the credential runs out, where the platform says so.
    pub expires_at: Option<Timestamp>,
}

/// Something that must change before a platform can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The credential lacks a permission.
    Permission {
        /// Its name at the platform.
        name: String,
        /// What it is for and where it is granted.
        remedy: String,
    },
    /// The platform lacks something that came with a later version.
    Version {
        /// The version that has it.
        at_least: &'static str,
        /// What is missing.
        lacks: &'static str,
    },
    /// Something of the source's settings is not there.
    Setting {
        /// The field of the source.
        field: &'static str,
        /// What is wrong and what to do.
        remedy: String,
    },
}
