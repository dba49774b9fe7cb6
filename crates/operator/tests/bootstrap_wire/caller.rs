//! A client of the service that does as it is told, right or wrong.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use operator::bootstrap::Authority;
use rcgen::{CertificateParams, KeyPair, PublicKeyData as _};
use rustls::client::ResolvesClientCert;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, SignatureScheme, SupportedProtocolVersion};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A key and a certificate that says so.
#[derive(Clone)]
pub(crate) struct Identity {
    key: Arc<KeyPair>,
    shown: CertificateDer<'static>,
}

impl Identity {
    pub(crate) fn new() -> Self {
        Self::of(Arc::new(KeyPair::generate().unwrap()), "agent")
    }

    fn of(key: Arc<KeyPair>, name: &str) -> Self {
        let certificate = CertificateParams::new([name.to_owned()]).unwrap().self_signed(&*key).unwrap();
        Self { key, shown: certificate.der().clone() }
    }

    pub(crate) fn another_certificate(&self) -> Self {
        Self::of(Arc::clone(&self.key), "another")
    }

    /// Our certificate in the hands of somebody else.
    pub(crate) fn with_the_key_of(&self, other: &Self) -> Self {
        Self { key: Arc::clone(&other.key), shown: self.shown.clone() }
    }

    pub(crate) fn public_key(&self) -> Vec<u8> {
        self.key.subject_public_key_info()
    }

    fn certified(&self) -> CertifiedKey {
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).unwrap();
        let key = aws_lc_rs::default_provider().key_provider.load_private_key(key).unwrap();
        CertifiedKey::new(vec![self.shown.clone()], key)
    }
}

/// Shows a certificate and signs with a key, whether they belong together or not.
#[derive(Debug)]
struct Shows(Arc<CertifiedKey>);

impl ResolvesClientCert for Shows {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

#[derive(Clone)]
pub(crate) struct Caller {
    address: SocketAddr,
    authority: Authority,
    identity: Option<Identity>,
    versions: Vec<&'static SupportedProtocolVersion>,
}

impl Caller {
    /// Somebody who calls there, trusts this authority and has nothing to show.
    pub(crate) fn at(address: SocketAddr, authority: &Authority) -> Self {
        let versions = rustls::ALL_VERSIONS.to_vec();
        Self { address, authority: authority.clone(), identity: None, versions }
    }

    pub(crate) fn with(self, identity: &Identity) -> Self {
        Self { identity: Some(identity.clone()), ..self }
    }

    pub(crate) fn trusting(self, authority: &Authority) -> Self {
        Self { authority: authority.clone(), ..self }
    }

    pub(crate) fn speaking(self, version: &'static SupportedProtocolVersion) -> Self {
        Self { versions: vec![version], ..self }
    }

    pub(crate) async fn connect(&self) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(self.authority.certificates().as_bytes()) {
            roots.add(root.unwrap()).unwrap();
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(&self.versions)
            .unwrap()
            .with_root_certificates(roots);
        let config = match &self.identity {
            Some(identity) => builder.with_client_cert_resolver(Arc::new(Shows(Arc::new(identity.certified())))),
            None => builder.with_no_client_auth(),
        };
        let stream = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from(protocol::SERVER_NAME).unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    /// One request over a connection of its own: the code and the body of the answer.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> io::Result<(u16, Value)> {
        let mut stream = self.connect().await?;
        let body = body.to_string();
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        let code = head.split(' ').nth(1).unwrap().parse().unwrap();
        Ok((code, serde_json::from_str(body).unwrap()))
    }
}
