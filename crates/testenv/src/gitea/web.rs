//! One request over HTTP, each on a connection of its own: tests share a server, but not a runtime.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use http::{HeaderMap, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// Sends requests to a server.
#[derive(Clone, Debug)]
pub(super) struct Web(ClientConfig);

impl Web {
    /// Believes servers that this authority vouches for; none, if there is none.
    pub(super) fn new(authority: Option<&str>) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(authority.unwrap_or_default().as_bytes()) {
            roots.add(certificate?)?;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        Ok(Self(config.with_root_certificates(roots).with_no_client_auth()))
    }

    /// Sends a request and reads the whole answer, whatever its status.
    pub(super) async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>> {
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(self.0.clone()).https_or_http().enable_http1().build();
        let client: Client<HttpsConnector<HttpConnector>, Full<Bytes>> =
            Client::builder(TokioExecutor::new()).build(connector);
        let to = format!("{} {}", request.method(), request.uri());
        let response = client.request(request.map(Full::new)).await.with_context(|| to.clone())?;
        let (head, body) = response.into_parts();
        Ok(Response::from_parts(head, body.collect().await.context(to)?.to_bytes()))
    }

    /// Whether the server at `url` is ready.
    pub(super) async fn is_healthy(&self, url: &str) -> bool {
        let Ok(request) = Request::get(format!("{url}/api/healthz")).body(Bytes::new()) else { return false };
        self.send(request).await.is_ok_and(|answer| answer.status().is_success())
    }
}

/// The cookies that an answer sets, as the next request sends them. A login sets its own twice: the last one counts.
pub(super) fn cookies(headers: &HeaderMap) -> String {
    let set = headers.get_all(header::SET_COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let pairs = set.filter_map(|cookie| cookie.split(';').next()?.split_once('='));
    let last: BTreeMap<_, _> = pairs.collect();
    last.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
}
