//! Just enough of Rust to find names and tests in source text.
//!
//! [`tokens`] knows comments and literals, so that nothing inside them is mistaken for code; [`items`] finds what is
//! named, where it stands, and whether it is a test. Neither checks syntax: the compiler does.

mod items;
mod place;
mod tokens;

pub(crate) use items::outline;
pub(crate) use place::{Place, is_test_file};
