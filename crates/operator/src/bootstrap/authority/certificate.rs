//! The certificates themselves.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use protocol::SERVER_NAME;
use rcgen::{Issuer, KeyPair};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;

use crate::signing::{self, since_epoch, valid};

/// All of ours have the same name, so that the key is all there is to know.
const NAME: &str = "HyperFleet bootstrap authority";
/// Ten years: seeds carry it, and no machine lives longer.
const AUTHORITY_LIFE: Duration = Duration::from_hours(24 * 3_652);
const LEAF_LIFE: Duration = Duration::from_hours(24 * 30);
/// Renewed when a third is left.
const LEAF_AGE: SignedDuration = SignedDuration::from_hours(24 * 20);

/// What the service shows its callers.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The certificate and its key.
    pub certified: Arc<CertifiedKey>,
    made: Timestamp,
}

impl Leaf {
    /// Whether another should take its place.
    pub fn is_due(&self, now: Timestamp) -> bool {
        now.duration_since(self.made) >= LEAF_AGE
    }
}

/// Why there is no certificate for the service.
#[derive(Debug, thiserror::Error)]
pub enum LeafError {
    /// It cannot be signed.
    #[error("the bootstrap service's certificate cannot be signed")]
    Sign(#[from] rcgen::Error),
    /// It cannot be served.
    #[error("the bootstrap service's certificate cannot be served")]
    Serve(#[from] rustls::Error),
}

/// A new authority: its certificate and its key, in PEM.
pub(super) fn authority(now: Timestamp) -> Result<(String, String), rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = signing::authority(NAME);
    valid(&mut params, now, AUTHORITY_LIFE);
    Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
}

/// Signs as an authority with this key.
pub(super) fn issuer(key: KeyPair) -> Issuer<'static, KeyPair> {
    Issuer::new(signing::authority(NAME), key)
}

/// A certificate for the service, with a new key. The one that signs it is shown beside it, to those who know its hash.
pub(super) fn leaf(
    issuer: &Issuer<'_, KeyPair>,
    signer: &CertificateDer<'static>,
    names: &[String],
    provider: &CryptoProvider,
    now: Timestamp,
) -> Result<Leaf, LeafError> {
    let names = [&[SERVER_NAME.to_owned()], names].concat();
    let mut params = signing::server("HyperFleet bootstrap service", names)?;
    valid(&mut params, now, LEAF_LIFE);
    let (certificate, key) = signing::signed::<LeafError>(&params, issuer, provider)?;
    Ok(Leaf { certified: signing::shown(vec![certificate, signer.clone()], key), made: now })
}

/// The one of these certificates, in PEM, by which machines take what the issuer signs; nothing if one cannot be read.
pub(super) fn signer(issuer: &Issuer<'_, KeyPair>, pem: &str, now: Timestamp) -> Option<CertificateDer<'static>> {
    let first = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    trusted_by(&leaf(issuer, &first, &[], &aws_lc_rs::default_provider(), now).ok()?, pem, now)
}

/// The one of these certificates, in PEM, by which a machine takes this leaf.
pub(super) fn trusted_by(leaf: &Leaf, pem: &str, now: Timestamp) -> Option<CertificateDer<'static>> {
    let all: Vec<_> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>().ok()?;
    let (shown, name) = (leaf.certified.cert.first()?, ServerName::try_from(SERVER_NAME).ok()?);
    let now = UnixTime::since_unix_epoch(since_epoch(now));
    let takes = |certificate: &CertificateDer<'static>| {
        let mut roots = RootCertStore::empty();
        let provider = Arc::new(aws_lc_rs::default_provider());
        roots.add(certificate.clone()).is_ok()
            && WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .is_ok_and(|verifier| verifier.verify_server_cert(shown, &[], &name, &[], now).is_ok())
    };
    all.into_iter().find(takes)
}
