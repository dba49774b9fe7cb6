//! Whom we believe to be the service, and what we show it.

use std::io;
use std::sync::Arc;

use protocol::{PIN, SERVER_NAME};
use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ECDSA_P256_SHA256};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{AlertDescription, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::WireError;
use super::pinned::Pinned;
use crate::LineError;

/// Believes the seed's authorities and nobody else, and shows a key that was never anywhere but here.
pub(super) fn proven(authority: &str) -> Result<ClientConfig, WireError> {
    let builder = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13])?;
    let (certificate, key) = identity().map_err(|error| WireError::Key(error.to_string()))?;
    let builder = match authority.strip_prefix(PIN) {
        Some(pin) => builder.dangerous().with_custom_certificate_verifier(Arc::new(Pinned::new(pin, provider())?)),
        None => builder.with_root_certificates(roots(authority)?),
    };
    let mut config = builder.with_client_auth_cert(vec![certificate], key.into())?;
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// Believes anybody and shows nothing, in any version of TLS: whoever is there may hear why we do not believe them.
pub(super) fn open() -> Result<ClientConfig, WireError> {
    let builder = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13, &TLS12])?;
    let anybody = Arc::new(Anybody(provider()));
    let mut config = builder.dangerous().with_custom_certificate_verifier(anybody).with_no_client_auth();
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// The name in the service's certificate, whatever address it is reached at.
pub(super) fn name() -> ServerName<'static> {
    ServerName::try_from(SERVER_NAME).expect("the protocol's server name is one")
}

fn identity() -> Result<(CertificateDer<'static>, PrivatePkcs8KeyDer<'static>), rcgen::Error> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, "hyperfleet-agent");
    let certificate = parameters.self_signed(&key)?;
    Ok((certificate.der().clone(), PrivatePkcs8KeyDer::from(key.serialize_der())))
}

fn roots(pem: &str) -> Result<RootCertStore, WireError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|error| WireError::Authority(error.to_string()))?;
        roots.add(certificate).map_err(|error| WireError::Authority(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(WireError::Authority("there is none".to_owned()));
    }
    Ok(roots)
}

/// Why a handshake that was not finished means that this is not the service, if it does.
pub(super) fn doubt(error: &io::Error) -> Option<LineError> {
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    // The other side may give up because of what we ask of it, or because it is in trouble itself.
    if let rustls::Error::AlertReceived(alert) = error
        && !matches!(
            alert,
            AlertDescription::ProtocolVersion
                | AlertDescription::HandshakeFailure
                | AlertDescription::InsufficientSecurity
                | AlertDescription::UnrecognisedName
        )
    {
        return None;
    }
    let expected = "expected TLS 1.3 and a certificate by the seed's authority for";
    Some(LineError::Untrusted(format!("{error}; {expected} {SERVER_NAME}")))
}

/// Believes anybody. Only what anybody may hear is said on such a connection.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
