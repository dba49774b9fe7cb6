//! HTTP as pveproxy speaks it: what is refused before anybody looks at the call, and how answers are written.

mod certificate;
mod form;
mod multipart;
mod reply;
mod request;
mod server;
mod service;

pub use certificate::Authority;
pub(crate) use multipart::Upload;
pub(crate) use reply::Reply;
pub(crate) use request::Request;
pub use server::{Server, Transport};
pub use service::{Dropped, Service};
