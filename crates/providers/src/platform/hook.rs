//! What a platform sends us, from bytes to something that may be believed.

use ::http::HeaderMap;
use bytes::Bytes;
use secrecy::SecretString;

use super::job::Job;

/// A delivery that proved to come from the platform. Only [`Verified::new`] in a platform's module makes one, after it has
/// compared the signature of the raw bytes.
#[derive(Clone, Debug)]
pub struct Verified {
    event: String,
    body: Bytes,
}

impl Verified {
    /// A delivery of `event` whose signature was right.
    pub(super) fn new(event: String, body: Bytes) -> Self {
        Self { event, body }
    }

    /// The name of the event.
    pub fn event(&self) -> &str {
        &self.event
    }

    /// The bytes that were signed.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

/// A delivery that is not believed. Why is for metrics, never for the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// There is no secret to compare with.
    NoSecret,
    /// It is not signed, or not in a way that we take.
    Unsigned,
    /// The signature is that of other bytes or of another secret.
    Forged,
    /// The body is not JSON, by its content type.
    WrongType,
}

impl Rejected {
    /// The stable word for metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoSecret => "no-secret",
            Self::Unsigned => "unsigned",
            Self::Forged => "forged",
            Self::WrongType => "wrong-type",
        }
    }
}

/// Something learnt, however it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// A job is as it says.
    Job(Box<Job>),
    /// Something changed that the delivery does not tell: look.
    Look,
    /// It is about nothing that we care about, in a word for metrics.
    Ignored(&'static str),
    /// It cannot be read, although it is signed.
    Unreadable,
}

/// Receives what a platform sends. Pure: no call is made, and only as much memory is used as the body has.
pub trait Hook {
    /// Believes a delivery, or not. Any of `secrets` may have signed it, so that a secret can be renewed.
    fn verify(&self, headers: &HeaderMap, body: &Bytes, secrets: &[SecretString]) -> Result<Verified, Rejected>;

    /// What a delivery says. What is about another scope, or another installation, is ignored.
    fn parse(&self, delivery: &Verified) -> Vec<Hint>;
}
