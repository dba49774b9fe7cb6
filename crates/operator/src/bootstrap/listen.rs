//! The service on the network: TLS 1.3, and callers who prove to hold the key that they show.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Extension;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use chassis::serve::{self, Bind, Caller, Places, ServeError};
use chassis::{Clock, Tasks};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, NoServerSessionStorage, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible, ServerConfig, SignatureScheme, version,
};

use super::authority::Leaf;
use super::{Authority, Bootstrap, Peer, router};

/// A boot storm of a thousand machines fits; handshakes are what costs.
const PLACES: Places = Places { connections: 2_048, handshakes: 256 };

/// Serves until `tasks` stop; the address, unless switched off.
pub async fn serve(
    bind: Bind,
    service: &Bootstrap,
    authority: &Charter,
    clock: Clock,
    tasks: &Tasks,
) -> Result<Option<SocketAddr>, ServeError> {
    let Some(listener) = serve::listen("the bootstrap service", bind).await? else { return Ok(None) };
    let router = router(service).layer(from_fn(introduce));
    let address = listener.address();
    let config = Arc::new(config(authority, clock));
    listener.with_tls_config(config).with_places(PLACES).serve("bootstrap service", router, tasks);
    Ok(Some(address))
}

/// Tells the router who calls.
async fn introduce(Extension(caller): Extension<Caller>, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(Peer::of(&caller));
    next.run(request).await
}

fn config(authority: &Charter, clock: Clock) -> ServerConfig {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = Arc::new(AnyKey(provider.signature_verification_algorithms));
    let leaves = Arc::new(Leaves { authority: authority.clone(), clock, provider: Arc::clone(&provider) });
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .expect("the provider has TLS 1.3; a test connects with it")
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(leaves);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Every connection proves its key anew.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config
}

/// The authority that the service stands for, until another one is brought; clones are the same.
#[derive(Clone)]
pub struct Charter(Arc<Mutex<(Authority, Option<Leaf>)>>);

impl Charter {
    /// Stands for this authority.
    pub fn new(authority: Authority) -> Self {
        Self(Arc::new(Mutex::new((authority, None))))
    }

    /// Stands for this one from now on.
    pub(super) fn renew(&self, authority: Authority) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (authority, None);
    }
}

/// The certificate that the service shows, renewed in time.
struct Leaves {
    authority: Charter,
    clock: Clock,
    provider: Arc<CryptoProvider>,
}

impl std::fmt::Debug for Leaves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Leaves")
    }
}

impl ResolvesServerCert for Leaves {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let now = self.clock.now();
        let mut charter = self.authority.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (authority, current) = &mut *charter;
        if current.as_ref().is_none_or(|leaf| leaf.is_due(now)) {
            match authority.leaf_with(&self.provider, now) {
                Ok(leaf) => *current = Some(leaf),
                Err(error) => {
                    tracing::error!(error = &error as &dyn std::error::Error, "no new certificate can be made");
                }
            }
        }
        current.as_ref().map(|leaf| Arc::clone(&leaf.certified))
    }
}

/// Takes any certificate, from whoever holds its key: who that is, only our records can say.
#[derive(Debug)]
struct AnyKey(WebPkiSupportedAlgorithms);

impl ClientCertVerifier for AnyKey {
    fn client_auth_mandatory(&self) -> bool {
        // A machine that has not got as far as a key may say so; everything else is refused without one.
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        ParsedCertificate::try_from(certificate).map(|_| ClientCertVerified::assertion())
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
        verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
