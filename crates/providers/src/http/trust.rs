//! Whom we believe to be the server.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::connect::ConnectError;
use super::fingerprint::Fingerprint;

/// How the server's certificate is verified.
#[derive(Clone, Debug)]
pub enum Trust {
    /// By the certificate authorities of the system.
    System,
    /// By the certificate authorities in this PEM bundle, and no others.
    Bundle(Vec<u8>),
    /// By its fingerprint alone: issuer, name and dates do not matter.
    Pinned(Fingerprint),
    /// Not at all. Anyone on the way can read and change everything.
    Insecure,
}

impl Trust {
    /// A TLS configuration that trusts accordingly.
    pub(super) fn config(&self) -> Result<ClientConfig, ConnectError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let builder = builder.map_err(ConnectError::Tls)?;
        let only = |accepts| Arc::new(Exactly { accepts, provider });
        Ok(match self {
            Self::System => {
                // The loader of hyper-rustls: the same roots that the Kubernetes client trusts.
                use hyper_rustls::ConfigBuilderExt;
                builder.with_native_roots().map_err(ConnectError::Roots)?.with_no_client_auth()
            }
            Self::Bundle(pem) => builder.with_root_certificates(roots(pem)?).with_no_client_auth(),
            Self::Pinned(fingerprint) => {
                let verifier = only(Some(*fingerprint));
                builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
            }
            Self::Insecure => builder.dangerous().with_custom_certificate_verifier(only(None)).with_no_client_auth(),
        })
    }
}

fn roots(pem: &[u8]) -> Result<RootCertStore, ConnectError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| ConnectError::Bundle(error.to_string()))?;
        roots.add(certificate).map_err(|error| ConnectError::Bundle(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(ConnectError::Bundle("it holds no certificate".into()));
    }
    Ok(roots)
}

/// Accepts the certificate with this fingerprint, or any; in both cases the server must prove that it has the key.
#[derive(Debug)]
struct Exactly {
    accepts: Option<Fingerprint>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Exactly {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.accepts {
            Some(fingerprint) if !fingerprint.matches(end_entity) => {
                let shown = Fingerprint::of(end_entity);
                let detail = format!("its fingerprint is {shown}, expected {fingerprint}");
                let error = CertificateError::Other(rustls::OtherError(Arc::new(Mismatch(detail))));
                Err(rustls::Error::InvalidCertificate(error))
            }
            Some(_) | None => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Mismatch(String);
