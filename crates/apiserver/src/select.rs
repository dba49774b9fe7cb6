//! Label and field selectors, as `kubectl -l` and `--field-selector` write them.

mod fields;
mod labels;

pub use fields::{FieldSelector, Term};
pub use labels::LabelSelector;
