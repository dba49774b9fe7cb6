//! The client that carries spans to the collector: gRPC or http/protobuf, over the same TLS.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, Uri, uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_otlp::{Protocol as Wire, SpanExporter, WithExportConfig, WithHttpConfig, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter as _;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tonic::metadata::MetadataMap;
use tonic::transport::Endpoint;
use tower::{Service, service_fn};

use super::otlp::{Otlp, Protocol};
use crate::serve::provider;

type Problem = Box<dyn std::error::Error + Send + Sync>;

/// Builds the exporter; connects only when there is something to send. Needs a tokio runtime.
pub(super) fn exporter(otlp: &Otlp, resource: &Resource) -> Result<SpanExporter, Problem> {
    let mut exporter = match otlp.protocol {
        Protocol::Grpc => grpc(otlp)?,
        Protocol::HttpProtobuf => http_protobuf(otlp)?,
    };
    exporter.set_resource(resource);
    Ok(exporter)
}

fn http_protobuf(otlp: &Otlp) -> Result<SpanExporter, Problem> {
    let client = HyperClient::new(connector(otlp)?, otlp.timeout, None);
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Wire::HttpBinary)
        .with_endpoint(otlp.endpoint.to_string())
        .with_timeout(otlp.timeout)
        .with_headers(otlp.headers.iter().cloned().collect())
        .with_http_client(client);
    Ok(exporter.build()?)
}

fn grpc(otlp: &Otlp) -> Result<SpanExporter, Problem> {
    let https = connector(otlp)?;
    let target = otlp.endpoint.clone();
    // To tonic the channel is a plain one: TLS with our provider is the connector's business.
    let mut plain = otlp.endpoint.clone().into_parts();
    plain.scheme = Some(uri::Scheme::HTTP);
    let endpoint = Endpoint::from(Uri::from_parts(plain)?)
        .origin(target.clone())
        .timeout(otlp.timeout)
        .connect_timeout(otlp.timeout);
    let channel = endpoint.connect_with_connector_lazy(service_fn(move |_| https.clone().call(target.clone())));
    let mut headers = HeaderMap::new();
    for (name, value) in &otlp.headers {
        headers.insert(HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
    }
    let exporter = SpanExporter::builder()
        .with_tonic()
        .with_channel(channel)
        .with_timeout(otlp.timeout)
        .with_metadata(MetadataMap::from_headers(headers));
    Ok(exporter.build()?)
}

/// Trusts the system's roots, or the given bundle alone.
fn connector(otlp: &Otlp) -> Result<HttpsConnector<HttpConnector>, Problem> {
    let builder = HttpsConnectorBuilder::new();
    let builder = if otlp.endpoint.scheme() == Some(&uri::Scheme::HTTPS) && otlp.certificate.is_none() {
        builder.with_provider_and_native_roots(provider())?
    } else {
        let mut roots = RootCertStore::empty();
        for certificate in otlp.certificate.iter().map(CertificateDer::pem_file_iter) {
            roots.add_parsable_certificates(certificate?.collect::<Result<Vec<_>, _>>()?);
        }
        let config = ClientConfig::builder_with_provider(Arc::new(provider())).with_safe_default_protocol_versions()?;
        builder.with_tls_config(config.with_root_certificates(roots).with_no_client_auth())
    };
    Ok(match otlp.protocol {
        Protocol::Grpc => builder.https_or_http().enable_http2().build(),
        Protocol::HttpProtobuf => builder.https_or_http().enable_http1().build(),
    })
}
