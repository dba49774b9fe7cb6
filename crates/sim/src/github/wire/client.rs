//! A small client: webhooks leave with it, and the stand-in runner speaks with it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Uri, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// Sends a request and gives the status that was answered.
pub(crate) async fn post(request: Request<Bytes>, trust: Option<Arc<rustls::ClientConfig>>) -> Option<u16> {
    exchange(request, trust).await.ok().map(|(status, _)| status)
}

/// Whom to believe, out of a file of certificates in PEM.
pub fn trusting(file: &Path) -> io::Result<Arc<rustls::ClientConfig>> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(io::Error::other)? {
        roots.add(certificate.map_err(io::Error::other)?).map_err(io::Error::other)?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Sends a request on a connection of its own; the status and the body that were answered.
pub(crate) async fn exchange(
    mut request: Request<Bytes>,
    trust: Option<Arc<rustls::ClientConfig>>,
) -> io::Result<(u16, Bytes)> {
    let uri = request.uri().clone();
    let host = uri.host().ok_or_else(|| io::Error::other("the address names no host"))?.to_owned();
    let secure = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let stream = TcpStream::connect((host.as_str(), port)).await?;
    let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
    request.headers_mut().insert(header::HOST, authority.parse().map_err(io::Error::other)?);
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    *request.uri_mut() = path.parse::<Uri>().map_err(io::Error::other)?;
    if !secure {
        return converse(stream, request).await;
    }
    let trust = trust.ok_or_else(|| io::Error::other("nobody said which certificates to trust"))?;
    let name = ServerName::try_from(host).map_err(io::Error::other)?;
    let stream = tokio_rustls::TlsConnector::from(trust).connect(name, stream).await?;
    converse(stream, request).await
}

async fn converse<S>(stream: S, request: Request<Bytes>) -> io::Result<(u16, Bytes)>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let answer = async move {
        let response = sender.send_request(request.map(Full::new)).await.map_err(io::Error::other)?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
        Ok((status, body))
    };
    tokio::pin!(answer, connection);
    tokio::select! {
        answer = &mut answer => answer,
        ended = &mut connection => {
            ended.map_err(io::Error::other)?;
            (&mut answer).await
        }
    }
}
