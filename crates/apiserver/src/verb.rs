//! The verbs, a file each: from a call to an answer.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod present;
pub(crate) mod read;
pub(crate) mod scale;
pub(crate) mod update;
pub(crate) mod watch;
