//! Who calls.

use std::net::IpAddr;

use api::Digest;
use chassis::serve::Caller;
use rustls::server::ParsedCertificate;

use super::digest;

/// Who calls, as far as the connection proves it; an extension of every request.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Where he calls from.
    pub address: IpAddr,
    /// SHA-256 of the public key that he proved to hold in the handshake.
    pub key: Option<Digest>,
}

impl Peer {
    /// What a connection says of its other end.
    pub fn of(caller: &Caller) -> Self {
        let parsed = caller.certificate.as_ref().and_then(|shown| ParsedCertificate::try_from(shown).ok());
        let key = parsed.map(|parsed| digest(parsed.subject_public_key_info().as_ref()));
        Self { address: caller.address.ip().to_canonical(), key }
    }
}
