//! The certificates and keys of servers, made for each of them and forgotten with it.

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

/// Every secret of a control plane, as PEM.
pub(crate) struct Pki {
    /// The authority that clients trust.
    pub(crate) ca: String,
    /// The API server's certificate for loopback.
    pub(crate) server: String,
    /// Its key.
    pub(crate) server_key: String,
    /// The key that signs service account tokens.
    pub(crate) account_key: String,
    /// The key that verifies them.
    pub(crate) account_public_key: String,
}

impl Pki {
    /// Makes a new set.
    pub(crate) fn generate() -> Result<Self> {
        let Identity { ca, certificate, key } = Identity::generate("kube-apiserver")?;
        let account_key = KeyPair::generate()?;
        Ok(Self {
            ca,
            server: certificate,
            server_key: key,
            account_key: account_key.serialize_pem(),
            account_public_key: account_key.public_key_pem(),
        })
    }
}

/// A server on loopback and the authority that vouches for it, as PEM.
pub(crate) struct Identity {
    /// The authority that clients trust.
    pub(crate) ca: String,
    /// The server's certificate.
    pub(crate) certificate: String,
    /// Its key.
    pub(crate) key: String,
}

impl Identity {
    /// Makes one with an authority of its own.
    pub(crate) fn generate(server: &str) -> Result<Self> {
        let ca = authority()?;
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, server);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &ca)?;
        Ok(Self { ca: ca.pem(), certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

fn authority() -> Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "hyperfleet test authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}
