//! The certificates themselves.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use protocol::SERVER_NAME;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;

const DAY: Duration = Duration::from_hours(24);
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
    let mut params = authority_params();
    valid(&mut params, now, AUTHORITY_LIFE);
    Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
}

/// Signs as an authority with this key. All of ours have the same name, so that the key is all there is to know.
pub(super) fn issuer(key: KeyPair) -> Issuer<'static, KeyPair> {
    Issuer::new(authority_params(), key)
}

/// A certificate for the service, with a new key. The one that signs it is shown beside it, to those who know its hash.
pub(super) fn leaf(
    issuer: &Issuer<'_, KeyPair>,
    signer: &CertificateDer<'static>,
    names: &[String],
    provider: &CryptoProvider,
    now: Timestamp,
) -> Result<Leaf, LeafError> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new([&[SERVER_NAME.to_owned()], names].concat())?;
    params.distinguished_name = named("HyperFleet bootstrap service");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    valid(&mut params, now, LEAF_LIFE);
    let certificate = params.signed_by(&key, issuer)?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key that rcgen made is readable");
    let key = provider.key_provider.load_private_key(key)?;
    Ok(Leaf { certified: Arc::new(CertifiedKey::new(vec![certificate.der().clone(), signer.clone()], key)), made: now })
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

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named("HyperFleet bootstrap authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn named(name: &str) -> DistinguishedName {
    let mut named = DistinguishedName::new();
    named.push(DnType::CommonName, name);
    named
}

/// From a day ago, because guests' clocks are often behind, for so long.
fn valid(params: &mut CertificateParams, now: Timestamp, life: Duration) {
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + since_epoch(now).saturating_sub(DAY);
    params.not_after = epoch + since_epoch(now) + life;
}

fn since_epoch(now: Timestamp) -> Duration {
    Duration::from_secs(u64::try_from(now.as_second()).unwrap_or(0))
}
