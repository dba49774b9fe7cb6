//! How a call fails, by what the server does with it.

use super::schema::Errors;

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The code gave up: 500 with this text, which may have several lines.
    Died(String),
    /// Parameters are wrong: 400 with a text for each.
    Params(Errors),
    /// Not permitted: 403, with the path and privilege where they are told.
    Denied(Option<String>),
    /// An answer without a body: the proxy could not reach the node, or lost it.
    Bare(u16, String),
}

/// What a call gives.
pub(crate) type Outcome<T = serde_json::Value> = Result<T, Failure>;

impl Failure {
    /// The code gave up.
    pub(crate) fn died(text: impl Into<String>) -> Self {
        Self::Died(text.into())
    }

    /// One parameter is wrong.
    pub(crate) fn param(name: &str, text: impl Into<String>) -> Self {
        Self::Params(Errors::from([(name.to_owned(), text.into())]))
    }

    /// The text that a task ends with.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Died(text) | Self::Bare(_, text) => text.clone(),
            Self::Params(errors) => {
                let lines: Vec<String> = errors.iter().map(|(name, error)| format!("{name}: {error}")).collect();
                format!("Parameter verification failed. (400) {}", lines.join(" "))
            }
            Self::Denied(Some(what)) => format!("Permission check failed ({what})"),
            Self::Denied(None) => "Permission check failed".to_owned(),
        }
    }

    /// The same with words before it.
    pub(crate) fn after(self, prefix: &str) -> Self {
        Self::Died(format!("{prefix}{}", self.text()))
    }
}
