//! Believes an authority by its certificate's hash: the firmware has no room for the certificate, so the service shows it.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, PeerIncompatible, RootCertStore, SignatureScheme};
use sha2::{Digest as _, Sha256};

use super::WireError;

/// Takes a certificate that is signed by the one with this hash, and otherwise checks what is always checked.
#[derive(Debug)]
pub(super) struct Pinned {
    pin: Vec<u8>,
    provider: Arc<CryptoProvider>,
}

impl Pinned {
    /// Reads the hash, in base64url.
    pub(super) fn new(pin: &str, provider: Arc<CryptoProvider>) -> Result<Self, WireError> {
        let wrong = || WireError::Authority("its hash is none".to_owned());
        let pin = BASE64.decode(pin).ok().filter(|pin| pin.len() == 32).ok_or_else(wrong)?;
        Ok(Self { pin, provider })
    }

    /// Verifies as if the pinned certificate were the only one in the world.
    fn verifier(&self, shown: &[CertificateDer<'_>]) -> Result<Arc<WebPkiServerVerifier>, Error> {
        let is_pinned = |certificate: &&CertificateDer<'_>| Sha256::digest(certificate.as_ref())[..] == self.pin[..];
        let unknown = || Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let authority = shown.iter().find(is_pinned).ok_or_else(unknown)?;
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone().into_owned())?;
        let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&self.provider));
        builder.build().map_err(|_| unknown())
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verifier(intermediates)?.verify_server_cert(end_entity, &[], server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOfferedOrEnabled.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
