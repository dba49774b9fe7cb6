//! The certificates and keys of one control plane, made for it and forgotten with it.

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
        let ca = authority()?;
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let server_key = KeyPair::generate()?;
        let server = params.signed_by(&server_key, &ca)?;
        let account_key = KeyPair::generate()?;
        Ok(Self {
            ca: ca.pem(),
            server: server.pem(),
            server_key: server_key.serialize_pem(),
            account_key: account_key.serialize_pem(),
            account_public_key: account_key.public_key_pem(),
        })
    }
}

fn authority() -> Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "hyperfleet test authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}
