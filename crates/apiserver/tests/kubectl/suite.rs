//! The kubectl suite, as its test program uses it.

#![allow(unreachable_pub, reason = "a suite is public to its test program")]

pub mod manifests;
pub mod ours;
pub mod run;
pub mod script;
