//! The Kubernetes client of every HyperFleet process.
//!
//! A `kube::Client` over our own stack: hyper and rustls below, kube's own authentication and base address layers, and
//! one [`Guard`] above them that gives every call a deadline, a span, a metric and, if asked, a rate limit. kube's
//! retries and its request logging are left out: retrying is the driver's business, and one failure is one ERROR line.

mod fault;
mod guard;
mod route;

use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Bytes;
use hyper_util::client::legacy::Client as Http;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use tower::util::BoxCloneService;
use tower::{BoxError, Layer as _, ServiceBuilder};

pub use fault::fault;
pub use guard::{Guard, Late, Limits};

/// Connects to the API server that `config` names, through `guard`.
pub fn connect(config: &Config, guard: Guard) -> Result<Client, kube::Error> {
    let http: Http<_, Body> = Http::builder(TokioExecutor::new()).build(config.rustls_https_connector()?);
    let service = ServiceBuilder::new()
        .layer(guard)
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(BoxCloneService::new(service), config.default_namespace.clone()))
}

/// An API server in this process, for somebody whom it knows.
pub type Local = BoxCloneService<Request<Body>, Response<UnsyncBoxBody<Bytes, BoxError>>, BoxError>;

/// Connects to an API server in this process, through `guard`.
pub fn within(service: Local, namespace: &str, guard: &Guard) -> Client {
    Client::new(BoxCloneService::new(guard.layer(service)), namespace)
}
