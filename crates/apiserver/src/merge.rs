//! Changing objects: patches, server-side apply, and who owns which field.
//!
//! Everything here is a pure function of objects, their schema and the time.
//!
//! ```text
//!   create, update:                   body ─▶ decode ─▶ track ─▶ prepare ─▶ settle_times ─▶ judge ─▶ store
//!   JSON, merge, strategic patch: live + patch ─▶ decode ─▶ track ─▶ prepare ─▶ …
//!   apply patch:                  live + body ─▶ apply ─▶ decode ─────────▶ prepare ─▶ …
//! ```
//!
//! What the caller must do, in the order of the real server:
//!
//! - *decode* prunes unknown fields and fills in defaults. It comes before [`track::track`]: whoever creates an object
//!   owns its defaults too. For an apply it comes after [`apply::apply`], with the ownership left as it is: an applier
//!   owns what it said and no more.
//! - *prepare* puts back what the writer has no say in (`status` of an update, everything else of a status update).
//!   It comes after [`track::track`], which is told in [`track::Writer::reset`] what will be put back, and it keeps the
//!   new `managedFields`.
//! - An apply refuses fields that the schema does not know. What it lets through and pruning drops, as below a field that
//!   preserves unknown ones, is dropped after `settle_times` in the real server: such an apply always sets the time.
//! - [`managed::settle_times`] comes last, for updates of all kinds: an update that changes nothing but times of
//!   ownership is none.

pub mod apply;
mod blank;
pub mod fields;
pub mod managed;
pub mod patch;
mod scale;
mod shape;
pub mod track;
mod typed;
mod value;

pub use blank::blank;
pub use scale::track_scale;
