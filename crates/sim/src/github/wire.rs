//! HTTP: requests as they are read, answers as they are written, in process and on a socket.

mod ask;
pub(crate) mod client;
mod reply;
mod server;
mod service;

pub(crate) use ask::Ask;
pub use client::trusting;
pub(crate) use reply::Reply;
pub use server::Server;
pub use service::{Dropped, Service};
