//! The subcommands that came after the first.

pub(crate) mod github;
pub(crate) mod guests;
pub(crate) mod runner;
