//! Why a call got no answer, and whether the server may have acted on it all the same.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::StatusCode;
use tower::BoxError;

use super::address::AddressRefused;

/// A call without a usable answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The address is one we do not talk to.
    #[error(transparent)]
    Refused(#[from] AddressRefused),
    /// No connection came about; nothing was sent.
    #[error("no connection: {detail}")]
    Unreachable {
        /// What the system said.
        detail: String,
    },
    /// The server's certificate is not the one we trust; nothing was sent.
    #[error(
        "the server's certificate is not trusted: {detail}; expected one that the configured CA bundle, fingerprint or system roots vouch for"
    )]
    Certificate {
        /// What did not fit.
        detail: String,
    },
    /// No complete answer came in time; the server may have acted.
    #[error("no complete answer within {after:?}")]
    TimedOut {
        /// The deadline of the call.
        after: Duration,
    },
    /// The connection broke before the answer was complete; the server may have acted.
    #[error("the connection broke: {detail}")]
    Interrupted {
        /// What the system said.
        detail: String,
    },
    /// The answer is larger than we are willing to hold; the server has acted.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The most we take.
        limit: usize,
    },
    /// The server wants us to go elsewhere, which we never do.
    #[error("the server answered {status} and points to {location}; name that address as the endpoint if it is right")]
    Redirected {
        /// The status.
        status: StatusCode,
        /// Where it points, without the query.
        location: String,
    },
    /// The call cannot be written as an HTTP request; nothing was sent.
    #[error("the call is no valid HTTP request")]
    Unsendable,
}

impl TransportError {
    /// Whether the server may have received the request, so that its effect is unknown.
    pub const fn may_have_acted(&self) -> bool {
        match self {
            Self::TimedOut { .. } | Self::Interrupted { .. } | Self::TooLarge { .. } => true,
            Self::Refused(_)
            | Self::Unreachable { .. }
            | Self::Certificate { .. }
            | Self::Redirected { .. }
            | Self::Unsendable => false,
        }
    }

    /// The stable word for metrics and spans.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Refused(_) => "address-refused",
            Self::Unreachable { .. } => "unreachable",
            Self::Certificate { .. } => "certificate",
            Self::TimedOut { .. } => "timeout",
            Self::Interrupted { .. } => "interrupted",
            Self::TooLarge { .. } => "too-large",
            Self::Redirected { .. } => "redirected",
            Self::Unsendable => "unsendable",
        }
    }

    /// What an in-process service's error stands for.
    pub(super) fn from_service(error: impl Into<BoxError>) -> Self {
        match error.into().downcast::<Self>() {
            Ok(ours) => *ours,
            Err(other) => Self::Interrupted { detail: chain(&*other) },
        }
    }

    /// What a failure of the hyper client stands for.
    pub(super) fn from_hyper(error: &hyper_util::client::legacy::Error) -> Self {
        if !error.is_connect() {
            return Self::Interrupted { detail: chain(error) };
        }
        Self::from_connect(error)
    }

    /// What a connection that did not come about stands for.
    pub(super) fn from_io(error: &io::Error) -> Self {
        Self::from_connect(error)
    }

    fn from_connect(error: &(dyn Error + 'static)) -> Self {
        for cause in causes(error) {
            if let Some(refused) = cause.downcast_ref::<AddressRefused>() {
                return Self::Refused(refused.clone());
            }
            if let Some(rustls::Error::InvalidCertificate(error)) = cause.downcast_ref::<rustls::Error>() {
                // What our own verifier says, it says in words.
                let ours =
                    if let rustls::CertificateError::Other(ours) = error { Some(ours.0.to_string()) } else { None };
                let detail = ours.unwrap_or_else(|| cause.to_string());
                return Self::Certificate { detail };
            }
        }
        Self::Unreachable { detail: chain(error) }
    }
}

/// Every error of a chain, those that `io::Error` hides included.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let below = |error: &&'a (dyn Error + 'static)| {
        let error: &'a (dyn Error + 'static) = *error;
        let wrapped = error.downcast_ref::<io::Error>().and_then(|io| io.get_ref());
        wrapped.map(|inner| inner as &(dyn Error + 'static)).or_else(|| error.source())
    };
    std::iter::successors(Some(error), below)
}

/// The chain in one line, each new message once.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut line = String::new();
    for cause in causes(error) {
        let message = cause.to_string();
        if !line.contains(&message) {
            line.push_str(if line.is_empty() { "" } else { ": " });
            line.push_str(&message);
        }
    }
    line
}
