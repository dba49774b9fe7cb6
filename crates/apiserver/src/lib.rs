//! A small Kubernetes API.
//!
//! ```text
//!   kube::Client ──(tower::Service, in process)──┐
//!   kubectl ──────(TLS listener)─────────────────┤
//!                                                ▼
//!      who? ─▶ may he? ─▶ which kind? ─▶ verb ─▶ decode ─▶ patch/apply ─▶ prepare ─▶ judge ─▶ store ─▶ watchers
//!      access   access     kind, kinds   serve             merge          kinds      api      store    store
//! ```
//!
//! It serves the verbs and kinds that our operators, and a person with kubectl following our README, use. What it
//! serves it serves as the real kube-apiserver does: a conformance suite sends the same requests to both and compares
//! the answers. What it does not serve it does not know, as a real server without that feature.

pub mod access;
mod admit;
mod answer;
mod call;
mod cluster;
mod decode;
mod discovery;
pub mod entropy;
pub mod failure;
mod form;
pub mod kind;
pub mod kinds;
mod lifecycle;
pub mod merge;
pub mod object;
mod openapi;
mod protobuf;
mod query;
mod route;
pub mod select;
mod served;
mod server;
pub mod store;
mod stored;
mod table;
mod verb;

pub use access::User;
pub use answer::Body;
pub use failure::Failure;
pub use kind::Kind;
pub use server::{ApiServer, Chores, Door, Options};
