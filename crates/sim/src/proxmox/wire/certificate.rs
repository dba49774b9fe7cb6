//! The cluster's own certificate authority and the certificates it gives its nodes.

use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};

/// An authority like the one every cluster makes for itself.
pub struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
    current: Arc<Current>,
    names: Vec<String>,
}

#[derive(Debug)]
struct Current(Mutex<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Authority {
    /// A new authority and a certificate for these names.
    pub fn new(names: &[&str]) -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        // Clients that check strictly want an authority to say that it may sign.
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name = named("Proxmox Virtual Environment");
        let pem = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let leaf = leaf(&issuer, &names, None)?;
        Ok(Self { pem, issuer, current: Arc::new(Current(Mutex::new(leaf))), names })
    }

    /// What a client must trust.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The SHA-256 fingerprint of the certificate that is served now.
    pub fn fingerprint(&self) -> String {
        let current = self.current.0.lock().unwrap_or_else(PoisonError::into_inner);
        let digest = Sha256::digest(&current.cert[0]);
        digest.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
    }

    /// Serves another certificate from now on.
    pub fn rotate(&self) -> Result<(), rcgen::Error> {
        self.serve(leaf(&self.issuer, &self.names, None)?);
        Ok(())
    }

    /// Serves a certificate that ends on this day.
    pub fn rotate_until(&self, year: i32, month: u8, day: u8) -> Result<(), rcgen::Error> {
        self.serve(leaf(&self.issuer, &self.names, Some((year, month, day)))?);
        Ok(())
    }

    fn serve(&self, fresh: Arc<CertifiedKey>) {
        *self.current.0.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
    }

    /// How connections are accepted.
    pub(crate) fn acceptor(&self) -> tokio_rustls::TlsAcceptor {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has ciphers for the default protocol versions")
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&self.current) as Arc<dyn ResolvesServerCert>);
        tokio_rustls::TlsAcceptor::from(Arc::new(config))
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

fn leaf(
    issuer: &Issuer<'static, KeyPair>,
    names: &[String],
    until: Option<(i32, u8, u8)>,
) -> Result<Arc<CertifiedKey>, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names.to_vec())?;
    params.distinguished_name = named(names.first().map_or("node", String::as_str));
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    if let Some((year, month, day)) = until {
        params.not_after = rcgen::date_time_ymd(year, month, day);
    }
    let certificate = params.signed_by(&key, issuer)?;
    let chain = vec![CertificateDer::from(certificate.der().to_vec())];
    let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let signer = provider.key_provider.load_private_key(secret).expect("a key that was just made can be loaded");
    Ok(Arc::new(CertifiedKey::new(chain, signer)))
}
