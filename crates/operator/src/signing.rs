//! What certificates of ours have in common, whoever signs them: an authority that signs servers and no other authority, and
//! servers that it signs.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SigningKey};

const DAY: Duration = Duration::from_hours(24);

/// An authority of this name. All with one name are the same to those who check, so that the key is all there is to know.
pub(crate) fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// A server of this name, which is called by these names.
pub(crate) fn server(name: &str, names: impl Into<Vec<String>>) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = named(name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// The certificate that `issuer` gives such a server, and its new key.
pub(crate) fn signed<E: From<rcgen::Error> + From<rustls::Error>>(
    params: &CertificateParams,
    issuer: &Issuer<'_, KeyPair>,
    provider: &CryptoProvider,
) -> Result<(CertificateDer<'static>, Arc<dyn SigningKey>), E> {
    let key = KeyPair::generate()?;
    let certificate = params.clone().signed_by(&key, issuer)?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key that rcgen made is readable");
    Ok((certificate.der().clone(), provider.key_provider.load_private_key(key)?))
}

/// What a server shows: these certificates, and that it has the key of the first.
pub(crate) fn shown(chain: Vec<CertificateDer<'static>>, key: Arc<dyn SigningKey>) -> Arc<CertifiedKey> {
    Arc::new(CertifiedKey::new(chain, key))
}

/// From a day ago, because clocks differ and guests' are often behind, for so long.
pub(crate) fn valid(params: &mut CertificateParams, now: Timestamp, life: Duration) {
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + since_epoch(now).saturating_sub(DAY);
    params.not_after = epoch + since_epoch(now) + life;
}

/// The time as those who check certificates count it.
pub(crate) fn since_epoch(now: Timestamp) -> Duration {
    Duration::from_secs(u64::try_from(now.as_second()).unwrap_or(0))
}

fn named(name: &str) -> DistinguishedName {
    let mut named = DistinguishedName::new();
    named.push(DnType::CommonName, name);
    named
}
