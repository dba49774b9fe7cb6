//! Certificates, good and bad.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, date_time_ymd,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use sha2::{Digest as _, Sha256};

/// Signs certificates.
pub(crate) struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// What a server shows and proves.
pub(crate) type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl Authority {
    pub(crate) fn new() -> Self {
        Self::named("an authority")
    }

    pub(crate) fn named(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// Its certificate.
    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.pem.as_bytes()).unwrap()
    }

    /// How a seed in the firmware names it.
    pub(crate) fn pin(&self) -> String {
        protocol::pin(&Sha256::digest(self.certificate()))
    }

    /// A certificate for this name.
    pub(crate) fn issue(&self, name: &str) -> Identity {
        self.sign(CertificateParams::new([name.to_owned()]).unwrap())
    }

    /// A certificate for this name, with its authority's beside it, as the service shows them.
    pub(crate) fn issue_whole(&self, name: &str) -> Identity {
        let (mut shown, key) = self.issue(name);
        shown.push(self.certificate());
        (shown, key)
    }

    /// One whose time is over.
    pub(crate) fn issue_expired(&self, name: &str) -> Identity {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
        self.sign(params)
    }

    fn sign(&self, mut params: CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (vec![certificate.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
    }
}
