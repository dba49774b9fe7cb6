//! The certificates of a cluster of one: an authority for ten years, and what the server shows, made anew by each process
//! and again before it ends. Its key never leaves memory.

mod der;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chassis::Clock;
use jiff::{SignedDuration, Timestamp};
use rcgen::{Issuer, KeyPair};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig};

use crate::signing::{self, since_epoch, valid};

/// All of ours have the same name, so that the key is all there is to know.
const NAME: &str = "HyperFleet API authority";
/// Ten years: copies of the kubeconfig carry it.
const AUTHORITY_LIFE: Duration = Duration::from_hours(24 * 3_652);
/// Made anew at a start when less than this is left.
const AUTHORITY_REST: SignedDuration = SignedDuration::from_hours(24 * 365);
const LEAF_LIFE: Duration = Duration::from_hours(24 * 90);
/// Renewed when a third is left.
const LEAF_AGE: SignedDuration = SignedDuration::from_hours(24 * 60);

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// It cannot be signed.
    #[error("it cannot be signed")]
    Sign(#[from] rcgen::Error),
    /// It cannot be served.
    #[error("it cannot be served")]
    Serve(#[from] rustls::Error),
}

/// A new authority: its certificate in PEM, and its key.
pub(super) fn authority(now: Timestamp) -> Result<(String, KeyPair), CertificateError> {
    let key = KeyPair::generate()?;
    let mut params = signing::authority(NAME);
    valid(&mut params, now, AUTHORITY_LIFE);
    Ok((params.self_signed(&key)?.pem(), key))
}

/// Signs as an authority with this key.
pub(super) fn issuer(key: KeyPair) -> Issuer<'static, KeyPair> {
    Issuer::new(signing::authority(NAME), key)
}

/// Whether the certificate, in PEM, is that of this key: clients who trust it take what the key signs.
pub(super) fn belong(certificate: &str, key: &KeyPair, now: Timestamp) -> bool {
    let belong = || -> Option<bool> {
        let issuer = issuer(KeyPair::from_pem(&key.serialize_pem()).ok()?);
        let shown = leaf(&issuer, &["localhost".to_owned()], &aws_lc_rs::default_provider(), now).ok()?;
        Some(trusts(certificate, &shown.certified, now))
    };
    belong().unwrap_or(false)
}

/// Whether who trusts the authority, in PEM, takes what is shown for `localhost`.
fn trusts(authority: &str, shown: &CertifiedKey, now: Timestamp) -> bool {
    let trusts = || -> Option<()> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).ok()?).ok()?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().ok()?;
        let name = ServerName::try_from("localhost").ok()?;
        let at = UnixTime::since_unix_epoch(since_epoch(now));
        verifier.verify_server_cert(shown.cert.first()?, &[], &name, &[], at).ok().map(|_| ())
    };
    trusts().is_some()
}

/// Whether an authority that ends then should be made anew.
pub(super) fn ends_soon(ends: Timestamp, now: Timestamp) -> bool {
    ends.duration_since(now) < AUTHORITY_REST
}

/// When the certificate, in PEM, ends.
pub(super) fn end_of(certificate: &str) -> Option<Timestamp> {
    der::not_after(&CertificateDer::from_pem_slice(certificate.as_bytes()).ok()?)
}

/// How the server answers a handshake: by these names, for those who trust the issuer.
pub(super) fn tls(
    issuer: Issuer<'static, KeyPair>,
    names: Vec<String>,
    clock: Clock,
) -> Result<Arc<ServerConfig>, CertificateError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let leaves = Leaves::new(issuer, names, clock, Arc::clone(&provider))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(leaves));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

struct Leaf {
    certified: Arc<CertifiedKey>,
    made: Timestamp,
}

/// The certificate that the server shows, renewed in time.
struct Leaves {
    issuer: Issuer<'static, KeyPair>,
    names: Vec<String>,
    clock: Clock,
    provider: Arc<CryptoProvider>,
    current: Mutex<Leaf>,
}

impl std::fmt::Debug for Leaves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Leaves")
    }
}

impl ResolvesServerCert for Leaves {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.shown())
    }
}

impl Leaves {
    fn new(
        issuer: Issuer<'static, KeyPair>,
        names: Vec<String>,
        clock: Clock,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, CertificateError> {
        let current = Mutex::new(leaf(&issuer, &names, &provider, clock.now())?);
        Ok(Self { issuer, names, clock, provider, current })
    }

    /// The certificate for whoever comes now. One from the future of a clock that was put right may not be valid yet.
    fn shown(&self) -> Arc<CertifiedKey> {
        let now = self.clock.now();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if now < current.made || now.duration_since(current.made) >= LEAF_AGE {
            match leaf(&self.issuer, &self.names, &self.provider, now) {
                Ok(leaf) => *current = leaf,
                Err(error) => {
                    tracing::error!(error = &error as &dyn std::error::Error, "no new certificate can be made");
                }
            }
        }
        Arc::clone(&current.certified)
    }
}

fn leaf(
    issuer: &Issuer<'_, KeyPair>,
    names: &[String],
    provider: &CryptoProvider,
    now: Timestamp,
) -> Result<Leaf, CertificateError> {
    let mut params = signing::server("HyperFleet API", names)?;
    valid(&mut params, now, LEAF_LIFE);
    let (certificate, key) = signing::signed::<CertificateError>(&params, issuer, provider)?;
    Ok(Leaf { certified: signing::shown(vec![certificate], key), made: now })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_is_made_anew_in_time_and_when_the_clock_goes_back() {
        let (clock, hands) = Clock::with_hands(start());
        let (authority, key) = authority(clock.now()).unwrap();
        let names = vec!["localhost".to_owned()];
        let leaves = Leaves::new(issuer(key), names, clock, Arc::new(aws_lc_rs::default_provider())).unwrap();
        let mut shown = leaves.shown();
        for (days, anew) in [(1, false), (59, false), (61, true), (300, true), (299, true), (0, true), (30, false)] {
            hands.turn(SignedDuration::from_hours(24 * days) - (clock.now().duration_since(start())));
            let now = leaves.shown();
            assert_eq!(now.cert != shown.cert, anew, "on day {days}");
            assert!(trusts(&authority, &now, clock.now()), "nobody believes it on day {days}");
            shown = now;
        }
    }

    fn start() -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap()
    }
}
