//! A fleet moves from one API server to another while its machines run.
//!
//! ```text
//!   export:  hold the fleet ─▶ everybody has noticed ─▶ read everything ─▶ one file, on hold
//!   import:  the key, on hold ─▶ Secrets ─▶ objects, on hold, each with its status ─▶ release the objects ─▶ release the key
//! ```
//!
//! Machines are bound to the ownership key, the name of their cluster and their allocation, and agents to the authority of the
//! bootstrap service; all of that is carried, so that no record has to be signed anew. What must never be is two operators
//! that act for one fleet, or one that acts on half of it. Both are kept by one mark ([`Hold`]), which is on the key itself
//! from the first write of an import to its last, and on everything that an export contains: what a person applies by hand
//! does nothing either.
//!
//! An import that ends early is repeated, and goes on where it was: every write is made only if it is still missing.

mod border;
mod export;
mod file;
mod hold;
mod import;
mod object;
mod server;
mod tally;
mod thaw;

pub use border::alone;
pub use export::{freeze, gather, home, inhabited, is_held};
pub use file::{Draft, Export, FileError, Header};
pub use hold::{Hold, NOTICED};
pub use import::{Import, Verdict};
pub use tally::Tally;
pub use thaw::{Thawed, thaw};

/// Why a fleet was not moved.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The API server did not do what it was asked to.
    #[error("{what}")]
    Server {
        /// What it was asked to do.
        what: String,
        /// What it said.
        source: Box<kube::Error>,
    },
    /// Something stands in the way: a sentence each, with the remedy.
    #[error("{}", .0.join("\n  "))]
    Refused(Vec<String>),
}

impl TransferError {
    fn refused(why: impl Into<String>) -> Self {
        Self::Refused(vec![why.into()])
    }

    /// Whether the API server does not let the caller do this.
    fn is_forbidden(&self) -> bool {
        self.status().is_some_and(kube::core::Status::is_forbidden)
    }

    /// Whether somebody else was quicker.
    fn is_conflict(&self) -> bool {
        self.status().is_some_and(kube::core::Status::is_conflict)
    }

    fn status(&self) -> Option<&kube::core::Status> {
        let Self::Server { source, .. } = self else { return None };
        if let kube::Error::Api(status) = &**source { Some(status) } else { None }
    }
}
