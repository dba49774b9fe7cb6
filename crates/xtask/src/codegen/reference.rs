//! `docs/reference`: pages made from the code they describe.

pub(super) mod api;
pub(super) mod cli;
pub(super) mod conditions;
pub(super) mod index;
pub(super) mod metrics;
pub(super) mod settings;

mod schema;
