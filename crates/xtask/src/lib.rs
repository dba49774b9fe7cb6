//! Everything that is generated, and everything that is checked.
//!
//! ```text
//!   api::crds ───────┐
//!   api::examples ───┤                 ┌─ codegen           writes it into the tree
//!   operator::sets ──┼─▶ Generated ────┤
//!   chassis tables ──┤   (in memory)   └─ codegen --check   compares, and names what differs
//!   test names ──────┘
//!
//!   cargo metadata, cargo tree ─▶ deps     who may depend on whom, licences, duplicates
//!   the tree itself ────────────▶ tidy     sizes, names, leaks, links
//!   test names, test results ───▶ trace    which test verifies which requirement, and whether it ran
//! ```
//!
//! Checks are pure functions over a [`tree::Tree`] or [`deps::Facts`] and return [`finding::Finding`]s; only `load`,
//! `gather` and `write` touch the machine. [`rbac`] is also used by integration tests, which run under exactly the roles
//! it renders.

pub mod codegen;
pub mod deps;
pub mod finding;
pub mod generated;
pub mod rbac;
pub mod tidy;
pub mod trace;
pub mod tree;

mod markdown;
mod rust;
mod yaml;
