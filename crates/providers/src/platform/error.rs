//! What can go wrong at a platform, sorted by what the caller has to do.

use std::fmt;
use std::time::Duration;

use reconcile::{Class, Fault};

use crate::http::TransportError;

/// A limit of requests that is counted by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// Ordinary requests.
    Core,
    /// Registrations of runners.
    Registration,
    /// Too much at once, whatever it was.
    Burst,
    /// The share that a source may use, set by its budget.
    Budget,
}

impl Bucket {
    /// The stable word for metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Registration => "registration",
            Self::Burst => "burst",
            Self::Budget => "budget",
        }
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Core => "requests",
            Self::Registration => "registrations of runners",
            Self::Burst => "requests in a short time",
            Self::Budget => "requests that the source's budget allows",
        })
    }
}

/// A call that did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The platform does not accept the credential.
    #[error("the platform refused the credential: {detail}; renew it in the source's Secret")]
    Auth {
        /// How the platform put it.
        detail: String,
    },
    /// The credential works but may not do this.
    #[error("the credential may not {what}: {detail}")]
    Permission {
        /// What was tried, in words.
        what: &'static str,
        /// What to grant, or how the platform put it.
        detail: String,
    },
    /// It is not there, and that is certain.
    #[error("{object} does not exist at the platform")]
    NotFound {
        /// What is missing.
        object: String,
    },
    /// The name, or the session, is somebody's already.
    #[error("{object} is taken: {detail}")]
    Conflict {
        /// What is taken.
        object: String,
        /// How the platform put it.
        detail: String,
    },
    /// The platform does not take these values, now or later.
    #[error("the platform refused {what}: {detail}")]
    Invalid {
        /// What was sent.
        what: &'static str,
        /// How the platform put it.
        detail: String,
    },
    /// As much was asked of the platform as may be.
    #[error("the limit of {bucket} is used up for {} s", wait.as_secs())]
    RateLimited {
        /// Which limit.
        bucket: Bucket,
        /// How long to ask nothing of its kind.
        wait: Duration,
    },
    /// Whoever answers may be somebody else; nothing was sent.
    #[error(
        "{detail}: put the certificate of the platform's authority into the Secret that spec.tls.caCertificate names, or \
         correct spec.tls.fingerprint"
    )]
    Untrusted {
        /// What did not fit.
        detail: String,
    },
    /// It did not work this time; nothing was changed.
    #[error("the platform did not answer: {detail}")]
    Transient {
        /// What happened.
        detail: String,
    },
    /// No answer came to a change: it may have happened. Look before trying again.
    #[error("no answer to {what}: {detail}; it may have happened")]
    UnknownOutcome {
        /// What was tried.
        what: &'static str,
        /// What happened.
        detail: String,
    },
    /// The answer is none that the platform is documented to give.
    #[error("the platform gave an answer that makes no sense: {detail}; is the URL that of its API?")]
    Protocol {
        /// What does not fit.
        detail: String,
    },
    /// This platform, or this version of it, cannot do that.
    #[error("the platform cannot {what}")]
    Unsupported {
        /// What it cannot do.
        what: &'static str,
    },
}

impl Error {
    /// What a call without an answer means: `change` names what may have happened, if the call was to change anything.
    pub fn unanswered(error: &TransportError, change: Option<&'static str>) -> Self {
        let detail = error.to_string();
        match (change.filter(|_| error.may_have_acted()), error) {
            (Some(what), _) => Self::UnknownOutcome { what, detail },
            (None, TransportError::Redirected { .. } | TransportError::Unsendable) => Self::Protocol { detail },
            (None, TransportError::Certificate { .. }) => Self::Untrusted { detail },
            (
                None,
                TransportError::Refused(_)
                | TransportError::Unreachable { .. }
                | TransportError::TimedOut { .. }
                | TransportError::Interrupted { .. }
                | TransportError::TooLarge { .. },
            ) => Self::Transient { detail },
        }
    }

    /// How to go on.
    pub const fn class(&self) -> Class {
        match self {
            Self::Auth { .. }
            | Self::Permission { .. }
            | Self::NotFound { .. }
            | Self::Invalid { .. }
            | Self::Protocol { .. }
            | Self::Unsupported { .. } => Class::Refused,
            Self::Conflict { .. } => Class::Conflict,
            Self::RateLimited { wait, .. } => Class::Throttled(*wait),
            // Certificates are renewed, at the platform and in Secrets.
            Self::Untrusted { .. } | Self::Transient { .. } | Self::UnknownOutcome { .. } => Class::Unavailable,
        }
    }

    /// How long to ask nothing of its kind, if the platform wants that.
    pub const fn wait(&self) -> Option<Duration> {
        match self.class() {
            Class::Throttled(wait) => Some(wait),
            Class::Conflict | Class::Unavailable | Class::Refused => None,
        }
    }

    /// The same for the driver.
    pub fn fault(self, operation: impl Into<String>) -> Fault {
        Fault::new(self.class(), operation, self.to_string()).caused_by(self)
    }
}
